"""One output of a model with several."""

import dataclasses
from typing import Any

import keras

from keras_zigzag.priors.joint_prior import JointPrior


@dataclasses.dataclass(frozen=True)
class ChosenOutput:
    """Finds an output in targets, predictions, weights, priors and losses.

    Predictions in a list may go with targets or losses by name, as in `fit`.

    Args:
        output: Key, index or name of the output, or `None` if there is one.
        names: Tuple of strings, the names of outputs that are a list, where
            they are known.
    """

    output: Any = None
    names: tuple[str, ...] = ()

    def of(self, structure: Any) -> Any:
        """The part of a structure, or what is not one as it is."""
        if structure is None or not keras.tree.is_nested(structure):
            return structure
        keys = self._keys(structure)
        if self.output is None and len(keys) != 1:
            raise ValueError(
                "A report is about one output. Received: output=None and a "
                f"model with the outputs {keys}. Give one of them as "
                "`output`, once for each report."
            )
        key = self._key(keys)
        if key not in keys:
            raise ValueError(
                f"There is no such output. Expected one of {keys}. "
                f"Received: output={self.output!r}"
            )
        return structure[key]

    def of_losses(self, losses: Any) -> Any:
        """As `of`, `None` where the output has none."""
        if not isinstance(losses, (dict, list, tuple)):
            return losses
        key = self._key(self._keys(losses))
        return losses[key] if key in self._keys(losses) else None

    @staticmethod
    def _keys(structure: Any) -> list[Any]:
        is_dict = isinstance(structure, dict)
        return list(structure) if is_dict else list(range(len(structure)))

    def _key(self, keys: list[Any]) -> Any:
        """What it is called there: a number may stand for a name."""
        if self.output is None:
            return keys[0] if len(keys) == 1 else None
        if self.output in keys:
            return keys[keys.index(self.output)]
        if self.output in self.names:
            return self.names.index(self.output)
        return dict(enumerate(self.names)).get(self.output)


def chosen_output(model: Any, output: Any) -> ChosenOutput:
    """The output of this model that goes by a key, an index or a name."""
    prior = prior_of(model)
    structure: Any = getattr(model, "output", None)
    names = getattr(model, "output_names", None)
    if isinstance(prior, JointPrior):
        structure, names = prior.priors, prior.output_names
    is_list = isinstance(structure, (list, tuple))
    return ChosenOutput(output, tuple(names or ()) if is_list else ())


def prior_of(model: Any) -> Any:
    """What a model of this package knows its targets by, or `None`."""
    return getattr(getattr(model, "answers", model), "prior", None)
