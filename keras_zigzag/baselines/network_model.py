from typing import Any

import keras

from keras_zigzag.baselines.answering_model import AnsweringModel
from keras_zigzag.graphs import functional_view
from keras_zigzag.model_config import (
    check_options,
    deserialized,
    input_specs,
    own_config,
)


class NetworkModel(AnsweringModel):
    """A method made of one network, with a config of its own; abstract.

    A subclass hands over the arguments of its constructor that all have,
    keeps the others under their names, and sets `answers`.

    Args:
        network: Functional model.
        task: `"classification"`, `"regression"` or `"binary"`, or a list or
            dict of them with one per output.
        score: Name of a score, or a list or dict of them, or `None`.
        **kwargs: Arguments of `keras.Model`.
    """

    def __init__(
        self, network: keras.Model, task: Any, score: Any, **kwargs: Any
    ):
        check_options(kwargs, type(self))
        kwargs.setdefault("dtype", network.dtype_policy)
        super().__init__(**kwargs)
        self.network = network
        self.task = task
        self.score = score
        self.built = True

    def call_loss(self, inputs: Any, training: bool | None = None) -> Any:
        return self.answers.outputs(self.network(inputs, training=training))

    def input_signature(self) -> list[Any]:
        return input_specs(functional_view(self.network).input)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | own_config(self)

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None
    ) -> Any:
        return cls(**deserialized(config, custom_objects))


def check_train_base(model: Any, options: dict[str, Any]) -> None:
    """Raises a `ValueError` if another `train_base` is among the options.

    Whether a network learns is a property of the network, which a model with
    other options has in common with the first.

    Args:
        model: Model with the option.
        options: Dictionary of the options of the other model.
    """
    wanted = options.get("train_base", model.train_base)
    if bool(wanted) != model.train_base:
        kind = type(model).__name__
        raise ValueError(
            "Both models share the network, which learns in both or in none. "
            f"Received: train_base={wanted!r}, for a `{kind}` with "
            f"train_base={model.train_base}. Make another one of the base "
            f"model, with `{kind}.from_model(base, ...)`."
        )
