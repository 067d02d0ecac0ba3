from typing import Any

import keras


class ServingModel(keras.Model):
    """What is exported: inputs to a flat dictionary of named outputs.

    A serving signature holds tensors only, so several outputs become
    `prediction_<name>` and `uncertainty_<name>`.

    Args:
        model: An `UncertaintyModel`.
    """

    def __init__(self, model: Any):
        super().__init__(name=model.name)
        self.model = model
        self.built = True

    def call(self, inputs: Any) -> dict[str, Any]:
        return flat_outputs(self.model.call_with_uncertainty(inputs))


def flat_outputs(outputs: dict[str, Any]) -> dict[str, Any]:
    """`{"prediction": {"a": …}}` to `{"prediction_a": …}`."""
    flat = {}
    for key, value in outputs.items():
        if isinstance(value, dict):
            flat.update({f"{key}_{name}": one for name, one in value.items()})
        elif isinstance(value, (list, tuple)):
            flat.update(
                {f"{key}_{index}": one for index, one in enumerate(value)}
            )
        else:
            flat[key] = value
    return flat
