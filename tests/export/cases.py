"""Small models of many kinds, briefly trained."""

import keras
import numpy as np

import keras_zigzag as kz
from tests.export.artifacts import Case

layers = keras.layers
NUM_SAMPLES = 40


def normal(*shape, seed=0):
    generator = np.random.default_rng(seed)
    return generator.standard_normal((NUM_SAMPLES, *shape)).astype("float32")


def labels(high, *shape, seed=1):
    return np.random.default_rng(seed).integers(0, high, (NUM_SAMPLES, *shape))


def trained(model, loss, x, y, epochs=3):
    # Compiling costs more than it saves here, but on JAX, which would compile
    # each operation instead.
    jit_compile = keras.backend.backend() == "jax"
    optimizer = keras.optimizers.Adam(0.02)
    model.compile(optimizer, loss, jit_compile=jit_compile)
    model.fit(x, y, epochs=epochs, batch_size=20, verbose=0)
    inputs = keras.tree.map_structure(lambda leaf: leaf[:6], x)
    return Case(model, inputs)


def cnn(outputs=3, activation="softmax", dtype="float32"):
    """ReLU and max-pooling, which some runtimes let swallow NaN."""
    inputs = keras.Input((12, 12, 1), dtype=dtype, name="image")
    x = layers.Rescaling(1 / 255)(inputs) if dtype == "uint8" else inputs
    for filters in (4, 6):
        x = layers.Conv2D(filters, 3, activation="relu")(x)
        x = layers.MaxPooling2D(name=f"pool_{filters}")(x)
    x = layers.Flatten()(x)
    x = layers.Dense(8, activation="relu", name="hidden")(x)
    return keras.Model(inputs, layers.Dense(outputs, activation)(x))


def images(prior=None, **kwargs):
    model = kz.ZigZagModel.from_model(
        cnn(), task="classification", prior=prior, **kwargs
    )
    x, y = normal(12, 12, 1), labels(3)
    return trained(model, "sparse_categorical_crossentropy", x, y)


def bytes_in():
    base = cnn(dtype="uint8")
    model = kz.ZigZagModel.from_model(base, task="classification")
    x = labels(256, 12, 12, 1).astype("uint8")
    return trained(model, "sparse_categorical_crossentropy", x, labels(3))


def soft_logits():
    base = cnn(activation=None)
    prior = kz.priors.OneHotPrior(feedback="soft", from_logits=True)
    model = kz.ZigZagModel.from_model(base, prior=prior, num_passes=3)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(model, loss, normal(12, 12, 1), labels(3))


def augmented():
    """Augmentation and batch normalisation, which training would change."""
    base = keras.Sequential(
        [
            keras.Input((12, 12, 1), name="image"),
            layers.RandomFlip("horizontal"),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(base, task="classification")
    x, y = normal(12, 12, 1), labels(3)
    return trained(model, "sparse_categorical_crossentropy", x, y)


def index():
    return images(prior="index", passes="sampled", distance="mean_absolute")


def late():
    return images(layer="hidden")


def thresholded():
    return with_median(images())


def thresholded_outputs():
    return with_median(dict_in_dict_out())


def with_median(case):
    """Accepts about half of the samples."""
    model, inputs = case
    scores = model.predict(inputs, verbose=0)["uncertainty"]
    # Between two scores, where rounding decides nothing.
    threshold = keras.tree.map_structure(
        lambda score: np.sort(score)[2:4].mean(), scores
    )
    return Case(model.with_threshold(threshold), inputs)


def tabular():
    x = 3 * normal(4) + 2
    y = 10 * x.sum(axis=1, keepdims=True) + 5
    normalization = layers.Normalization()
    normalization.adapt(x)
    base = keras.Sequential(
        [
            keras.Input((4,), name="features"),
            normalization,
            layers.Dense(16, "relu"),
            layers.Dense(1),
        ]
    )
    model = kz.ZigZagModel.from_model(base, task="regression")
    model.adapt(y)
    return trained(model, "mse", x, y)


def binary():
    base = keras.Sequential(
        [
            keras.Input((4,), name="features"),
            layers.Dense(16, "relu"),
            layers.Dense(3, "sigmoid"),
        ]
    )
    model = kz.ZigZagModel.from_model(base, task="binary")
    return trained(model, "binary_crossentropy", normal(4), labels(2, 3))


def dict_in_dict_out():
    """Bytes beside floats, three passes, two kinds of outputs."""
    image = keras.Input((8, 8, 1), dtype="uint8", name="image")
    age = keras.Input((2,), name="age")
    x = layers.Conv2D(4, 3, activation="relu")(layers.Rescaling(1 / 255)(image))
    x = layers.Flatten()(layers.MaxPooling2D()(x))
    x = layers.Concatenate()([x, layers.Dense(4, "relu")(age)])
    outputs = {
        "digit": layers.Dense(3)(x),
        "angle": layers.Dense(1)(x),
    }
    model = kz.ZigZagModel.from_model(
        keras.Model({"image": image, "age": age}, outputs),
        task={"digit": "classification", "angle": "regression"},
        num_passes=3,
    )
    y = {"digit": labels(3), "angle": 4 * normal(1)}
    model.adapt(y)
    loss = {
        "digit": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "angle": "mse",
    }
    x = {
        "image": labels(256, 8, 8, 1).astype("uint8"),
        "age": normal(2),
    }
    return trained(model, loss, x, y)


def list_in_list_out():
    left, right = keras.Input((3,), name="left"), keras.Input((2,), name="r")
    x = layers.Concatenate()([left, right])
    x = layers.Dense(8, "relu")(x)
    outputs = [layers.Dense(3, "softmax")(x), layers.Dense(2, "sigmoid")(x)]
    model = kz.ZigZagModel.from_model(
        keras.Model([left, right], outputs), task=["classification", "binary"]
    )
    loss = ["sparse_categorical_crossentropy", "binary_crossentropy"]
    x, y = [normal(3), normal(2, seed=3)], [labels(3), labels(2, 2)]
    return trained(model, loss, x, y)


def dense(size=8):
    """A U-Net with an answer for each pixel."""
    inputs = keras.Input((size, size, 2), name="image")
    fine = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D()(fine)
    x = layers.Conv2D(6, 3, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(4, 2, strides=2, activation="relu")(x)
    x = layers.Concatenate()([x, fine])
    # Logits, since PyTorch cannot train a softmax of maps on CPUs.
    outputs = layers.Conv2D(3, 1)(x)
    model = kz.ZigZagModel.from_model(
        keras.Model(inputs, outputs), task="classification"
    )
    side = size or 8
    x, y = normal(side, side, 2), labels(3, side, side)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return trained(model, loss, x, y)


def dense_of_any_size():
    return dense(size=None)


def sequence():
    """A recurrent network behind an embedding."""
    base = keras.Sequential(
        [
            keras.Input((6,), dtype="int32", name="tokens"),
            layers.Embedding(10, 4),
            layers.GRU(5, unroll=True),
            layers.Dense(3, "softmax"),
        ]
    )
    model = kz.ZigZagModel.from_model(base, task="classification")
    x = labels(10, 6).astype("int32")
    return trained(model, "sparse_categorical_crossentropy", x, labels(3))
