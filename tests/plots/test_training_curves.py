import keras
import numpy as np
import pytest

from keras_zigzag import plots
from tests.plots.cases import labels, line

HISTORY = {
    "loss": [3.0, 2.0, 1.0, 0.5],
    "val_loss": [3.0, 2.0, 2.0, 2.0],
    "val_raulc": [0.1, 0.2, 0.3, 0.4],
    "val_svhn_roc_auc": [0.5, 0.6, 0.7, 0.8],
    "val_svhn_fpr95": [0.9, 0.8, 0.7, 0.6],
}


def test_values():
    ax = plots.training_curves(HISTORY)
    assert labels(ax) == ["raulc", "svhn roc auc"]
    np.testing.assert_array_equal(
        line(ax, "raulc"), [[1, 2, 3, 4], HISTORY["val_raulc"]]
    )


def test_a_history_of_keras():
    history = keras.callbacks.History()
    history.history = HISTORY
    assert len(plots.training_curves(history).lines) == 2


def test_chosen_metrics():
    ax = plots.training_curves(HISTORY, metrics=["*_fpr95", "loss"])
    assert labels(ax) == ["svhn fpr95", "loss"]
    assert labels(plots.training_curves(HISTORY, metrics="raulc")) == ["raulc"]


def test_others_where_there_is_none_of_the_callback():
    ax = plots.training_curves({"loss": [1.0], "val_loss": [2.0]})
    assert labels(ax) == ["loss"]
    np.testing.assert_array_equal(line(ax, "loss"), [[1], [2.0]])


def test_several_outputs():
    history = {
        "val_kind_accuracy": [0.3, 0.4],
        "val_kind_raulc": [0.1, 0.2],
        "val_kind_svhn_roc_auc": [0.5, 0.6],
        "val_size_mae": [900.0, 800.0],
        "val_size_prediction_rejection_ratio": [0.2, 0.3],
        "val_size_spearman": [0.7, 0.8],
    }
    assert labels(plots.training_curves(history)) == [
        "kind accuracy",
        "kind raulc",
        "size prediction rejection ratio",
        "size spearman",
        "kind svhn roc auc",
    ]


def test_nan_leaves_a_gap_and_is_counted(rendered):
    ax = rendered(
        plots.training_curves({"val_raulc": [0.1, np.nan, 0.3, np.nan]})
    )
    assert labels(ax) == ["raulc (missing: 2)"]
    np.testing.assert_array_equal(
        line(ax, "raulc")[1], [0.1, np.nan, 0.3, np.nan]
    )


def test_every_second_epoch():
    history = {"loss": [1.0] * 5, "val_raulc": [0.1, 0.2]}
    ax = plots.training_curves(history, frequency=2)
    np.testing.assert_array_equal(line(ax, "raulc"), [[2, 4], [0.1, 0.2]])
    with pytest.raises(ValueError, match="`frequency=`, or leave it out"):
        plots.training_curves(history)
    with pytest.raises(ValueError, match="frequency=3"):
        plots.training_curves(history, frequency=3)


@pytest.mark.parametrize("history", [{}, {"loss": []}, [0.1], None])
def test_no_history(history):
    with pytest.raises(ValueError, match="what `fit` returns"):
        plots.training_curves(history)


def test_no_such_metric():
    with pytest.raises(ValueError, match="val_raulc.*Received: 'aurc'"):
        plots.training_curves(HISTORY, metrics=["aurc"])
    with pytest.raises(ValueError, match="Received: \\['loss'\\]"):
        plots.training_curves({"loss": [1.0]})


def test_what_was_not_defined_after_some_epochs_is_left_out():
    history = HISTORY | {"val_raulc": [0.1, 0.2]}
    assert labels(plots.training_curves(history)) == ["svhn roc auc"]
    with pytest.raises(ValueError, match="not defined after some of them"):
        plots.training_curves(history, metrics="raulc")
    with pytest.raises(ValueError, match="frequency=0"):
        plots.training_curves(HISTORY, frequency=0)


def continued(initial_epoch, epochs, frequency):
    """A `History` of a training that goes on, as Keras writes it."""
    history = keras.callbacks.History()
    history.on_train_begin()
    for epoch in range(initial_epoch, epochs):
        logs = {"loss": 1.0}
        if (epoch + 1) % frequency == 0:
            logs["val_raulc"] = epoch + 1.0
        history.set_model(keras.Sequential())
        history.on_epoch_end(epoch, logs)
    return history


@pytest.mark.parametrize("frequency", [1, 3])
def test_a_training_that_went_on(frequency):
    history = continued(10, 20, frequency)
    ax = plots.training_curves(history, frequency=frequency)
    epochs = [e for e in range(11, 21) if e % frequency == 0]
    np.testing.assert_array_equal(line(ax, "raulc"), [epochs, epochs])
    # Its dictionary does not know when it began.
    plain = plots.training_curves(history.history, metrics="loss")
    assert line(plain, "loss")[0][0] == 1
