"""From a base model `x → y` to a widened network `(x, prior) → y`."""

from typing import Any, NamedTuple

import keras

from keras_zigzag.call_arguments import first_features
from keras_zigzag.copying import copy_layer, copy_state
from keras_zigzag.graphs import (
    check_known_shape,
    free_name,
    functional_view,
    input_like,
    is_float,
    is_graph_model,
    keras_tensors,
    sublayers,
    warn_of_own_training,
    warn_of_tied_layers,
)
from keras_zigzag.inner_models import in_their_places
from keras_zigzag.prior_layers import AddPrior, ConcatenatePrior
from keras_zigzag.priors.prior import Prior
from keras_zigzag.priors.resolve import resolve
from keras_zigzag.reached_outputs import check_reached
from keras_zigzag.rewriting import call_again
from keras_zigzag.wide_layer import (
    WideCall,
    WideLayer,
    called_on_no_features,
    is_keras,
    make_wide,
)


def widen_model(
    base: keras.Model, prior: Prior | str, layer: str | None = None
) -> keras.Model:
    """Gives a model a second input, the prior.

    Every layer that mixes features and is reached from the input without
    passing another such layer is replaced by one of the same class and
    config on a wider input: the prior is appended to its features. Trained
    weights are kept and the new rows of the kernels are zero, so the widened
    network answers as the base model does, whatever the prior, until it is
    trained. Layers that are frozen, or that keep features apart (rescaling,
    normalisation, augmentation, padding, depthwise convolutions, …) are
    passed over. Where the output of a layer has to keep the shape of its
    input, as in attention, a projection of the prior that starts at zero is
    added to the input instead.

    A layer of the user's own, registered and with a `get_config`, is treated
    alike. It has its features on the last axis, in the first tensor of floats
    that it is called on, as in `layer([features, edges])`; one whose weights
    have a single axis, as a normalisation has, is passed over. A prior of one
    vector per sample is spread over the nodes, one per node goes in as it is.
    Where it cannot be told which rows of a kernel read the prior, the prior
    is added to the input as above.

    Reference: [Durasov et al., 2024](https://openreview.net/forum?id=QSvb6jBXML),
    section 3.

    Args:
        base: Sequential or Functional model, built. It is not changed.
        prior: A `keras_zigzag.priors.Prior` or its name. Says how many
            channels there are and whether they form a map.
        layer: String. Name of the layer at which the prior enters, also in a
            nested model. What comes before it does not depend on the prior.
            Defaults to `None`: the first layers that mix features.

    Returns:
        A Functional model that takes `[inputs, prior]`.

    Raises:
        ValueError: If the model is subclassed, not built or already widened,
            if it has no layer to widen, or none of the given name, or if an
            output would not depend on the prior.

    Example:

    >>> base = keras.Sequential(
    ...     [keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(3)]
    ... )
    >>> prior = keras_zigzag.priors.OneHotPrior(num_classes=3)
    >>> widened = keras_zigzag.widen_model(base, prior)
    >>> [tensor.shape for tensor in widened.inputs]
    [(None, 8), (None, 4)]
    """
    check_base(base)
    prior = resolve(functional_view(base), prior=prior)
    if layer is not None:
        check_layer(base, layer)
    shape = (*prior.spatial_shape, prior.num_channels)
    named = frozenset() if layer is None else frozenset([layer])
    return Widening(shape, Places(layer is None, named)).widen(base)


class Places(NamedTuple):
    """Where the prior enters.

    Attributes:
        first: Boolean. Whether at the layers that mix features first.
        named: Names of layers at which it does.
        behind: Names of layers behind which it does, at those that mix
            features first from there on.
    """

    first: bool
    named: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()


class SharedLayer(Exception):
    """What was copied as it is turns out to take the prior elsewhere."""

    def __init__(self, layer: Any):
        super().__init__(layer.name)
        self.key = id(layer)
        self.name = layer.name


class Widening:
    """The copies and the wide layers made for one base model.

    Args:
        prior_shape: Tuple. Shape of the prior without the batch.
        places: `Places`.
    """

    def __init__(self, prior_shape: tuple, places: Places):
        self.prior_shape = prior_shape
        self.places = places
        self.found: set[str] = set()
        self.shared: set[int] = set()

    def widen(self, base: keras.Model) -> keras.Model:
        while True:
            self.copies: dict[int, Any] = {}
            self.wide: dict[int, WideLayer] = {}
            self.models: dict[int, tuple[Any, list[bool], list[bool]]] = {}
            try:
                network, _ = self.widen_graph(base, None)
                break
            except SharedLayer as found:
                if found.key in self.shared:
                    raise ValueError(
                        called_on_no_features(found.name)
                    ) from None
                self.shared.add(found.key)
        left = sorted(self.places.named - self.found)
        if network is None or left:
            raise ValueError(nothing_widened(base, left[0] if left else None))
        check_reached(network, self.places.named)
        return network

    def widen_graph(
        self,
        model: keras.Model,
        open_inputs: list[bool] | None,
    ) -> tuple[keras.Model | None, list[bool]]:
        """Widens one model and the models in it.

        Args:
            model: Functional or Sequential model.
            open_inputs: Which of its inputs are reached without passing a
                layer that mixes features. `None` stands for all, if the
                prior enters at such layers first.

        Returns:
            The widened model, or `None` if nothing in it takes the prior,
            and which of its outputs are reached likewise.
        """
        view = functional_view(model)
        inputs = keras.tree.map_structure(input_like, view.input)
        prior = keras.Input(self.prior_shape, name=free_name("prior", view))
        walk = Walk(self, prior, view)
        flat_inputs = keras.tree.flatten(inputs)
        if open_inputs is None:
            open_inputs = [self.places.first] * len(flat_inputs)
        for tensor, is_open in zip(flat_inputs, open_inputs, strict=True):
            walk.mark(tensor, is_open)
        # The prior passes through the model that is cloned, so that it is an
        # input of the clone and any layer in between can read it.
        extended = keras.Model([view.input, prior], [view.output, prior])
        clone = call_again(extended, walk.call, [inputs, prior])
        outputs, _ = clone.output
        open_outputs = [
            walk.is_open(tensor) for tensor in keras.tree.flatten(outputs)
        ]
        if not walk.took_prior:
            return None, open_outputs
        network = keras.Model([inputs, prior], outputs, name=model.name)
        return network, open_outputs

    def copy(self, layer: Any) -> Any:
        """The copy of a layer that does not take the prior."""
        if id(layer) not in self.copies:
            self.copies[id(layer)] = copy_layer(layer, copy_inner=self.copy)
        return self.copies[id(layer)]


class Walk:
    """Calls the layers of one graph anew, in order, with the prior.

    A tensor is open while no layer that mixes features lies between it and
    the input.

    Args:
        widening: The `Widening` it is part of.
        prior: Symbolic tensor, the prior.
        model: The model whose graph it is.
    """

    def __init__(self, widening: Widening, prior: Any, model: keras.Model):
        self.model = model
        self.widening = widening
        self.places = widening.places
        self.prior = prior
        self.open_tensors: dict[int, Any] = {}
        self.with_prior: dict[int, Any] = {}
        self.took_prior = False

    def mark(self, tensor: Any, is_open: bool) -> None:
        if is_open:
            # Holding the tensor keeps its id from being given to another.
            self.open_tensors[id(tensor)] = tensor

    def is_open(self, tensor: Any) -> bool:
        return id(tensor) in self.open_tensors

    def call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = keras.tree.map_structure(
            lambda leaf: self.with_prior.get(id(leaf), leaf), (args, kwargs)
        )
        is_open = layer.name in self.places.behind or self._reads_open(
            layer, arguments
        )
        if is_graph_model(layer):
            outputs, open_outputs = self._call_model(layer, arguments)
        else:
            outputs, was_wide = self._call_layer(layer, arguments, is_open)
            flat = keras.tree.flatten(outputs)
            open_outputs = [is_open and not was_wide] * len(flat)
        for tensor, is_open in zip(
            keras.tree.flatten(outputs), open_outputs, strict=True
        ):
            self.mark(tensor, is_open)
        return outputs

    def _reads_open(self, layer: Any, arguments: tuple) -> bool:
        """Whether the features that a layer reads are open."""
        tensors = keras_tensors(arguments)
        # A user's layer takes the features first; the edges or the places of
        # a graph come from the input in each of its layers.
        if isinstance(layer, keras.layers.Layer) and not is_keras(layer):
            features = first_features(layer, arguments)
            tensors = tensors if features is None else [features]
        floats = [tensor for tensor in tensors if is_float(tensor)]
        return any(map(self.is_open, floats or tensors))

    def _call_layer(
        self, layer: Any, arguments: tuple, is_open: bool
    ) -> tuple[Any, bool]:
        result = self._call_wide(layer, arguments, is_open)
        if result is None:
            return self._call_copy(layer, arguments), False
        self.took_prior = True
        if self.widening.wide[id(layer)].changes_features:
            self.with_prior[id(result.features)] = result.joined
        return result.outputs, True

    def _call_wide(
        self, layer: Any, arguments: tuple, is_open: bool
    ) -> WideCall | None:
        known = self.widening.wide
        if id(layer) in known:
            return known[id(layer)].call(arguments, self.prior)
        named = layer.name in self.places.named
        shared = id(layer) in self.widening.shared
        if not (named or shared or is_open):
            return None
        name = free_name(f"{layer.name}_prior", self.model)
        made = make_wide(layer, arguments, self.prior, name, named)
        if made is None:
            return None
        if id(layer) in self.widening.copies:
            raise SharedLayer(layer)
        known[id(layer)], result = made
        self.widening.found.add(layer.name)
        return result

    def _call_model(
        self, model: Any, arguments: tuple
    ) -> tuple[Any, list[bool]]:
        args, kwargs = arguments
        inputs, *rest = args or [kwargs.pop("inputs")]
        inputs = in_their_places(model, inputs)
        known = self.widening.models
        # A model that is named is widened where it begins.
        named = model.name in self.places.named
        everywhere = named or id(model) in self.widening.shared
        open_inputs = [
            everywhere or self.is_open(tensor)
            for tensor in keras.tree.flatten(inputs)
        ]
        if id(model) not in known:
            result = self.widening.widen_graph(model, open_inputs)
            known[id(model)] = (*result, open_inputs)
        network, open_outputs, known_open = known[id(model)]
        if any(
            now and not before
            for now, before in zip(open_inputs, known_open, strict=True)
        ):
            raise SharedLayer(model)
        if named:
            # It is asked for in there, not behind.
            open_outputs = [False] * len(open_outputs)
        if network is None:
            arguments = (inputs, *rest), kwargs
            return self._call_copy(model, arguments), open_outputs
        self.took_prior = True
        if named:
            self.widening.found.add(model.name)
        outputs = network([inputs, self.prior], *rest, **kwargs)
        return outputs, open_outputs

    def _call_copy(self, layer: Any, arguments: tuple) -> Any:
        is_new = id(layer) not in self.widening.copies
        copy = self.widening.copy(layer)
        args, kwargs = arguments
        outputs = copy(*args, **kwargs)
        if is_new and copy is not layer:
            copy_state(layer, copy)
        return outputs


def check_base(base: Any) -> None:
    """Raises a `ValueError` that says why a model cannot be widened."""
    check_known_shape(base)
    for layer in sublayers(base):
        if isinstance(layer, (ConcatenatePrior, AddPrior)):
            raise ValueError(
                "The base model is already widened: its layer "
                f"{layer.name!r} takes a prior. Received: base={base.name!r}. "
                "Pass the model it was made from, or use "
                "`keras_zigzag.ZigZagModel(network, prior)`."
            )
        check_sublayer(layer)
    if not is_graph_model(base):
        raise ValueError(
            "Only Sequential and Functional models can be widened, since the "
            "layers of other models are not known. "
            f"Received: the subclassed model `{type(base).__name__}`. Write "
            "the network with two inputs, `network([inputs, prior])`, and "
            "use `keras_zigzag.ZigZagModel(network, prior)`."
        )
    warn_of_own_training(base)
    warn_of_tied_layers(base)


def check_sublayer(layer: Any) -> None:
    """Raises a `ValueError` for what two passes of one batch would break."""
    if getattr(layer, "lora_enabled", False) or getattr(
        layer, "quantization_mode", None
    ):
        raise ValueError(
            "A model is widened before it is quantised or gets LoRA "
            "adapters, since neither leaves kernels that can learn to read "
            f"the prior. Received: the layer {layer.name!r}. Widen the model "
            "first, and call `quantize` or `enable_lora` on the result."
        )
    if getattr(layer, "stateful", False):
        raise ValueError(
            "A stateful layer would take the second pass for the batch that "
            f"follows. Received: the layer {layer.name!r} with "
            "`stateful=True`. Make the base model with `stateful=False`."
        )


def check_layer(base: keras.Model, name: str, argument: str = "layer") -> None:
    names = [
        layer.name
        for layer in sublayers(base)
        if layer is not base and layer.weights
    ]
    if not isinstance(name, str):
        raise ValueError(
            f"`{argument}` must be the name of a layer. Received: "
            f"{argument}={name!r}. Several names go into `prior_at`, as in "
            "`ZigZagModel.from_model(base, ..., prior_at=['one', 'other'])`."
        )
    every = {layer.name for layer in sublayers(base)}
    if name not in every or name == base.name:
        raise ValueError(
            f"The base model has no layer {name!r}. Received: "
            f"{argument}={name!r}. Its layers with weights are {names}."
        )


def nothing_widened(base: keras.Model, layer: str | None) -> str:
    if layer is not None:
        return (
            "The prior cannot enter at this layer: it reads no floats, or it "
            f"lies inside another layer. Received: layer={layer!r}. Choose a "
            "layer of the model, or of a model in it, that reads features."
        )
    reason = (
        "all layers that could take the prior are frozen"
        if base.weights and not base.trainable_weights
        else "none of its layers mixes features of floats"
    )
    return (
        f"The base model cannot be widened: {reason}. "
        f"Received: base={base.name!r} with the layers "
        f"{[each.name for each in base.layers]}. It needs a trainable layer "
        "such as `Dense` or `Conv2D`; otherwise write the network with two "
        "inputs and use `keras_zigzag.ZigZagModel(network, prior)`."
    )
