"""`UncertaintyEvaluation` in `fit`, beside the callbacks of Keras."""

import csv

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from tests.baselines import toys
from tests.evaluation.models import compiled_classifier, ordinary, sets
from tests.zigzag.toys import assert_same_weights, linear, value_data

pytestmark = pytest.mark.first_quick_on("jax", "torch")

ORDERS = pytest.mark.parametrize("is_first", [True, False])


def fit(*callbacks, model=None, epochs=3, **kwargs):
    x, y, _ = sets()
    model = model or compiled_classifier()
    kwargs = {"verbose": 0, "shuffle": False, **kwargs}
    return model.fit(
        x, y, epochs=epochs, callbacks=list(callbacks), **kwargs
    ).history


def evaluation(**kwargs):
    x, y, ood = sets()
    return kz.callbacks.UncertaintyEvaluation((x, y), {"far": ood}, **kwargs)


def in_order(is_first, other):
    ours = evaluation()
    return [ours, other] if is_first else [other, ours]


def test_the_logs_are_the_report_of_the_saved_model(tmp_path):
    model = compiled_classifier(metrics=["accuracy"])
    callback = evaluation()
    history = fit(callback, model=model)
    model.save(tmp_path / "model.keras")
    x, y, ood = sets()
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    report = kz.evaluate_uncertainty(loaded, (x, y), {"far": ood})
    assert dict(callback.report) == pytest.approx(dict(report), abs=1e-6)
    for name, value in report.items():
        assert len(history[f"val_{name}"]) == 3
        assert history[f"val_{name}"][-1] == pytest.approx(value, abs=1e-6)


class TestOtherCallbacks:
    @ORDERS
    def test_early_stopping(self, is_first):
        stop = keras.callbacks.EarlyStopping(
            "val_far_prevalence", mode="max", patience=1
        )
        history = fit(*in_order(is_first, stop))
        # It never changes, so the second epoch is no better than the first.
        assert len(history["val_far_prevalence"]) == 2

    @ORDERS
    def test_model_checkpoint(self, is_first, tmp_path):
        path = str(tmp_path / "{epoch}-{val_aurc:.4f}.weights.h5")
        save = keras.callbacks.ModelCheckpoint(
            path, "val_aurc", mode="min", save_weights_only=True
        )
        history = fit(*in_order(is_first, save))
        assert sorted(file.name for file in tmp_path.iterdir()) == [
            f"{epoch + 1}-{value:.4f}.weights.h5"
            for epoch, value in enumerate(history["val_aurc"])
        ]

    @ORDERS
    def test_csv_logger(self, is_first, tmp_path):
        log = keras.callbacks.CSVLogger(tmp_path / "log.csv")
        history = fit(*in_order(is_first, log))
        with open(tmp_path / "log.csv") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["val_raulc"]) for row in rows] == pytest.approx(
            history["val_raulc"]
        )

    @ORDERS
    @pytest.mark.backend("tensorflow")
    def test_tensorboard(self, is_first, tmp_path):
        pytest.importorskip("tensorboard")
        tensorboard = keras.callbacks.TensorBoard(tmp_path)
        fit(*in_order(is_first, tensorboard), epochs=1)
        written = b"".join(
            path.read_bytes() for path in tmp_path.rglob("events*")
        )
        # As `val_loss` would be: without the prefix, in a run of its own.
        assert b"far_roc_auc" in written

    def test_the_progress_bar(self, capsys):
        fit(evaluation(), epochs=1, verbose=2)
        assert "val_far_fpr95: " in capsys.readouterr().out

    def test_none_is_skipped_or_called_twice(self):
        class Count(keras.callbacks.Callback):
            begun = ended = 0

            def on_train_begin(self, logs=None):
                self.begun += 1

            def on_epoch_end(self, epoch, logs=None):
                self.ended += 1

        before, after = Count(), Count()
        fit(before, evaluation(), after, evaluation(score="entropy"), epochs=2)
        for other in (before, after):
            assert (other.begun, other.ended) == (1, 2)

    def test_a_list_of_ones_own(self):
        callbacks = keras.callbacks.CallbackList(
            in_order(False, keras.callbacks.Callback()),
            model=compiled_classifier(),
        )
        callbacks.on_train_begin()
        assert isinstance(
            callbacks.callbacks[0], kz.callbacks.UncertaintyEvaluation
        )

    def test_a_loop_of_ones_own(self):
        callback = evaluation()
        callback.set_model(compiled_classifier())
        callback.on_train_begin()
        logs = {"loss": 1.0}
        callback.on_epoch_end(0, logs)
        assert logs["loss"] == 1.0 and "val_raulc" in logs


class TestFrequency:
    def test_epochs_that_are_evaluated(self, monkeypatch):
        callback, seen = evaluation(frequency=3), []
        run = callback._evaluation.run
        monkeypatch.setattr(
            callback._evaluation,
            "run",
            lambda *args: seen.append(len(seen)) or run(*args),
        )
        aurc = fit(callback, epochs=8)["val_aurc"]
        # The first, third, sixth and the last.
        assert len(seen) == 4 and len(aurc) == 8
        assert aurc[0] == aurc[1] and aurc[2:5] == [aurc[2]] * 3
        assert len(set(aurc)) > 1

    def test_a_second_fit_starts_anew(self):
        callback, model = evaluation(frequency=5), compiled_classifier()
        first = fit(callback, model=model, epochs=1)["val_aurc"]
        model.set_weights([0.5 * weight for weight in model.get_weights()])
        assert fit(callback, model=model, epochs=1)["val_aurc"] != first


def test_chosen_metrics():
    history = fit(evaluation(metrics=["raulc", "far_roc_auc"]), epochs=1)
    assert history.keys() == {"loss", "val_raulc", "val_far_roc_auc"}
    # Whether an error is only warned of or not, this one is no accident.
    for unknown in ("far_auc", "val_raulc", "near_roc_auc"):
        with pytest.raises(ValueError, match=f"no metrics .'{unknown}'"):
            evaluation(metrics=["raulc", unknown])
    model = compiled_classifier()
    with pytest.raises(ValueError, match=r"no metrics \['mae'\]"):
        fit(evaluation(metrics=["mae"]), model=model)
    assert int(model.optimizer.iterations) == 0  # Not after an epoch.


class TestErrors:
    def failing(self, **kwargs):
        calls = []

        def score(outputs):
            calls.append(outputs)
            if len(calls) <= 3:
                raise RuntimeError("no memory")
            return outputs["uncertainty"]

        return evaluation(score=score, **kwargs)

    def test_training_goes_on(self):
        with pytest.warns(UserWarning, match="RuntimeError: no memory"):
            history = fit(self.failing(), epochs=4)
        assert len(history["loss"]) == 4
        assert len(history["val_aurc"]) == 1

    def test_or_not(self):
        with pytest.raises(RuntimeError, match="no memory"):
            fit(self.failing(on_error="raise"))

    def without_mistakes(self, **kwargs):
        x, _, _ = sets()
        model = compiled_classifier()
        y = model.predict(x, verbose=0)["prediction"].argmax(-1)
        return kz.callbacks.UncertaintyEvaluation((x, y), **kwargs)

    def test_what_is_not_defined_is_missing(self):
        callback = self.without_mistakes()
        model = compiled_classifier()
        model.optimizer.learning_rate = 0.0
        with pytest.warns(UserWarning, match="Not in .*val_raulc: .*mistake"):
            history = fit(callback, model=model)
        assert history["val_accuracy"] == [1.0] * 3
        assert "val_raulc" not in history
        assert "raulc" in callback.report.missing

    def test_or_raised(self):
        model = compiled_classifier()
        model.optimizer.learning_rate = 0.0
        with pytest.raises(ValueError, match="val_raulc: rAULC has no"):
            fit(self.without_mistakes(on_error="raise"), model=model)


class TestTraining:
    def test_it_is_not_changed(self):
        alone, watched = compiled_classifier(), compiled_classifier()
        fit(model=alone)
        fit(evaluation(), model=watched)
        assert_same_weights(alone, watched, rtol=1e-6)

    def test_logs_of_keras_stay(self):
        x, y, _ = sets()
        history = fit(
            evaluation(),
            model=compiled_classifier(metrics=["accuracy"]),
            validation_data=(x[:3], np.zeros(3, dtype="int32")),
        )
        assert len(history["val_loss"]) == len(history["val_raulc"]) == 3
        # Thirds, which those of 64 samples are not.
        thirds = 3 * np.array(history["val_accuracy"])
        np.testing.assert_allclose(thirds, np.round(thirds), atol=1e-5)

    def test_an_ordinary_model(self):
        assert "val_raulc" in fit(evaluation(), model=ordinary())

    def test_regression(self):
        x, y = value_data(20)
        model = linear()
        model.compile("adam", "mse")
        callback = kz.callbacks.UncertaintyEvaluation((x, y))
        history = model.fit(x, y, callbacks=[callback], verbose=0).history
        assert "val_pearson" in history and "val_mae" in history

    def test_a_generator(self):
        x, y, _ = sets()
        batches = ((x[i : i + 32], y[i : i + 32]) for i in (0, 32))
        callback = kz.callbacks.UncertaintyEvaluation(batches)
        assert len(fit(callback)["val_aurc"]) == 3

    @pytest.mark.first_quick_on("tensorflow", "jax", "torch")
    @pytest.mark.parametrize(
        "kwargs",
        [
            {"jit_compile": True},
            pytest.param(
                {"run_eagerly": True},
                marks=pytest.mark.backend("tensorflow", "torch"),
            ),
            pytest.param(
                {"steps_per_execution": 2},
                marks=pytest.mark.backend("tensorflow", "jax"),
            ),
        ],
        ids=["jit", "eager", "steps"],
    )
    def test_execution(self, kwargs):
        if kwargs.get("jit_compile") and keras.backend.backend() == "torch":
            pytest.skip("Keras compiles with Inductor, which needs a compiler")
        callback = evaluation()
        fit(callback, model=compiled_classifier(**kwargs), epochs=1)
        plain = evaluation()
        fit(plain, epochs=1)
        assert dict(callback.report) == pytest.approx(
            dict(plain.report), abs=1e-3
        )

    def test_mixed_precision(self):
        keras.config.set_dtype_policy("mixed_bfloat16")
        try:
            history = fit(evaluation(on_error="raise"))
        finally:
            keras.config.set_dtype_policy("float32")
        assert len(history["val_nll"]) == 3

    @pytest.mark.slow
    @pytest.mark.backend("tensorflow")
    def test_two_replicas(self, two_replicas):
        with two_replicas.scope():
            model = compiled_classifier()
        callback = evaluation(on_error="raise", batch_size=64)
        fit(callback, model=model, epochs=1, batch_size=64)
        plain = evaluation()
        fit(plain, epochs=1, batch_size=64)
        assert dict(callback.report) == pytest.approx(
            dict(plain.report), abs=1e-3
        )


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"frequency": 0}, "`frequency` must be a positive"),
        ({"frequency": 1.5}, "`frequency` must be a positive"),
        ({"on_error": "ignore"}, "`on_error` must be one of"),
        ({"batch_size": "a"}, "`batch_size` must be"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        evaluation(**kwargs)


def test_bad_data_before_training():
    with pytest.raises(ValueError, match=r"\[4, 3\] samples"):
        kz.callbacks.UncertaintyEvaluation((np.ones((4, 2)), np.ones(3)))


def test_labels_that_are_none_before_training():
    x, y, _ = sets()
    callback = kz.callbacks.UncertaintyEvaluation((x, y + 7))
    with pytest.raises(ValueError, match="In `id_data`: Labels must lie in"):
        fit(callback)


def test_a_callback_for_each_output():
    base = toys.two_outputs()
    model = kz.baselines.SingleModel.from_model(
        base, {"kind": "classification", "size": "regression"}
    )
    model.compile("adam", {"kind": "sparse_categorical_crossentropy"})
    x, y = toys.features(), {"kind": toys.labels(), "size": toys.values()}
    callbacks = [
        kz.callbacks.UncertaintyEvaluation((x, y), output=name, metrics=metric)
        for name, metric in (("kind", "aurc"), ("size", "aurc"))
    ]
    logs = model.fit(x, y, verbose=0, callbacks=callbacks).history
    for name, callback in zip(("kind", "size"), callbacks, strict=True):
        expected = callback.report["aurc"]
        assert logs[f"val_{name}_aurc"] == [pytest.approx(expected)]
    assert "val_aurc" not in logs
