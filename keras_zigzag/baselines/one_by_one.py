"""Trains the members of an ensemble one after the other."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras

from keras_zigzag.baselines.adversarial import (
    FastGradientSign,
    attacked,
    with_metrics_of_first_half,
)
from keras_zigzag.baselines.answers import Answers
from keras_zigzag.baselines.mixtures import Mixture
from keras_zigzag.baselines.network_model import NetworkModel
from keras_zigzag.batches import TrainingInputs

SETTINGS = "ensemble.json"


class MemberFolder:
    """What is left of a run that stopped, member by member.

    Finished members are kept as weights, the current one as the state after
    its last epoch.

    Args:
        folder: Path or string. Made if it does not exist.
        ensemble: Dict that says which ensemble it is, in terms of JSON.

    Raises:
        ValueError: If the folder belongs to another ensemble.
    """

    def __init__(self, folder: Any, ensemble: dict[str, Any]):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / SETTINGS
        settings = json.dumps(ensemble, sort_keys=True)
        if path.exists() and path.read_text() != settings:
            raise ValueError(
                "The folder holds the members of another ensemble. "
                f"Received: backup_dir={str(folder)!r} with "
                f"{path.read_text()}, for {settings}. Give an empty folder, "
                "or make the ensemble as before."
            )
        path.write_text(settings)

    def restore(self, index: int, member: keras.Model) -> bool:
        """Gives a finished member its weights; whether it is finished."""
        path = self._weights(index)
        if path.exists():
            member.load_weights(path)
        return path.exists()

    def keep(self, index: int, member: keras.Model) -> None:
        # A run that stops while it writes leaves no half of a file.
        unfinished = self.folder / f"unfinished_{index}.weights.h5"
        member.save_weights(unfinished)
        unfinished.replace(self._weights(index))

    def callback(self, index: int) -> keras.callbacks.Callback:
        """Goes on with a member after the last epoch that it finished."""
        return keras.callbacks.BackupAndRestore(
            str(self.folder / f"member_{index}")
        )

    def _weights(self, index: int) -> Path:
        return self.folder / f"member_{index}.weights.h5"


class Member(NetworkModel):
    """One member of an ensemble as a model to be trained.

    Callbacks may ask it for uncertainties, which are those of an ensemble of
    one.

    Args:
        network: Functional model, the member.
        task: As of the ensemble.
        answers: `Answers` of the ensemble.
        attack: `FastGradientSign`, or `None`.
    """

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        answers: Answers,
        attack: FastGradientSign | None,
    ):
        super().__init__(network, task, score=None)
        self.use_answers(answers)
        self.attack = attack
        self._mixture = Mixture(answers, score=None, num_samples=2)

    def training_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        if self.attack is None:
            return super().training_batch(x, y, sample_weight)
        batch = attacked(self, self.network, self.attack, x, y, sample_weight)
        return with_metrics_of_first_half(*batch)

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        outputs = self.call_loss(inputs, training=False)
        return self._mixture.combined(self._mixture.stacked([outputs]))

    def call_training(
        self, inputs: TrainingInputs, training: bool | None = None
    ) -> Any:
        return self.call_loss(inputs.inputs, training)


def train_one_by_one(
    models: Iterable[Member],
    fit: Callable[[int, Member, list[Any]], Any],
    folder: MemberFolder | None,
) -> list[Any]:
    """Trains each member, unless it is finished.

    Args:
        models: The members, each made when it is its turn.
        fit: Function of the index of a member, the member and callbacks,
            which trains it.
        folder: `MemberFolder`, or `None` to keep nothing.

    Returns:
        List with the `History` of each member, `None` for those that were
        finished before.
    """
    histories: list[Any] = []
    for index, model in enumerate(models):
        if folder is not None and folder.restore(index, model.network):
            histories.append(None)
            continue
        callbacks = [] if folder is None else [folder.callback(index)]
        histories.append(fit(index, model, callbacks))
        if folder is not None:
            folder.keep(index, model.network)
    return histories
