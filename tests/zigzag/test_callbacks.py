import keras
import numpy as np
import pytest

from tests.zigzag.toys import (
    assert_same_weights,
    class_data,
    classifier,
    randomise,
)

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def compiled(**kwargs):
    model = randomise(classifier(seed=0, **kwargs))
    model.compile(
        "adam", "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def fit(model, callbacks=(), epochs=4, **kwargs):
    x, y = class_data(16)
    return model.fit(
        x,
        y,
        batch_size=8,
        epochs=epochs,
        shuffle=False,
        callbacks=list(callbacks),
        verbose=0,
        **kwargs,
    )


class Interrupted(Exception):
    pass


class Interrupt(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            raise Interrupted


def test_an_interrupted_fit_goes_on(tmp_path):
    whole = compiled()
    fit(whole)
    with pytest.raises(Interrupted):
        backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
        fit(compiled(), [backup, Interrupt()])
    model = compiled()
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    history = fit(model, [backup])
    assert history.epoch == [2, 3]
    assert_same_weights(model, whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weights_only", [False, True])
def test_checkpoints(tmp_path, weights_only):
    ending = ".weights.h5" if weights_only else ".keras"
    path = tmp_path / f"best{ending}"
    model = compiled()
    checkpoint = keras.callbacks.ModelCheckpoint(
        path, save_weights_only=weights_only, save_best_only=False
    )
    fit(model, [checkpoint])
    if weights_only:
        loaded = classifier(seed=0)
        loaded.load_weights(path)
    else:
        loaded = keras.saving.load_model(path)
    x, _ = class_data(16)
    out, again = (m.predict(x, verbose=0) for m in (model, loaded))
    for name in out:
        np.testing.assert_allclose(out[name], again[name], rtol=1e-5)


def test_early_stopping_restores_the_best_weights():
    model = compiled()
    x, y = class_data(16)
    stop = keras.callbacks.EarlyStopping(
        "val_loss", patience=1, restore_best_weights=True, mode="max"
    )
    # The loss falls, so by `mode="max"` the first epoch is the best.
    history = fit(model, [stop], epochs=9, validation_data=(x, y)).history
    assert len(history["loss"]) == 2
    loss = model.evaluate(x, y, batch_size=8, verbose=0)[0]
    np.testing.assert_allclose(loss, history["val_loss"][0], rtol=1e-5)


def test_learning_rate_schedules_and_logs(tmp_path):
    model = compiled()
    plateau = keras.callbacks.ReduceLROnPlateau(
        "accuracy", patience=1, mode="min", factor=0.5
    )
    log = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    fit(model, [plateau, log])
    header = (tmp_path / "log.csv").read_text().splitlines()[0].split(",")
    assert {"epoch", "accuracy", "loss"} <= set(header)
