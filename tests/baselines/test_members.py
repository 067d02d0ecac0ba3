"""How the members of an ensemble are compiled and given their data."""

import keras
import numpy as np
import pytest

from keras_zigzag.baselines import DeepEnsemble
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"


def eager():
    """TensorFlow takes seconds for a graph."""
    return {"run_eagerly": keras.backend.backend() == "tensorflow"}


def ready(**options):
    ensemble = DeepEnsemble.from_model(toys.mlp(), "classification", 2, seed=0)
    ensemble.compile("sgd", CROSSENTROPY, **options, **eager())
    return ensemble


def test_metrics_that_are_objects_count_once():
    x, y = toys.features(), toys.labels()
    accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    ensemble = ready(metrics=[accuracy])
    assert len(ensemble.evaluate(x, y, verbose=0)) == 2
    logs = ensemble.fit_one_by_one(x, y, verbose=0)
    assert set(logs[0].history) == {"loss", "accuracy"}
    other = keras.metrics.SparseCategoricalCrossentropy(name="entropy")
    ensemble.compile("sgd", CROSSENTROPY, metrics=[other], **eager())
    found = ensemble.evaluate(x, y, verbose=0, return_dict=True)
    assert set(found) == {"loss", "entropy"}
    # Those of the loss and of one metric, a sum and a number each.
    assert len(ensemble.metrics_variables) == 4


@pytest.mark.parametrize("way", ["fit", "fit_one_by_one"])
def test_weights_of_classes_are_for_training_alone(way):
    x, y = toys.features(), toys.labels()
    classes = {0: 10.0, 1: 20.0, 2: 30.0}
    found = []
    for options in (
        {"validation_split": 0.25, "class_weight": classes},
        {
            "validation_data": (x[18:], y[18:]),
            "sample_weight": 10.0 * y[:18] + 10.0,
        },
    ):
        ensemble = ready()
        size = 24 if "class_weight" in options else 18
        logs = getattr(ensemble, way)(x[:size], y[:size], verbose=0, **options)
        logs = logs if isinstance(logs, list) else [logs]
        found.append(
            [one.history["val_loss"] + one.history["loss"] for one in logs]
        )
    np.testing.assert_allclose(*found, rtol=1e-5)


def orders(calls):
    """The samples as the first member sees them, over calls of a method."""
    ensemble, seen = ready(), []
    member = ensemble.members[0]
    call = member.call

    def watched(inputs, training=None, **kwargs):
        if training:
            seen.append(keras.ops.convert_to_numpy(inputs)[:, 0])
        return call(inputs, training=training, **kwargs)

    member.call = watched
    x, y = toys.features(), toys.labels()
    for way, options in calls:
        getattr(ensemble, way)(x, y, batch_size=24, verbose=0, **options)
    return seen


@pytest.mark.backend("tensorflow")
def test_each_call_of_fit_has_new_orders():
    twice = [("fit", {}), ("fit_one_by_one", {}), ("fit", {})]
    seen = orders(twice)
    assert len(seen) == 3
    expected = orders([("fit", {"epochs": 3})])
    np.testing.assert_array_equal(seen, expected)
    assert not np.array_equal(seen[0], seen[1])
    later = orders([("fit", {"initial_epoch": 1, "epochs": 3})])
    np.testing.assert_array_equal(later, expected[1:])


class Stop(keras.callbacks.Callback):
    """Ends a run the hard way, in the middle of an epoch."""

    def on_train_batch_end(self, batch, logs=None):
        raise KeyboardInterrupt


def test_an_epoch_that_stopped_begins_again():
    x, y = toys.features(), toys.labels()
    ensemble = ready()
    with pytest.raises(KeyboardInterrupt):
        ensemble.fit(x, y, callbacks=[Stop()], verbose=0)
    assert ensemble.num_epochs == 0
    ensemble.fit(x, y, epochs=2, verbose=0)
    assert ensemble.num_epochs == 2


@pytest.mark.parametrize("way", ["fit", "fit_one_by_one"])
def test_no_step_along_inputs_that_do_not_matter(way):
    used, unused = keras.Input((4,)), keras.Input((2,))
    outputs = [layers.Dense(1)(used), layers.Rescaling(2.0)(unused)]
    base = keras.Model([used, unused], outputs)
    ensemble = DeepEnsemble.from_model(
        base, "regression", 2, variance=False, adversarial=0.1
    )
    ensemble.compile("sgd", ["mse", None], **eager())
    x, y = [toys.features(), toys.features()[:, :2]], toys.values()
    getattr(ensemble, way)(x, [y, x[1]], verbose=0)
    batch, *_ = ensemble.training_batch(x, [y, x[1]])
    moved = [keras.ops.convert_to_numpy(one) for one in batch.inputs.members[0]]
    np.testing.assert_array_equal(moved[1][24:], x[1])
    assert not np.allclose(moved[0][24:], x[0])


@pytest.mark.backend("tensorflow")
def test_regularisers_on_several_replicas():
    """Keras divides them by the number of replicas."""
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    x, y = toys.features(), toys.values()
    with strategy.scope():
        dense = layers.Dense(1, kernel_regularizer=keras.regularizers.L2(1.0))
        base = keras.Sequential([keras.Input((4,)), dense])
        model = DeepEnsemble.from_models([base] * 3, "regression")
        model.compile("sgd", "mse")
    error = np.mean((base.predict(x, verbose=0) - y) ** 2)
    penalty = np.sum(keras.ops.convert_to_numpy(dense.kernel) ** 2)
    found = model.evaluate(x, y, verbose=0)
    assert found == pytest.approx(error + penalty, rel=1e-4)
