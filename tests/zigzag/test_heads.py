"""A network with several heads against as many networks with one."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.heads.layers import MeanOverHeads, StackHeads
from tests.baselines import toys
from tests.zigzag.heads import (
    NUM_HEADS,
    base_model,
    compiled,
    data,
    headed,
    of_network,
)
from tests.zigzag.toys import fit_once, weights_of

layers = keras.layers
pytestmark = pytest.mark.one_quick_on("jax", "torch")


def head_weights(network, index):
    """The weights of a network with the one head, by their paths."""
    found = {}
    for weight in network.weights:
        path = weight.path.replace(f"_head_{index}", "")
        if "_head_" not in path:
            found[path] = weight
    return found


def weights_by_path(model):
    return {
        weight.path: np.array(ops.convert_to_numpy(weight))
        for weight in model.network.weights
    }


def single(model, index, prior_at):
    """A network with one head, made for itself, with these weights."""
    twin = kz.ZigZagModel.from_model(
        base_model(), task="classification", prior_at=prior_at
    )
    weights = head_weights(model.network, index)
    assert len(weights) == len(twin.network.weights)
    for weight in twin.network.weights:
        weight.assign(ops.convert_to_numpy(weights[weight.path]))
    return twin


@pytest.mark.parametrize("prior_at", ["first", "heads", "both", ["answer"]])
def test_as_many_networks_with_one_head(prior_at):
    x, y = data()
    model = headed(prior_at)
    twins = [single(model, k, prior_at) for k in range(NUM_HEADS)]
    prior = np.random.default_rng(2).normal(size=(12, 4)).astype("float32")
    outputs = of_network(model, x, prior)
    assert outputs.shape == (12, NUM_HEADS, 3)
    for index, twin in enumerate(twins):
        np.testing.assert_allclose(
            outputs[:, index], of_network(twin, x, prior), rtol=1e-5, atol=1e-6
        )
    before = weights_by_path(model)
    losses = []
    for one in (model, *twins):
        compiled(one, keras.optimizers.SGD(1.0))
        losses.append(fit_once(one, x, y)["loss"])
    assert losses[0] == pytest.approx(np.mean(losses[1:]), rel=1e-5)
    steps = {}
    for index, twin in enumerate(twins):
        now = weights_by_path(twin)
        for path, weight in head_weights(model.network, index).items():
            step = now[path] - before[weight.path]
            steps.setdefault(weight.path, []).append(step)
    assert len(steps) == len(model.network.weights)
    for weight in model.network.weights:
        # The mean of the losses: what all share moves by the mean of the
        # steps, what is a head's by its part of it.
        expected = np.sum(steps[weight.path], axis=0) / NUM_HEADS
        found = ops.convert_to_numpy(weight) - before[weight.path]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def answers(model, x):
    """First and second answers of all heads, by hand."""
    blank = ops.convert_to_numpy(model.prior.encode_blank(len(x)))
    first = of_network(model, x, blank)
    prior = ops.convert_to_numpy(model.prior.encode_prediction(first.mean(1)))
    return first, of_network(model, x, prior)


@pytest.mark.parametrize(
    "uncertainty", [None, "both", "distance", "disagreement", "entropy"]
)
def test_uncertainties(uncertainty):
    x, _ = data()
    model = headed("both", uncertainty=uncertainty)
    first, second = answers(model, x)
    moved = np.linalg.norm(first - second, axis=-1)
    variance = first.var(axis=1).sum(axis=-1)
    mean = first.mean(axis=1)
    expected = {
        "both": np.sqrt((moved**2).mean(axis=1) + variance),
        "distance": moved.mean(axis=1),
        "disagreement": np.sqrt(variance),
        "entropy": -(mean * np.log(mean)).sum(axis=-1),
    }[uncertainty or "both"]
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(out["prediction"], mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(out["uncertainty"], expected, rtol=1e-3)


def test_more_passes_and_another_distance():
    x, _ = data()
    model = headed(num_passes=3, distance="l1", uncertainty="distance")
    _, second = answers(model, x)
    prior = ops.convert_to_numpy(
        model.prior.encode_prediction(second.mean(axis=1))
    )
    third = of_network(model, x, prior)
    expected = np.abs(second - third).sum(axis=-1).mean(axis=1)
    found = model.predict(x, verbose=0)["uncertainty"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_logits_are_averaged_as_probabilities():
    x, _ = data()
    model = headed(base=base_model(activation=None))
    logits, _ = answers(model, x)
    probabilities = ops.convert_to_numpy(ops.softmax(logits)).mean(axis=1)
    found = ops.softmax(model.predict(x, verbose=0)["prediction"])
    np.testing.assert_allclose(
        ops.convert_to_numpy(found), probabilities, rtol=1e-4
    )


def test_metrics_and_evaluate_see_the_mean():
    x, y = data()
    model = headed()
    compiled(
        model,
        keras.optimizers.SGD(0.0),
        metrics=["sparse_categorical_crossentropy"],
    )
    first, _ = answers(model, x)
    expected = -np.log(first.mean(axis=1)[np.arange(len(y)), y]).mean()
    logs = fit_once(model, x, y, validation_data=(x, y))
    for name in ("", "val_"):
        found = logs[f"{name}sparse_categorical_crossentropy"]
        assert found == pytest.approx(expected, rel=1e-4)
    terms = sum(float(ops.convert_to_numpy(one)) for one in model.losses)
    assert logs["val_loss"] == pytest.approx(expected + terms, rel=1e-4)


def test_one_head_is_two_passes_of_the_widened_network():
    x, y = data()
    model = compiled(headed(num_heads=1), keras.optimizers.SGD(0.1))
    assert not any(isinstance(o, StackHeads) for o in model.network.layers)
    network = keras.models.clone_model(model.network)
    network.set_weights(model.network.get_weights())
    tensor, blank = map(
        ops.convert_to_tensor, (x, model.prior.encode_blank(12))
    )
    first = network([tensor, blank])
    second = network([tensor, model.prior.encode_prediction(first)])
    moved = kz.distances.norm(first, second)
    out = model.predict_on_batch(x)
    for key, expected in {"prediction": first, "uncertainty": moved}.items():
        expected = ops.convert_to_numpy(expected)
        np.testing.assert_allclose(out[key], expected, rtol=1e-6, atol=1e-7)
    # One step, by hand: both passes are one batch of an ordinary network.
    compiled(network, keras.optimizers.SGD(0.1))
    answer = model.prior.encode_targets(y)
    both = map(ops.convert_to_numpy, (blank, answer))
    network.train_on_batch(
        [np.concatenate([x, x]), np.concatenate([*both])],
        np.concatenate([y, y]),
    )
    model.train_on_batch(x, y)
    # Without a compiler the arithmetic is the same, bit for bit.
    rtol = 1e-5 if keras.backend.backend() == "jax" else 0
    for one, other in zip(
        network.get_weights(), model.network.get_weights(), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=rtol)


def test_one_head_with_the_prior_where_it_begins():
    model = headed("heads", num_heads=1)
    assert model.network.get_layer("hidden_prior")
    assert model.network.get_layer("trunk").kernel.shape == (4, 6)
    assert model.uncertainty is None


class OwnLoss(kz.ZigZagModel):
    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        assert x.shape[0] == y.shape[0] == y_pred.shape[0]
        assert y_pred.shape[1:] == (3,)
        return ops.mean(y_pred[:, 0])


def test_a_loss_of_ones_own_sees_one_head_at_a_time():
    x, y = data()
    made = headed()
    model = OwnLoss(made.network, made.prior, num_heads=NUM_HEADS)
    eager = keras.backend.backend() == "tensorflow"
    model.compile(keras.optimizers.SGD(0.0), run_eagerly=eager)
    first, _ = answers(model, x)
    prior = ops.convert_to_numpy(model.prior.encode_targets(y))
    second = of_network(model, x, prior)
    expected = (first[..., 0].mean() + second[..., 0].mean()) / 2
    assert fit_once(model, x, y)["loss"] == pytest.approx(expected, rel=1e-4)


def test_seeds_of_the_heads():
    def kernels(seed):
        model = kz.ZigZagModel.from_model(
            base, task="classification", num_heads=3, seed=seed
        )
        return weights_of(model)

    base = base_model()
    for one, other in zip(kernels(1), kernels(1), strict=True):
        np.testing.assert_array_equal(one, other)
    pairs = zip(kernels(1), kernels(2), strict=True)
    assert any(not np.array_equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("aggregate", [None, "max"])
def test_places_that_are_masked(aggregate):
    x = toys.tokens()
    model = kz.ZigZagModel.from_model(
        toys.tagger(),
        task="classification",
        num_heads=NUM_HEADS,
        prior_at="heads",
        aggregate=aggregate,
    )
    toys.randomise(model)
    found = model.predict(x, verbose=0)["uncertainty"]
    if aggregate is None:
        np.testing.assert_array_equal(np.isnan(found), x == 0)
    else:
        assert found.shape == (len(x),)
        assert np.isfinite(found).all()


@pytest.mark.filterwarnings("ignore:Layer '.*' .* was passed an input with")
@pytest.mark.parametrize("num_heads", [1, 2])
def test_a_mask_goes_through_a_model(num_heads):
    """Keras gives the symbolic outputs of a model no masks."""
    body = keras.Sequential(
        [
            keras.Input((6, 4)),
            layers.LSTM(4, return_sequences=True),
            layers.Dense(4),
        ]
    )
    base = keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(9, 4, mask_zero=True),
            body,
            layers.Dense(3, "softmax", name="tags"),
        ]
    )
    words = np.array([[1, 2, 3, 0, 0, 0], [4, 5, 6, 7, 8, 1]])
    model = kz.ZigZagModel.from_model(
        base,
        "classification",
        num_heads=num_heads,
        heads_from="tags" if num_heads > 1 else None,
    )
    assert not model.place_masks.is_empty
    (mask,) = model.place_masks(words)
    np.testing.assert_array_equal(ops.convert_to_numpy(mask), words != 0)
    found = model.predict(words, verbose=0)["uncertainty"]
    np.testing.assert_array_equal(np.isnan(found), words == 0)
    report = kz.evaluate_uncertainty(
        model, (words, np.zeros((2, 6), "int32")), task="classification"
    )
    assert len(report.uncertainty) == (words != 0).sum()


def test_masked_places_with_weights_of_samples():
    """Keras multiplies the weights by the mask, on PyTorch in place."""
    nodes, is_node = keras.Input((4, 3)), keras.Input((4,), dtype="bool")
    x = kz.MaskPlaces()([nodes, is_node])
    base = keras.Model([nodes, is_node], layers.Dense(1)(x))
    model = kz.ZigZagModel.from_model(base, task="regression", num_heads=2)
    generator = np.random.default_rng(0)
    x = generator.standard_normal((6, 4, 3)).astype("float32")
    mask = np.arange(4) < np.array([4, 3, 2, 1, 4, 2])[:, None]
    y = generator.standard_normal((6, 4, 1)).astype("float32")
    weight = generator.uniform(0.5, 2.0, (6, 4)).astype("float32")
    model.adapt(y, sample_weight=mask)
    model.compile("sgd", "mse", run_eagerly=True)
    toys.randomise(model.network)
    blank = ops.convert_to_numpy(model.prior.encode_blank(6))
    answer = ops.convert_to_numpy(model.prior.encode_targets(y))
    squares = [
        (ops.convert_to_numpy(model.network([[x, mask], one])) - y[:, None])
        for one in (blank, answer)
    ]
    # Both passes in one batch, in which each real place counts its weight.
    each = np.stack(squares)[..., 0] ** 2 * (weight * mask)[:, None]
    expected = each.mean(axis=2).sum() / 2 / mask.sum()
    loss = model.train_on_batch([x, mask], y, weight)
    assert float(loss) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("num_heads", [1, 3])
@pytest.mark.parametrize("uncertainty", [None, "entropy"])
def test_an_infinite_answer_of_one_head_is_told(num_heads, uncertainty):
    """Its probability, and that of the mean, would be finite."""
    base = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
    model = kz.ZigZagModel.from_model(
        base,
        prior=kz.priors.BinaryPrior(from_logits=True),
        num_heads=num_heads,
        uncertainty=uncertainty,
    )
    x = toys.features()
    assert np.isfinite(model.predict(x, verbose=0)["uncertainty"]).all()
    last = [one for one in model.network.layers if hasattr(one, "bias")][-1]
    last.bias.assign([np.inf, 0.0])
    assert np.isnan(model.predict(x, verbose=0)["uncertainty"]).all()


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class SeededInBuild(layers.Dense):
    """A layer with a seed that no config tells."""

    def build(self, input_shape):
        self.kernel_initializer = keras.initializers.GlorotUniform(seed=1)
        super().build(input_shape)


ALIKE = {
    "zeros": [layers.Dense(1, kernel_initializer="zeros", name="end")],
    "seeded": [SeededInBuild(1, name="end")],
    "normalised": [layers.Dense(1), layers.BatchNormalization(name="end")],
}


@pytest.mark.parametrize("head_start", ["fresh", "fresh_last", "perturbed"])
@pytest.mark.parametrize("kind", ALIKE)
def test_heads_that_would_start_alike_do_not(kind, head_start):
    """They would learn alike, and never disagree."""
    ends = [type(one).from_config(one.get_config()) for one in ALIKE[kind]]
    hidden = layers.Dense(6, "relu", name="start")
    base = keras.Sequential([keras.Input((4,)), hidden, *ends])
    model = kz.ZigZagModel.from_model(
        base,
        task="regression",
        num_heads=NUM_HEADS,
        heads_from="end",
        head_start=head_start,
        uncertainty="disagreement",
        seed=0,
    )
    model.adapt(toys.values())
    first = weights_of(base.layers[-1])
    kept = weights_of(model.network.get_layer("end_head_0"))
    for one, other in zip(first, kept, strict=True):
        np.testing.assert_array_equal(one, other)
    out = model.predict(toys.features(), verbose=0)
    assert np.mean(out["uncertainty"] > 1e-3) > 0.9


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class AddsSquares(layers.Layer):
    def call(self, inputs):
        self.add_loss(ops.sum(ops.square(inputs)))
        return inputs


@pytest.mark.parametrize("kind", ["add_loss", "layer", "regularizer"])
def test_what_layers_of_heads_add_is_a_mean(kind, tmp_path):
    layer = {
        "add_loss": AddsSquares(),
        "layer": layers.ActivityRegularization(l2=1.0),
        "regularizer": layers.Activation(
            "linear", activity_regularizer=keras.regularizers.L2(1.0)
        ),
    }[kind]
    base = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(6, "tanh"),
            layers.Dense(5, "tanh", name="hidden"),
            layer,
            layers.Dense(1, name="answer"),
        ]
    )
    model = kz.ZigZagModel.from_model(
        base, task="regression", num_heads=NUM_HEADS
    )
    model.adapt(toys.values())
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x, y = toys.features(), toys.values()
    hidden = keras.Model(
        model.network.input,
        [
            model.network.get_layer(f"hidden_head_{index}").output
            for index in range(NUM_HEADS)
        ],
    )
    blank = model.prior.encode_blank(24)
    each = hidden.predict([x, ops.convert_to_numpy(blank)], verbose=0)
    squares = np.mean([np.sum(one**2) for one in each])
    # Keras divides what activities add by the size of the batch.
    added = squares if kind == "add_loss" else squares / 24
    error = np.mean((model.predict(x, verbose=0)["prediction"] - y) ** 2)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for one in (model, loaded):
        loss = one.evaluate(x, y, batch_size=24, verbose=0)
        assert loss == pytest.approx(error + added, rel=1e-4)


def test_one_tensor_as_two_outputs():
    base = base_model()
    outputs = base(base.inputs[0])
    twice = keras.Model(base.inputs[0], {"a": outputs, "b": outputs})
    model = kz.ZigZagModel.from_model(
        twice, task=dict.fromkeys("ab", "classification"), num_heads=2
    )
    out = model.predict(toys.features(), verbose=0)["uncertainty"]
    assert out["a"].shape == (24,)
    np.testing.assert_array_equal(out["a"], out["b"])


@pytest.mark.parametrize("num_heads", [1, 2])
def test_outputs_that_are_operations_keep_their_names(num_heads):
    inputs = keras.Input((4,))
    x = layers.Dense(5, activation="relu")(inputs)
    outputs = [
        ops.softmax(layers.Dense(3)(x)),
        ops.sigmoid(layers.Dense(1)(x)),
    ]
    base = keras.Model(inputs, outputs)
    before = [layer.name for layer in base.operations]
    model = kz.ZigZagModel.from_model(
        base, task=["classification", "binary"], num_heads=num_heads
    )
    assert model.output_names == base.output_names
    assert [layer.name for layer in base.operations] == before
    losses = ["sparse_categorical_crossentropy", "binary_crossentropy"]
    model.compile(
        "sgd",
        dict(zip(base.output_names, losses, strict=True)),
        run_eagerly=True,
    )
    y = [toys.labels(), np.ones((24, 1))]
    assert np.isfinite(model.evaluate(toys.features(), y, verbose=0)).all()


def test_an_output_that_cannot_be_copied():
    inputs = keras.Input((4,))
    x = layers.Dense(3)(layers.Dense(5, activation="relu")(inputs))
    base = keras.Model(inputs, ops.vectorized_map(lambda row: 2 * row, x))
    model = kz.ZigZagModel.from_model(
        base, task="classification", num_heads=NUM_HEADS
    )
    out = model.predict_on_batch(toys.features())
    assert out["uncertainty"].shape == (24,)


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class Options(layers.Dense):
    """A layer with arguments whose names end as those of regularisers do."""

    def __init__(
        self, units, use_regularizer=False, kind_of_regularizer="mine", **kwargs
    ):
        super().__init__(units, **kwargs)
        self.use_regularizer = use_regularizer
        self.kind_of_regularizer = kind_of_regularizer

    def get_config(self):
        return super().get_config() | {
            "use_regularizer": self.use_regularizer,
            "kind_of_regularizer": self.kind_of_regularizer,
        }


def test_arguments_that_are_no_regularizers():
    inputs = keras.Input((4,))
    hidden = Options(5, kernel_regularizer="l2", name="hidden")
    x = hidden(layers.Dense(4)(inputs))
    base = keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
    model = kz.ZigZagModel.from_model(
        base, task="classification", num_heads=NUM_HEADS
    )
    copy = model.network.get_layer("hidden_head_1")
    assert copy.use_regularizer is False
    assert copy.kind_of_regularizer == "mine"
    assert isinstance(copy.kernel_regularizer, MeanOverHeads)
