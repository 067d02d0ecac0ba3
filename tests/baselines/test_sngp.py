import keras
import numpy as np
import pytest
from scipy import special, stats

from keras_zigzag.baselines import SNGP
from keras_zigzag.baselines.gaussian_process import GaussianProcess
from keras_zigzag.baselines.linear_operators import operator_of
from keras_zigzag.baselines.spectral_normalization import SpectralNormalization
from tests.baselines import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"
MEAN_FIELD_FACTOR = np.pi / 8


def made(base=None, task="classification", num_features=16, **options):
    options.setdefault("seed", 0)
    return SNGP.from_model(
        base or toys.mlp(), task, num_features=num_features, **options
    )


def part(model, kind):
    (found,) = (one for one in model._flatten_layers() if type(one) is kind)
    return found


def bounded(model):
    found = []
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            found += bounded(layer)
        elif isinstance(layer, SpectralNormalization):
            found.append(layer)
    return found


def numpy_of(tensor):
    return keras.ops.convert_to_numpy(tensor)


def norm_of(layer, shape):
    """Spectral norm of the map of one sample, by a dense matrix."""
    units = np.eye(np.prod(shape), dtype="float32").reshape((-1, *shape))
    zero = numpy_of(layer(np.zeros((1, *shape), "float32"), training=False))
    columns = numpy_of(layer(units, training=False)) - zero
    return np.linalg.norm(columns.reshape(len(units), -1), 2)


def random_layer(layer, shape, seed=0):
    layer.build((None, *shape))
    return toys.randomise(layer, seed)


# The norms.


QUICK = [
    (lambda: layers.Dense(3), (5,)),
    (lambda: layers.Conv2D(3, (3, 2), 2, padding="same"), (6, 5, 2)),
    (lambda: layers.Conv2D(2, 3, dilation_rate=2), (6, 7, 2)),
    (lambda: layers.DepthwiseConv2D(3, 2, padding="same"), (5, 5, 2)),
    (lambda: layers.Conv2DTranspose(2, 2, 3), (3, 3, 2)),
]
OTHERS = [
    (lambda: layers.Conv1D(3, 3, padding="causal"), (7, 2)),
    (lambda: layers.Conv1D(3, 3, 2), (8, 2)),
    (lambda: layers.Conv2D(3, 3, padding="same"), (5, 6, 2)),
    (lambda: layers.Conv2D(3, 1, 2), (6, 5, 2)),
    (lambda: layers.Conv2D(2, 3, 3), (7, 8, 2)),
    (lambda: layers.Conv3D(2, 2, padding="same"), (3, 3, 4, 2)),
    (lambda: layers.DepthwiseConv2D(3, depth_multiplier=2), (5, 5, 2)),
    (lambda: layers.SeparableConv2D(3, 3, 2, "same"), (5, 6, 2)),
    (lambda: layers.SeparableConv1D(3, 3, depth_multiplier=2), (7, 2)),
    (lambda: layers.Conv1DTranspose(3, 3, 2), (5, 2)),
    (lambda: layers.Conv2DTranspose(3, 3, 2, "same"), (3, 4, 2)),
    (lambda: layers.Conv3DTranspose(1, 2, 2, "same"), (2, 3, 2, 2)),
]


@pytest.mark.parametrize(
    ("layer", "shape"),
    [*QUICK, *(pytest.param(*one, marks=pytest.mark.slow) for one in OTHERS)],
)
def test_operators_and_their_norms(layer, shape):
    layer = random_layer(layer(), shape)
    operator = operator_of(layer, (None, *shape))
    generator = np.random.default_rng(0)
    given = generator.normal(size=(1, *shape)).astype("float32")
    expected = numpy_of(layer(given) - layer(np.zeros_like(given)))
    kernel = operator.kernel()
    outputs = generator.normal(size=operator.output_shape).astype("float32")
    inputs = numpy_of(operator.adjoint(kernel, outputs))
    other = generator.normal(size=inputs.shape).astype("float32")
    # The adjoint, by what it is defined by.
    left = np.sum(inputs * other)
    right = np.sum(outputs * numpy_of(operator.apply(kernel, other)))
    assert left == pytest.approx(right, rel=1e-3, abs=1e-4)
    is_transposed = "Transpose" in type(layer).__name__
    apply = operator.adjoint if is_transposed else operator.apply
    found = numpy_of(apply(kernel, given))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    normalised = SpectralNormalization(layer, 1.0)
    normalised.build((None, *shape))
    normalised.refine(500)
    norm = norm_of(layer, shape)
    assert float(normalised.norm) == pytest.approx(norm, rel=0.01)
    assert norm_of(normalised, shape) == pytest.approx(min(norm, 1), rel=0.01)


def test_norms_after_training_are_within_the_bound():
    base = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.Conv2D(4, 3, 2, activation="relu"),
            layers.Flatten(),
            layers.Dense(8, activation="relu"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model = made(toys.randomise(base), norm_bound=0.8)
    model.compile(keras.optimizers.Adam(0.02), CROSSENTROPY)
    x, y = toys.images(), toys.labels()
    before = [numpy_of(one.layer.kernel) for one in bounded(model)]
    model.fit(x, y, batch_size=4, epochs=3, verbose=0)
    shapes = [(6, 6, 1), (6, 6, 4), (16,)]
    for layer, shape, old in zip(bounded(model), shapes, before, strict=True):
        layer.layer.activation = keras.activations.linear
        assert 0.78 < norm_of(layer, shape) < 0.8 * 1.015
        assert not np.allclose(numpy_of(layer.layer.kernel), old)


def test_a_small_norm_is_left_alone_and_zeros_come_to_life():
    layer = random_layer(layers.Dense(3, activation="tanh"), (5,))
    x = toys.features(4)[:, [0, 1, 2, 3, 0]]
    expected = numpy_of(layer(x))
    normalised = SpectralNormalization(layer, 100.0)
    np.testing.assert_allclose(numpy_of(normalised(x)), expected, rtol=1e-5)
    kernel = numpy_of(layer.kernel)
    layer.kernel.assign(np.zeros((5, 3)))
    normalised(x, training=True)
    assert float(normalised.norm) == 0.0
    layer.kernel.assign(kernel)
    normalised.refine()
    assert float(normalised.norm) == pytest.approx(
        np.linalg.norm(kernel, 2), rel=1e-3
    )


@pytest.mark.backend("tensorflow")
def test_gradients_go_through_the_norm():
    import tensorflow as tf

    layer = random_layer(layers.Dense(3, use_bias=False), (5,))
    normalised = SpectralNormalization(layer, 1.0)
    normalised.build((None, 5))
    for _ in range(200):
        normalised.estimated_norm()
    x = toys.features(4)[:, [0, 1, 2, 3, 0]]
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(normalised(x, training=True) ** 2)
    found = tape.gradient(value, layer.kernel.value)
    kernel = numpy_of(layer.kernel).astype("float64")

    def by_hand(kernel):
        return np.sum((x @ kernel / np.linalg.norm(kernel, 2)) ** 2)

    for place in ((0, 0), (3, 1), (4, 2)):
        step = np.zeros_like(kernel)
        step[place] = 1e-5
        expected = (by_hand(kernel + step) - by_hand(kernel - step)) / 2e-5
        assert float(found[place]) == pytest.approx(
            expected, rel=1e-2, abs=1e-3
        )


def test_what_is_bounded_and_what_is_kept():
    inputs = keras.Input((None, None, 2))
    x = layers.Conv2D(4, 3, strides=2, padding="same")(inputs)
    x = layers.GlobalAveragePooling2D()(x)
    shared = layers.Dense(4, kernel_regularizer="l2")
    x = shared(shared(x))
    last = layers.Dense(1, kernel_regularizer="l2")
    base = toys.randomise(keras.Model(inputs, last(x)))
    last.trainable = False
    before = toys.weights_of(base)
    model = made(base, "regression", norm_bound=1e6)
    assert len(bounded(model)) == 2
    toys.assert_same(toys.weights_of(base), before)
    kernel = shared.kernel
    toys.assert_same([bounded(model)[1].layer.kernel], [numpy_of(kernel)])
    linear = part(model, GaussianProcess).layer
    assert linear.trainable_weights
    penalty = 0.01 * (
        np.sum(numpy_of(kernel) ** 2) + np.sum(numpy_of(linear.kernel) ** 2)
    )
    # The terms of regularisers count once.
    found = sum(map(numpy_of, model.losses))
    assert found == pytest.approx(penalty, rel=1e-5)
    x, y = np.ones((4, 6, 5, 2), "float32"), toys.values(4)
    model.compile("sgd", "mse")
    error = np.mean((model.predict(x, verbose=0)["prediction"] - y) ** 2)
    loss = model.evaluate(x, y, verbose=0)
    assert loss == pytest.approx(error + penalty, rel=1e-4)


def test_bounds_of_the_paper_by_kind():
    inputs = keras.Input((4, 4, 1))
    inner = keras.Sequential([keras.Input((4, 4, 1)), layers.Conv2D(2, 3)])
    x = layers.Dense(4)(layers.Flatten()(inner(inputs)))
    model = made(keras.Model(inputs, layers.Dense(3, "softmax")(x)))
    assert [layer.norm_bound for layer in bounded(model)] == [6.0, 0.95]


# The process.


@pytest.mark.parametrize(
    "num_inputs", [3, pytest.param(40, marks=pytest.mark.slow)]
)
def test_features_approximate_the_kernel(num_inputs):
    process = GaussianProcess(
        layers.Dense(2), 2000, length_scale=1.5, amplitude=2.0
    )
    generator = np.random.default_rng(1)
    x = generator.normal(size=(6, num_inputs)) / num_inputs**0.5 * 2
    process.build((None, num_inputs))
    features = numpy_of(process.features(x.astype("float32")))
    square = ((x[:, None] - x[None]) ** 2).sum(-1)
    expected = 4 * np.exp(-square / (2 * 1.5**2))
    np.testing.assert_allclose(features @ features.T, expected, atol=0.2)


@pytest.mark.parametrize(
    "weighted", [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_covariance_is_the_closed_form(weighted):
    base = toys.mlp(1, None)
    model = made(base, "regression", num_features=12, ridge_penalty=0.3)
    x, y = toys.features(), toys.values()
    # What does not learn sees the same features all the time.
    model.compile(keras.optimizers.SGD(0.0), "mse")
    weight = np.linspace(0, 2, 24).astype("float32") if weighted else None
    model.fit(x, y, 7, epochs=2, sample_weight=weight, verbose=0)
    process = part(model, GaussianProcess)
    features = numpy_of(model.network(x, training=True)[1][0][1])
    weight = np.ones(24) if weight is None else weight
    precision = (features.T * weight) @ features + 0.3 * np.eye(12)
    covariance = np.linalg.inv(precision.astype("float64"))
    np.testing.assert_allclose(process.covariance(), covariance, 1e-3, 1e-4)
    far = toys.features(5, seed=9) * 3
    phi = numpy_of(model.network(far, training=False)[1][0][1])
    variance = 0.3 * np.einsum("nd,de,ne->n", phi, covariance, phi)
    out = model.predict(far, verbose=0)["uncertainty"]
    np.testing.assert_allclose(out, np.sqrt(variance), rtol=1e-3)


@pytest.mark.parametrize(
    ("width", "expected"), [(4, 128), (32, 256), (200, 1024)]
)
def test_features_follow_the_width(width, expected):
    model = made(toys.mlp(hidden=width), num_features=None)
    process = part(model, GaussianProcess)
    assert process.num_features == expected
    assert process.amplitude == pytest.approx((expected / 2) ** 0.5)


@pytest.mark.parametrize("rounding", [-1.38, -40.0])
def test_rounded_sums_never_break_the_covariance(rounding):
    process = GaussianProcess(layers.Dense(2), 4, ridge_penalty=0.5)
    process.build((None, 3))
    directions, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    known = np.array([2e3, 5.0, 0.0, rounding])
    process.information.assign(directions * known @ directions.T)
    process.update_covariance()
    expected = directions / (0.5 + np.maximum(known, 0.0)) @ directions.T
    np.testing.assert_allclose(process.covariance(), expected, 1e-3, 1e-4)


def test_negative_weights_of_a_loop_of_ones_own_are_survived():
    model = made(ridge_penalty=1e-4, score="variance")
    model.compile("sgd", CROSSENTROPY)
    weights = np.where(np.arange(24) % 2, -1.0, 0.5).astype("float32")
    data = toys.features(), toys.labels(), weights
    before = model.predict(data[0], verbose=0)["uncertainty"]
    model.train_on_batch(*data)
    model.update_covariance()
    out = model.predict(data[0], verbose=0)["uncertainty"]
    assert (out < before.max() + 1e-3).all()


@pytest.mark.slow
def test_moving_average():
    model = made(toys.mlp(1, None), "regression", num_features=8, momentum=0.9)
    x, y = toys.features(20), toys.values(20)
    weight = np.repeat([1.0, 3.0, 0.0, 0.0, 2.0], 4).astype("float32")
    model.compile(keras.optimizers.SGD(0.0), "mse")
    model.fit(
        x, y, 5, 2, 0, sample_weight=weight, shuffle=False, validation_split=0.0
    )
    features = numpy_of(model.network(x, training=True)[1][0][1])
    expected = np.zeros((8, 8))
    for _ in range(2):
        for start in range(0, 20, 5):
            phi = features[start : start + 5]
            w = weight[start : start + 5]
            if w.sum() > 0:
                mean = (phi.T * w) @ phi / w.sum()
                expected = 0.9 * expected + 0.1 * mean
    process = part(model, GaussianProcess)
    np.testing.assert_allclose(
        numpy_of(process.information), expected, rtol=1e-3, atol=1e-5
    )


def test_samples_of_a_logistic_count_by_their_curvature():
    model = made(toys.mlp(1, "sigmoid"), "binary", num_features=8)
    x, y = toys.features(), toys.labels(high=2)
    model.compile(keras.optimizers.SGD(0.0), "binary_crossentropy")
    model.fit(x, y, verbose=0)
    p, ((_, features, _),) = map(
        lambda one: keras.tree.map_structure(numpy_of, one),
        model.network(x, training=True),
    )
    expected = (features.T * (p * (1 - p))[:, 0]) @ features
    found = numpy_of(part(model, GaussianProcess).information)
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=1e-4)


@pytest.mark.parametrize(
    "activation", ["softmax", pytest.param(None, marks=pytest.mark.slow)]
)
def test_mean_field_probabilities_and_scores(activation):
    models = {
        score: made(toys.mlp(3, activation), score=score)
        for score in (None, "max_probability", "variance", "dempster_shafer")
    }
    x, y = toys.features(), toys.labels()
    loss = keras.losses.SparseCategoricalCrossentropy(activation is None)
    first = models[None]
    first.compile(keras.optimizers.Adam(0.01), loss)
    first.fit(x, y, epochs=2, verbose=0)
    _, ((_, features, logits),) = first.network(x, training=True)
    features, logits = numpy_of(features), numpy_of(logits)
    covariance = part(first, GaussianProcess).covariance()
    variance = np.einsum("nd,de,ne->n", features, covariance, features)
    logits = logits / np.sqrt(1 + MEAN_FIELD_FACTOR * variance)[:, None]
    p = special.softmax(logits, -1)
    expected = {
        None: stats.entropy(p, axis=-1),
        "max_probability": 1 - p.max(-1),
        "variance": variance,
        "dempster_shafer": 3 / (3 + np.exp(logits).sum(-1)),
    }
    for score, values in expected.items():
        models[score].set_weights(first.get_weights())
        out = models[score].predict(x, verbose=0)
        np.testing.assert_allclose(
            out["prediction"], p if activation else logits, 1e-3, 1e-4
        )
        np.testing.assert_allclose(out["uncertainty"], values, 1e-3, 1e-4)


def test_far_from_the_data_it_is_uncertain():
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 200)
    x = generator.normal(size=(200, 2)) * 0.3 + np.where(y, 1, -1)[:, None]
    x = x.astype("float32")
    inputs = keras.Input((2,))
    hidden = layers.Dense(16)(inputs)
    hidden = layers.Add()([hidden, layers.Dense(16, "relu")(hidden)])
    base = keras.Model(inputs, layers.Dense(2, "softmax")(hidden))
    far = x + np.array([12.0, -12.0], "float32")
    options = {"num_features": 128, "length_scale": 1.0}
    model = made(base, **options)
    model.compile(
        keras.optimizers.Adam(0.01), CROSSENTROPY, metrics=["accuracy"]
    )
    logs = model.fit(x, y, epochs=8, verbose=0).history
    assert logs["accuracy"][-1] > 0.97
    by_variance = made(base, score="variance", **options)
    by_variance.set_weights(model.get_weights())
    for each in (model, by_variance):
        near = each.predict(x, verbose=0)["uncertainty"]
        out = each.predict(far, verbose=0)["uncertainty"]
        assert out.min() > np.quantile(near, 0.95)


@pytest.mark.slow
def test_several_outputs_and_the_validation_sees_the_covariance():
    task = {"kind": "classification", "size": "regression"}
    score = {"kind": "variance", "size": "variance"}
    model = made(toys.two_outputs(), task, score=score)
    model.compile("adam", {"kind": CROSSENTROPY, "size": "mse"})
    x, y = toys.features(), {"kind": toys.labels(), "size": toys.values()}
    logs = model.fit(x, y, epochs=2, validation_data=(x, y), verbose=0).history
    found = model.evaluate(x, y, verbose=0, return_dict=True)
    assert logs["val_loss"][-1] == pytest.approx(found["loss"], rel=1e-4)
    out = model.predict(x, verbose=0)["uncertainty"]
    prior = made(toys.two_outputs(), task, score=score)
    before = prior.predict(x, verbose=0)["uncertainty"]
    for name in task:
        assert out[name].shape == (24,)
        assert (out[name] < 0.9 * before[name]).all()


@pytest.mark.slow
def test_one_number_per_place_and_masks():
    base = keras.Sequential(
        [
            keras.Input((5, 3)),
            layers.Masking(),
            layers.Dense(4, "relu"),
            layers.Dense(2),
        ]
    )
    model = made(base, "regression", num_features=8, normalize=True)
    x = np.random.default_rng(0).normal(size=(4, 5, 3)).astype("float32")
    x[:, 3:] = 0
    y = np.zeros((4, 5, 2), "float32")
    y[:, 3:] = 1e3
    model.compile(keras.optimizers.SGD(0.0), "mse")
    assert model.fit(x, y, verbose=0).history["loss"][0] < 10
    assert model.predict(x, verbose=0)["uncertainty"].shape == (4, 5)
    features = numpy_of(model.network(x, training=True)[1][0][1])
    phi = features[:, :3].reshape(-1, 8)
    np.testing.assert_allclose(
        numpy_of(part(model, GaussianProcess).information),
        phi.T @ phi,
        rtol=1e-3,
        atol=1e-5,
    )


@pytest.mark.backend("tensorflow")
@pytest.mark.slow
@pytest.mark.parametrize("momentum", [None, 0.9])
def test_two_replicas_see_all_samples(momentum, two_replicas):
    import tensorflow as tf

    x, y = toys.features(), toys.values()
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    alone = made(toys.mlp(1, None), "regression", momentum=momentum)
    with two_replicas.scope():
        spread = made(toys.mlp(1, None), "regression", momentum=momentum)
    spread.set_weights(alone.get_weights())
    found = []
    for model in (alone, spread):
        model.compile(keras.optimizers.SGD(0.0), "mse")
        model.fit(data, shuffle=False, verbose=0)
        found.append(numpy_of(part(model, GaussianProcess).information))
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-5)


def test_training_loops_of_ones_own():
    model = made(score="variance")
    model.compile("sgd", CROSSENTROPY)
    x, y = toys.features(), toys.labels()
    before = model.predict(x, verbose=0)["uncertainty"]
    model.reset_covariance()
    model.train_on_batch(x, y)
    model.update_covariance()
    assert (model.predict(x, verbose=0)["uncertainty"] < before).all()
    callbacks = keras.callbacks.CallbackList([], add_history=True, model=model)
    for _ in range(2):
        model.fit(x, y, callbacks=callbacks, verbose=0)
    assert len(callbacks.callbacks) == 2


@pytest.mark.slow
def test_labels_of_their_own_and_trailing_layers():
    inputs = keras.Input((4,))
    x = layers.Dense(2)(inputs)
    base = keras.Model(inputs, layers.Activation("sigmoid", dtype="float32")(x))
    model = made(base, "binary")
    model.compile("adam", "binary_crossentropy")
    y = np.stack([toys.labels(high=2)] * 2, -1)
    assert np.isfinite(toys.fit(model, toys.features(), y)["val_loss"]).all()
    out = model.predict(toys.features(), verbose=0)
    p = out["prediction"].astype("float64")
    expected = stats.entropy([p, 1 - p]).sum(-1)
    np.testing.assert_allclose(out["uncertainty"], expected, rtol=1e-3)


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm_bound": 0}, "norm_bound=0"),
        ({"norm_bound": "tight"}, "norm_bound='tight'"),
        ({"num_features": 0}, "num_features=0"),
        ({"num_features": 1.5}, "num_features=1.5"),
        ({"length_scale": -1.0}, "length_scale=-1.0"),
        ({"amplitude": 0.0}, "amplitude=0.0"),
        ({"ridge_penalty": 0}, "ridge_penalty=0"),
        ({"momentum": 1.0}, "momentum=1.0"),
        ({"momentum": 0}, "momentum=0"),
        ({"mean_field_factor": -1}, "mean_field_factor=-1"),
        ({"score": "entropy"}, "score='entropy'"),
        ({"task": None}, "task=None"),
        ({"rate": 0.1}, "rate"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        made(**options)


def test_negative_weights():
    model = made()
    model.compile("sgd", CROSSENTROPY)
    x, y = toys.features(), toys.labels()
    weights = np.where(y == 0, -1.5, 1.0)
    with pytest.raises(ValueError, match="`sample_weight` must not.*-1.5"):
        model.fit(x, y, sample_weight=weights, verbose=0)
    with pytest.raises(ValueError, match="`class_weight` must not.*-0.5"):
        model.fit(x, y, class_weight={0: 1.0, 1: -0.5, 2: 1.0}, verbose=0)


def test_bad_bases():
    inputs = keras.Input((4,))
    x = layers.Dense(3)(inputs)
    for last in (layers.Rescaling(2.0, name="last"), layers.Reshape((3,))):
        with pytest.raises(ValueError, match=f"ends in '{last.name}'"):
            made(keras.Model(inputs, last(x)))
    twice = layers.Dense(4, name="twice")
    with pytest.raises(ValueError, match="'twice' several times"):
        made(keras.Model(inputs, twice(twice(inputs))))
    with pytest.raises(ValueError, match="Make the model of an ordinary"):
        SNGP(toys.mlp(), "classification")
    # There need not be anything before the last layer.
    assert not bounded(made(keras.Model(inputs, x)))
    assert made(keras.Model(inputs, x), momentum=-1)
