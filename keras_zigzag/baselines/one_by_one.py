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
from keras_zigzag.epoch_backup import EpochBackup

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
        settings = self.settings = json.dumps(ensemble, sort_keys=True)
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

    def backup(self, index: int) -> EpochBackup:
        """The state of a member that is not finished."""
        return EpochBackup(self.folder / f"member_{index}.npz", self.settings)

    def _weights(self, index: int) -> Path:
        return self.folder / f"member_{index}.weights.h5"


class Member(NetworkModel):
    """One member of an ensemble as a model to be trained.

    Callbacks may ask it for uncertainties, which are those of an ensemble of
    one.

    Args:
        network: Functional model, the member.
        task: As of the ensemble.
        score: As of the ensemble.
        answers: `Answers` of the ensemble.
        attack: `FastGradientSign`, or `None`.

    Attributes:
        num_epochs: As of the ensemble.
    """

    num_epochs: int = 0

    def __init__(
        self,
        network: keras.Model,
        task: Any,
        score: Any,
        answers: Answers,
        attack: FastGradientSign | None,
    ):
        super().__init__(network, task, score)
        self.use_answers(answers)
        self.attack = attack

    def training_batch(
        self, x: Any, y: Any, sample_weight: Any = None
    ) -> tuple[Any, Any, Any]:
        if self.attack is None:
            return super().training_batch(x, y, sample_weight)
        batch = attacked(self, self.network, self.attack, x, y, sample_weight)
        return with_metrics_of_first_half(*batch)

    def check_uncertainty(self) -> None:
        """Raises a `ValueError` if one answer alone has no such score."""
        try:
            self._mixture()
        except ValueError as error:
            raise ValueError(
                "A member by itself has no uncertainty of this kind, so that "
                "nothing can be evaluated while it is trained. Use `fit`, "
                "which trains all members at once, or a `score` of one answer. "
                f"{error}"
            ) from error

    def estimate(self, inputs: Any) -> tuple[Any, Any]:
        outputs = self.call_loss(inputs, training=False)
        mixture = self._mixture()
        return mixture.combined(mixture.stacked([outputs]))

    def call_training(
        self, inputs: TrainingInputs, training: bool | None = None
    ) -> Any:
        return self.call_loss(inputs.inputs, training)

    def _mixture(self) -> Mixture:
        return Mixture(self.answers, self.score, num_samples=1)


class AfterEachEpoch(keras.callbacks.Callback):
    """Writes the state of a member after each epoch.

    Args:
        backup: `EpochBackup`.
    """

    def __init__(self, backup: EpochBackup):
        super().__init__()
        self.backup = backup

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.backup.save(self.model, epoch + 1, seconds=0.0)


def train_one_by_one(
    models: Iterable[Member],
    fit: Callable[[int, Member, int, list[Any]], Any],
    folder: MemberFolder | None,
) -> list[Any]:
    """Trains each member, unless it is finished.

    Args:
        models: The members, each made when it is its turn.
        fit: Function of the index of a member, the member, the number of
            epochs that it has behind it and callbacks, which trains it.
        folder: `MemberFolder`, or `None` to keep nothing.

    Returns:
        List with the `History` of each member, `None` for those that were
        finished before.
    """
    histories: list[Any] = []
    for index, model in enumerate(models):
        if folder is None:
            histories.append(fit(index, model, 0, []))
        elif folder.restore(index, model.network):
            histories.append(None)
        else:
            backup = folder.backup(index)
            epoch, _ = backup.restore(model)
            callbacks = [AfterEachEpoch(backup)]
            histories.append(fit(index, model, epoch, callbacks))
            folder.keep(index, model.network)
            backup.delete()
    return histories
