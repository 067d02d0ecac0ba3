import keras
import numpy as np
import pytest

from keras_zigzag.baselines import BatchEnsemble
from keras_zigzag.baselines.fast_weights import FastWeights
from tests.baselines import toys
from tests.helpers import assert_config_round_trip

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"


def fast_layers(network):
    """Layers with fast weights, also in inner models, by their names."""
    return {
        layer.name: layer
        for layer in network._flatten_layers()
        if isinstance(layer, FastWeights)
    }


def numpy(weight):
    return keras.ops.convert_to_numpy(weight)


def explicit_members(base, model):
    """Networks whose kernels are `W ∘ r sᵀ`, written out."""
    fast = fast_layers(model.network)
    kernels = {name: numpy(one.layer.kernel) for name, one in fast.items()}
    members = []
    for index in range(model.num_members):
        member = keras.models.clone_model(base)
        member.set_weights(base.get_weights())
        for layer in member._flatten_layers():
            if layer.name not in fast:
                continue
            one = fast[layer.name]
            r = numpy(one.input_weights)[index]
            s = numpy(one.output_weights)[index]
            # A group sees its own part of the inputs.
            kernel = kernels[layer.name]
            if isinstance(layer, layers.Conv2DTranspose):
                layer.kernel.assign(kernel * s[:, None] * r)
            elif isinstance(layer, layers.DepthwiseConv2D):
                outputs = s.reshape(kernel.shape[2:])
                layer.kernel.assign(kernel * r[:, None] * outputs)
            else:
                groups = getattr(layer, "groups", 1)
                inputs = np.repeat(r.reshape(groups, -1), len(s) // groups, 0).T
                layer.kernel.assign(kernel * inputs * s)
            if layer.use_bias:
                layer.bias.assign(numpy(one.bias)[index])
        members.append(member)
    return members


def convolutions(channels_first=False):
    """All kinds of kernels, one after the other, in a nested backbone."""
    options = {"data_format": "channels_first"} if channels_first else {}
    shape = (4, 6, 6) if channels_first else (6, 6, 4)
    backbone = keras.Sequential(
        [
            keras.Input(shape),
            layers.Conv2D(8, 3, padding="same", groups=1, **options),
            layers.BatchNormalization(axis=1 if channels_first else -1),
            layers.Conv2D(
                8, 3, strides=2, activation="relu", use_bias=False, **options
            ),
            layers.Conv2DTranspose(6, 2, **options),
            layers.DepthwiseConv2D(2, depth_multiplier=2, **options),
            layers.Flatten(),
        ],
        name="backbone",
    )
    inputs = keras.Input(shape)
    outputs = layers.Dense(3, "softmax", name="last")(backbone(inputs))
    return keras.Model(inputs, outputs)


def grouped():
    inputs = keras.Input((6, 4))
    x = layers.Conv1D(6, 3, groups=2, padding="causal", dilation_rate=2)(inputs)
    x = layers.GlobalAveragePooling1D()(layers.ReLU()(x))
    return keras.Model(inputs, layers.Dense(3)(x))


def causal(data_format):
    inputs = keras.Input((6, 4))
    x = layers.Conv1D(
        6, 3, padding="causal", dilation_rate=2, data_format=data_format
    )(inputs)
    x = layers.Flatten()(layers.ReLU()(x))
    return keras.Model(inputs, layers.Dense(3)(x))


def check_oracle(base, layers_=None):
    shape = base.input_shape[1:]
    x = np.random.default_rng(0).normal(size=(7, *shape)).astype("float32")
    toys.randomise(base)
    model = BatchEnsemble.from_model(
        base, "classification", 3, layers=layers_, score="mutual_information"
    )
    fast = fast_layers(model.network)
    for one in fast.values():
        signs = numpy(one.input_weights), numpy(one.output_weights)
        assert all(set(np.unique(each)) <= {-1.0, 1.0} for each in signs)
    generator = np.random.default_rng(1)
    for one in fast.values():
        for weight in (one.input_weights, one.output_weights, one.bias):
            if weight is not None:
                weight.assign(generator.normal(1, 0.5, weight.shape))
    expected = [
        one.predict(x, verbose=0) for one in explicit_members(base, model)
    ]
    np.testing.assert_allclose(
        numpy(model.samples(x)), expected, rtol=1e-3, atol=1e-5
    )
    return model, fast


def test_it_equals_explicit_networks():
    model, fast = check_oracle(convolutions())
    assert len(fast) == 5
    assert fast["last"].bias.shape == (3, 3)


def test_groups_and_logits():
    check_oracle(grouped())


def test_causal_padding():
    check_oracle(causal("channels_last"))


@pytest.mark.backend("jax", "torch")
def test_causal_padding_of_channels_first():
    check_oracle(causal("channels_first"))


def test_the_last_layers_only():
    model, fast = check_oracle(convolutions(), layers_=2)
    assert len(fast) == 2 and "last" in fast


def test_channels_first():
    base = convolutions(channels_first=True)
    model = BatchEnsemble.from_model(base, "classification", 3, seed=0)
    shapes = [
        (one.input_weights.shape[-1], one.output_weights.shape[-1])
        for one in fast_layers(model.network).values()
    ]
    assert sorted(shapes)[:4] == [(4, 8), (6, 12), (8, 6), (8, 8)]


def regularised():
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(
                8,
                activation="relu",
                kernel_regularizer="l2",
                bias_regularizer="l1",
                activity_regularizer="l2",
                bias_constraint=keras.constraints.MaxNorm(0.1, axis=0),
            ),
            layers.Dense(3, activation="softmax"),
        ]
    )


@pytest.mark.parametrize(
    "reduction",
    ["sum_over_batch_size", pytest.param("sum", marks=pytest.mark.slow)],
)
def test_the_loss_is_the_mean_over_the_members(reduction):
    base, x, y = toys.randomise(regularised()), toys.features(6), toys.labels(6)
    weight = np.linspace(0.5, 2, 6).astype("float32")
    loss = keras.losses.SparseCategoricalCrossentropy(reduction=reduction)
    model = BatchEnsemble.from_model(base, "classification", 3, seed=2)
    members = explicit_members(base, model)
    model.compile(keras.optimizers.SGD(1e-9), loss, metrics=["accuracy"])
    found = model.train_on_batch(x, y, weight, None, True)
    losses = []
    for member in members:
        # The shared kernel counts once for all.
        member.layers[0].kernel_regularizer = None
        member.layers[0].kernel.regularizer = None
        member.compile(loss=loss)
        losses.append(member.test_on_batch(x, y, weight))
    shared = 0.01 * np.sum(base.get_weights()[0] ** 2)
    assert found["loss"] == pytest.approx(np.mean(losses) + shared, rel=1e-5)
    prediction = np.mean([one.predict(x, verbose=0) for one in members], 0)
    expected = np.mean(prediction.argmax(-1) == y)
    assert found["accuracy"] == pytest.approx(expected)


def test_a_constraint_holds_for_each_member():
    base = toys.randomise(regularised())
    model = BatchEnsemble.from_model(base, "classification", 3, seed=2)
    model.compile("sgd", CROSSENTROPY)
    model.fit(toys.features(), toys.labels(), verbose=0)
    (bias,) = (
        numpy(one.bias)
        for one in fast_layers(model.network).values()
        if one.bias.shape[-1] == 8
    )
    np.testing.assert_allclose(np.linalg.norm(bias, axis=1), 0.1, rtol=1e-3)


def test_a_small_deviation_stays_near_the_base():
    base, x = toys.randomise(toys.mlp()), toys.features()
    model = BatchEnsemble.from_model(
        base, "classification", 3, deviation=1e-4, seed=0
    )
    out = model.predict(x, verbose=0)["prediction"]
    np.testing.assert_allclose(out, base.predict(x, verbose=0), atol=1e-2)
    fast = list(fast_layers(model.network).values())[0]
    restored = assert_config_round_trip(fast)
    assert restored.deviation == 1e-4


def test_a_seed_gives_the_same_members():
    base, x = toys.mlp(), toys.features()
    one, same, other = (
        BatchEnsemble.from_model(base, "classification", seed=seed).predict(
            x, verbose=0
        )["uncertainty"]
        for seed in (1, 1, 2)
    )
    np.testing.assert_allclose(one, same, rtol=1e-6)
    assert not np.allclose(one, other)


@pytest.mark.slow
def test_training_separates_and_improves():
    x = toys.features(200)
    y = (x[:, :1] * x[:, 1:2]).astype("float32")
    model = BatchEnsemble.from_model(
        toys.mlp(1, None, hidden=32), "regression", seed=0
    )
    model.compile(keras.optimizers.Adam(0.02), "mse")
    logs = model.fit(x, y, epochs=15, batch_size=33, verbose=0).history["loss"]
    assert logs[-1] < 0.5 * logs[0]
    near, far = (
        model.predict(scale * x, verbose=0)["uncertainty"].mean()
        for scale in (1, 10)
    )
    assert far > 2 * near


def test_other_kernels_are_shared():
    inputs = keras.Input((5, 4))
    x = layers.LSTM(4, return_sequences=True)(inputs)
    x = layers.MultiHeadAttention(2, 2)(x, x)
    frozen = layers.Dense(4, name="frozen", trainable=False)
    x = layers.Flatten()(frozen(x))
    base = keras.Model(inputs, layers.Dense(1, name="last")(x))
    model = BatchEnsemble.from_model(base, "regression", 2)
    assert set(fast_layers(model.network)) == {"last"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_members": 1}, "two of them"),
        ({"num_members": 0}, "num_members=0"),
        ({"layers": 3}, "layers=3"),
        ({"layers": 0}, "layers=0"),
        ({"deviation": 0.0}, "deviation=0.0"),
        ({"score": "entropy"}, "score='entropy'"),
        ({"members": 5}, "members"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        BatchEnsemble.from_model(toys.mlp(1, None), "regression", **options)


def test_bad_networks():
    with pytest.raises(ValueError, match="unbuilt"):
        BatchEnsemble.from_model(keras.Sequential([layers.Dense(2)]), "binary")
    nothing = keras.Sequential([keras.Input((4, 3)), layers.LSTM(2)])
    with pytest.raises(ValueError, match="no kernel that could"):
        BatchEnsemble.from_model(nothing, "regression")
