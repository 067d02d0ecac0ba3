"""A call of a model in a model casts, orders and masks its inputs."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from tests.zigzag.toys import randomise

layers = keras.layers
pytestmark = [
    pytest.mark.first_quick_on("jax", "torch"),
    # A `Sequential` says so of its outputs, behind the layers that read it.
    pytest.mark.filterwarnings("ignore:.*input with a mask attached"),
]


def bytes_into_floats():
    """Bytes that an inner model takes for floats, with arithmetic in it."""
    image = keras.Input((6, 6, 1))
    x = image * 2 - 255  # What bytes have no room for.
    x = layers.Conv2D(3, 3, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    body = keras.Model(image, layers.Dense(3, "softmax")(x), name="body")
    inputs = keras.Input((6, 6, 1), dtype="uint8")
    x = np.random.default_rng(0).integers(0, 256, (5, 6, 6, 1), "uint8")
    return keras.Model(inputs, body(inputs)), x


def a_mask_in_the_call():
    body = keras.Sequential(
        [
            keras.Input((6, 4)),
            layers.LSTM(8),
            layers.Dense(8, activation="relu"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    steps, there = keras.Input((6, 4)), keras.Input((6,), dtype="bool")
    x = np.random.default_rng(0).normal(size=(5, 6, 4)).astype("float32")
    mask = np.arange(6) < np.array([[6], [3], [2], [4], [5]])
    return keras.Model([steps, there], body(steps, mask=there)), [x, mask]


def inputs_by_name(begins_dependent=False):
    """An inner model of a list of inputs that is called with a dictionary."""
    first, second = (keras.Input((4,), name=name) for name in "ba")
    x = layers.Dense(8, activation="relu")(first)
    x = layers.Concatenate()([x, second])
    fuse = keras.Model([first, second], layers.Dense(3, "softmax")(x))
    one, two = keras.Input((4,)), keras.Input((4,))
    given = layers.Dense(4)(one) if begins_dependent else one
    base = keras.Model([one, two], fuse({"b": given, "a": two}))
    x = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    return base, list(x)


def inputs_by_name_behind_a_layer():
    return inputs_by_name(begins_dependent=True)


def another_rank():
    """A column into a model of single numbers, and the other way round."""
    number = keras.Input(())
    body = keras.Model(number, layers.Reshape((1,))(number * 2))
    inputs = keras.Input((1,))
    x = layers.Dense(4, activation="relu")(body(inputs))
    end = keras.Sequential([keras.Input((4,)), layers.Dense(3, "softmax")])
    x = end(layers.Dense(4)(x))
    return keras.Model(inputs, x), np.linspace(-1, 1, 5)[:, None]


CASES = pytest.mark.parametrize(
    "case",
    [
        bytes_into_floats,
        a_mask_in_the_call,
        inputs_by_name,
        inputs_by_name_behind_a_layer,
        another_rank,
    ],
)


def answers(base, x):
    return base.predict(x, verbose=0)


@CASES
@pytest.mark.parametrize("prior_at", ["first", "heads"])
def test_the_first_head_is_the_base_model(case, prior_at):
    base, x = case()
    model = kz.ZigZagModel.from_model(
        base, "classification", num_heads=3, prior_at=prior_at
    )
    tensors = keras.tree.map_structure(ops.convert_to_tensor, x)
    heads = model.network([tensors, model.prior.encode_blank(5)])
    first = ops.convert_to_numpy(heads)[:, 0]
    np.testing.assert_allclose(first, answers(base, x), atol=1e-6)


@CASES
def test_one_head_is_the_base_model(case):
    base, x = case()
    model = kz.ZigZagModel.from_model(base, "classification")
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(out["prediction"], answers(base, x), atol=1e-6)


@CASES
@pytest.mark.parametrize("method", ["SingleModel", "SNGP", "DeepEnsemble"])
def test_other_methods(case, method):
    base, x = case()
    kind = getattr(kz.baselines, method)
    options = {"num_members": 2} if method == "DeepEnsemble" else {}
    model = kind.from_model(base, "classification", **options)
    out = model.predict(x, verbose=0)
    if method == "SingleModel":
        expected = answers(base, x)
        np.testing.assert_allclose(out["prediction"], expected, atol=1e-6)
    assert np.isfinite(out["uncertainty"]).all()


def test_a_mask_reaches_the_steps():
    base, (x, mask) = a_mask_in_the_call()
    model = kz.ZigZagModel.from_model(base, "classification", num_heads=3)
    out = model.predict([x, mask], verbose=0)
    changed = np.where(mask[..., None], x, 7.0)
    again = model.predict([changed, mask], verbose=0)
    for name in out:
        np.testing.assert_allclose(again[name], out[name], atol=1e-6)


def test_noise_through_an_inner_model():
    body = keras.Sequential(
        [keras.Input((4,)), layers.Dense(5, activation="relu")]
    )
    inputs = keras.Input((4,), dtype="int32")
    x = layers.Dropout(0.5)(body(inputs))
    base = keras.Model(inputs, layers.Dense(2)(x))
    model = kz.baselines.VariancePropagation.from_model(base, "regression")
    x = np.random.default_rng(0).integers(0, 5, (6, 4))
    out = model.predict(x, verbose=0)
    np.testing.assert_allclose(out["prediction"], answers(base, x), atol=1e-6)
    assert (out["uncertainty"] > 0).any()


def test_it_is_saved(tmp_path):
    base, x = bytes_into_floats()
    model = kz.ZigZagModel.from_model(base, "classification", num_heads=3)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    out = model.predict(x, verbose=0)
    for name, values in loaded.predict(x, verbose=0).items():
        np.testing.assert_allclose(values, out[name], atol=1e-6)


def test_a_layer_in_two_layers_is_told_of():
    shared = layers.Dense(8)
    steps, vector = keras.Input((5, 4)), keras.Input((4,))
    x = layers.TimeDistributed(shared, name="by_step")(steps)
    x = layers.Add()([layers.GlobalAveragePooling1D()(x), shared(vector)])
    base = keras.Model([steps, vector], layers.Dense(2)(x))
    match = rf"'{shared.name}' is part of both .* learn apart"
    with pytest.warns(UserWarning, match=match):
        kz.ZigZagModel.from_model(base, "regression")
    with pytest.warns(UserWarning, match=match):
        kz.baselines.SingleModel.from_model(base, "regression")


def test_an_activation_in_two_layers_is_nothing_to_tell_of(recwarn):
    activation = layers.ReLU()
    base = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(5, activation=activation),
            layers.Dense(5, activation=activation),
            layers.Dense(1),
        ]
    )
    kz.ZigZagModel.from_model(base, "regression")
    assert not [one for one in recwarn if "is part of both" in str(one)]


def test_a_list_is_no_name_of_a_layer():
    base = keras.Sequential([keras.Input((4,)), layers.Dense(2, name="one")])
    with pytest.raises(ValueError, match="Several names go into `prior_at`"):
        kz.ZigZagModel.from_model(base, "regression", layer=["one"])
    prior = kz.priors.ValuePrior(2)
    with pytest.raises(ValueError, match="`layer` must be the name"):
        kz.widen_model(base, prior, layer=["one"])


def of_any_size():
    return keras.Sequential(
        [
            keras.Input((None, None, 3)),
            layers.Conv2D(4, 3),
            layers.GlobalAveragePooling2D(),
        ]
    )


def open_images():
    """An inner model of any size, called on images of one size."""
    inputs = keras.Input((8, 8, 3))
    x = of_any_size()(layers.Rescaling(2.0)(inputs))
    base = keras.Model(inputs, layers.Dense(3, "softmax")(x))
    return base, np.random.default_rng(0).normal(size=(5, 8, 8, 3))


def open_images_at_once():
    base = keras.Sequential(
        [keras.Input((8, 8, 3)), of_any_size(), layers.Dense(3, "softmax")]
    )
    return base, np.random.default_rng(0).normal(size=(5, 8, 8, 3))


def open_steps():
    body = keras.Sequential([keras.Input((None, 4)), layers.LSTM(5)])
    inputs = keras.Input((6,), dtype="int32")
    x = body(layers.Embedding(9, 4)(inputs))
    base = keras.Model(inputs, layers.Dense(3, "softmax")(x))
    return base, np.random.default_rng(0).integers(0, 9, (5, 6))


@pytest.mark.parametrize("case", [open_images, open_images_at_once, open_steps])
@pytest.mark.parametrize("num_heads", [1, 2])
def test_an_inner_model_of_open_sizes(case, num_heads):
    base, x = case()
    model = kz.ZigZagModel.from_model(
        base, "classification", num_heads=num_heads
    )
    randomise(model)
    out = model.predict(x, verbose=0, batch_size=2)
    assert np.isfinite(out["uncertainty"]).all()
    assert (out["uncertainty"] > 0).all()
    if num_heads == 1:
        y = model.network(
            [ops.convert_to_tensor(x), model.prior.encode_blank(5)]
        )
        np.testing.assert_allclose(
            out["prediction"], ops.convert_to_numpy(y), rtol=1e-4, atol=1e-6
        )


def test_a_map_that_flat_features_answer():
    """The prior of a map goes to a layer without places, in any batch."""
    inputs = keras.Input((4, 4, 1))
    x = layers.Dense(6, activation="relu")(layers.Flatten()(inputs))
    base = keras.Model(inputs, layers.Reshape((4, 4, 1))(layers.Dense(16)(x)))
    model = kz.ZigZagModel.from_model(base, "regression")
    x = np.random.default_rng(0).normal(size=(11, 4, 4, 1)).astype("float32")
    model.adapt(x)
    model.compile("adam", "mse")
    model.fit(x, x, batch_size=4, verbose=0)
    out = model.predict(x, batch_size=4, verbose=0)
    whole = model.predict_on_batch(x)
    for name, values in whole.items():
        np.testing.assert_allclose(out[name], values, rtol=1e-4, atol=1e-6)
    assert (out["uncertainty"] > 0).all()
