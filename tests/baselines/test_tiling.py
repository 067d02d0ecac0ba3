"""Where the batch is tiled, for all methods that answer several times."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_zigzag.baselines import BatchEnsemble, Masksembles, MCDropout
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
METHODS = {
    "mc_dropout": lambda base, task, **kw: MCDropout.from_model(
        base, task, 3, seed=0, **kw
    ),
    "masksembles": lambda base, task, **kw: Masksembles.from_model(
        base, task, 3, seed=0, **kw
    ),
    "batch_ensemble": lambda base, task, **kw: BatchEnsemble.from_model(
        base, task, 3, seed=0, **kw
    ),
}
every = pytest.mark.parametrize("make", METHODS.values(), ids=METHODS.keys())


def copies(network):
    """For each of its layers, how often it answers for a sample."""
    inputs = np.zeros((5, *network.input_shape[1:]), "float32")
    found = [layer for layer in network.layers if layer.name != "tiled"]
    watched = keras.Model(network.input, [one.output for one in found])
    rows = [len(one) for one in watched(inputs, training=False)]
    return {
        layer.name: size // 5 for layer, size in zip(found, rows, strict=True)
    }


@every
def test_what_comes_before_is_computed_once(make):
    inputs = keras.Input((12,), name="x")
    first = layers.Dense(12, activation="relu", name="first")(inputs)
    other = layers.Dense(12, name="other")(inputs)
    last = layers.Dense(12, name="last")(first)
    joined = layers.Add(name="joined")([other, last])
    model = make(keras.Model(inputs, joined), "regression", layers=1)
    found = copies(model.network)
    assert [found[one] for one in ("x", "first", "other")] == [1, 1, 1]
    assert [found[one] for one in ("last", "joined")] == [3, 3]


def shared_inner_model():
    """An inner model that is called before the tiling and after it."""
    inner_input = keras.Input((12,))
    x = layers.Dense(12, activation="tanh", name="inside")(inner_input)
    inner = keras.Model(inner_input, x, name="inner")
    inputs = keras.Input((12,))
    outputs = layers.Dense(1)(inner(inner(inputs)))
    return keras.Model(inputs, outputs)


def untouched_output():
    """Outputs that are an input, and one that no sampled layer reaches."""
    inputs = keras.Input((12,))
    outputs = [
        layers.Activation("tanh")(inputs),
        inputs,
        layers.Dense(1)(inputs),
    ]
    return keras.Model(inputs, outputs)


def masked_steps():
    """Steps that are masked, and positions without a batch axis."""
    inputs = keras.Input((6, 2))
    x = layers.Masking()(inputs)
    x = layers.Dense(12)(x)
    positions = ops.cumsum(ops.ones_like(x[0]), axis=0)
    x = layers.LSTM(12)(layers.Dense(12)(x + positions))
    return keras.Model(inputs, layers.Dense(1)(x))


def fixed_batch():
    inputs = keras.Input(batch_shape=(8, 12))
    x = layers.Dense(12, activation="relu")(inputs)
    return keras.Model(inputs, layers.Add()([layers.Dense(12)(x), inputs]))


# One method stays quick for each kind of graph.
@pytest.mark.parametrize(
    "make",
    [
        METHODS["batch_ensemble"],
        pytest.param(METHODS["masksembles"], marks=pytest.mark.slow),
        pytest.param(METHODS["mc_dropout"], marks=pytest.mark.slow),
    ],
    ids=["batch_ensemble", "masksembles", "mc_dropout"],
)
@pytest.mark.parametrize(
    "build", [shared_inner_model, untouched_output, masked_steps, fixed_batch]
)
def test_graphs_of_all_kinds(make, build, tmp_path):
    keras.utils.set_random_seed(1)
    base = build()
    count = 1 if build is untouched_output else 2
    model = toys.randomise(make(base, "regression", layers=count))
    shape = base.input_shape[1:]
    x = np.random.default_rng(0).normal(size=(8, *shape)).astype("float32")
    x[:, 4:] *= len(shape) == 1
    model.compile("sgd", "mse")
    targets = base.predict(x, verbose=0, batch_size=8)
    model.fit(x, targets, batch_size=8, verbose=0)
    out = model.predict(x, batch_size=8, verbose=0)
    for value in keras.tree.flatten(out):
        assert np.isfinite(value).all()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    again = loaded.predict(x, batch_size=8, verbose=0)
    keras.tree.map_structure(
        lambda one, two: np.testing.assert_allclose(one, two, rtol=1e-5),
        again,
        out,
    )
    if build is not fixed_batch:
        some = model.predict(x[:3], verbose=0)["uncertainty"]
        keras.tree.map_structure(
            lambda one, two: np.testing.assert_allclose(
                one, two[:3], rtol=1e-3, atol=1e-5
            ),
            some,
            out["uncertainty"],
        )


def test_an_output_without_samples_has_no_spread():
    model = METHODS["mc_dropout"](untouched_output(), "regression", layers=1)
    x = np.random.default_rng(0).normal(size=(8, 12)).astype("float32")
    out = model.predict(x, verbose=0)
    spread = out["uncertainty"]
    assert max(spread[0].max(), spread[1].max()) < 1e-6 < spread[2].min()
    np.testing.assert_allclose(out["prediction"][1], x, rtol=1e-6)


def branches(first_rate, second_rate=0.0):
    """Two outputs, each of which has dropout of its own."""
    inputs = keras.Input((12,))
    x = layers.Dense(16, activation="relu")(inputs)
    outputs = {
        name: layers.Dense(1, name=name)(layers.Dropout(rate)(x))
        for name, rate in (("one", first_rate), ("other", second_rate))
    }
    return keras.Model(inputs, outputs)


placing = pytest.mark.parametrize("name", ["mc_dropout", "masksembles"])


@placing
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.4, 0.4)])
def test_all_outputs_are_reached(name, rates):
    model = METHODS[name](branches(*rates), "regression")
    x = np.random.default_rng(0).normal(size=(8, 12)).astype("float32")
    out = model.predict(x, verbose=0)["uncertainty"]
    assert out["one"].min() > 0 and out["other"].min() > 0


@placing
def test_outputs_that_nothing_random_leads_to(name):
    make = METHODS[name]
    with pytest.raises(ValueError, match=r"\['other'\].*Give `layers=`"):
        make(branches(0.4), "regression")
    make(branches(0.4), "regression", layers=1)
    # No number of layers would do for two of these.
    with pytest.raises(ValueError, match="layers=None, and the outputs"):
        make(untouched_output(), "regression")


@placing
def test_dropout_that_is_called_several_times(name, tmp_path):
    inputs = keras.Input((4,))
    drop, x = layers.Dropout(0.5, name="drop"), inputs
    for units in (16, 24, 24):
        x = drop(layers.Dense(units, activation="relu")(x))
    base = keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
    model = METHODS[name](base, "classification")
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(toys.features(), toys.labels(), verbose=0)
    # Each place has masks of its own.
    placed = [one for one in model.network.layers if "drop" in one.name]
    assert placed[0].name == "drop"
    assert len({one.seed for one in placed}) == 3
    out = model.predict(toys.features(), verbose=0)
    toys.check_prediction(out, toys.features(), base)
    toys.check_loaded(model, toys.features(), toys.labels(), tmp_path)


@every
def test_masks_reach_all_samples(make):
    keras.utils.set_random_seed(1)
    base = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.Embedding(10, 12, mask_zero=True),
            layers.Dense(12, activation="relu"),
            layers.Dropout(0.3),
            layers.LSTM(12),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model = make(base, "classification")
    short = np.random.default_rng(0).integers(1, 10, (4, 3)).astype("int32")
    padded = np.pad(short, ((0, 0), (0, 2)))
    expected, found = (model.predict(one, verbose=0) for one in (short, padded))
    for name in ("prediction", "uncertainty"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-4)
    assert np.ptp(found["uncertainty"]) > 0


@every
def test_masks_stay_in_training(make):
    model = make(toys.tagger(), "classification")
    tokens = toys.tokens()
    outputs = model.network(tokens, training=True)
    tiled = 3 if make is METHODS["batch_ensemble"] else 1
    mask = ops.convert_to_numpy(keras.src.backend.get_keras_mask(outputs))
    np.testing.assert_array_equal(mask, np.tile(tokens > 0, (tiled, 1)))
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(tokens, np.zeros((4, 5), "int32"), verbose=0)
