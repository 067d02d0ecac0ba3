"""Where exactly the prior enters, and what a base model may not hold."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.prior_layers import (
    AddPrior,
    ConcatenatePrior,
    nearest_places,
)
from tests.widening.checker import check_widening
from tests.widening.data import floats, integers

# JAX compiles each operation of each network.
pytestmark = pytest.mark.one_quick_on("jax", "torch")

layers = keras.layers


def entries(model):
    return [
        layer
        for layer in model.network._flatten_layers()
        if isinstance(layer, (AddPrior, ConcatenatePrior))
    ]


def classified(inputs, x):
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(3)(x))


def attention_by_keywords(**kwargs):
    inputs = keras.Input((5, 4))
    attention = layers.MultiHeadAttention(2, 3, **kwargs)
    x = attention(query=inputs, value=inputs, key=inputs)
    return classified(inputs, x)


@pytest.mark.slow_but_on("tensorflow", "torch")
@pytest.mark.parametrize("kwargs", [{}, {"output_shape": 4}])
def test_attention_by_keywords_takes_the_prior_at_its_query(kwargs):
    # A prior that every key carries alike would cancel in the softmax.
    model = check_widening(
        attention_by_keywords(**kwargs), floats(6, 5, 4), integers(3, 6)
    )
    model.compile("adam", from_logits())
    model.fit(floats(6, 5, 4), integers(3, 6), epochs=3, verbose=0)
    assert model.predict(floats(6, 5, 4), verbose=0)["uncertainty"].max() > 1e-4


def from_logits():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def test_recurrent_layer_by_keywords_takes_the_prior_at_its_sequence():
    inputs, state = keras.Input((5, 4)), keras.Input((3,))
    x = layers.GRU(3)(sequences=inputs, initial_state=state)
    base = keras.Model([inputs, state], layers.Dense(3)(x))
    model = kz.ZigZagModel.from_model(base, task="classification")
    gru = next(
        layer for layer in model.network.layers if isinstance(layer, layers.GRU)
    )
    assert gru.cell.kernel.shape[0] == 4 + 4


WRAPPERS = {
    "bidirectional": lambda: layers.Bidirectional(layers.LSTM(3)),
    "cell": lambda: layers.RNN(layers.GRUCell(3)),
    "time_distributed": lambda: layers.TimeDistributed(layers.Dense(3)),
    "spectral": lambda: layers.SpectralNormalization(layers.Dense(3)),
    "grouped": lambda: layers.SpectralNormalization(
        layers.Conv1D(4, 3, groups=2)
    ),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrapped_layers_are_widened(name):
    base = keras.Sequential(
        [
            keras.Input((6, 2)),
            WRAPPERS[name](),
            layers.Flatten(),
            layers.Dense(3),
        ]
    )
    model = check_widening(base, floats(4, 6, 2), integers(3, 4))
    (entry,) = entries(model)
    assert isinstance(entry, ConcatenatePrior)


def test_layers_shared_between_nested_models_stay_shared():
    shared = layers.Dense(4)
    first, second = keras.Input((4,)), keras.Input((4,))
    inner = keras.Model(first, layers.ReLU()(shared(first)), name="inner")
    other = keras.Model(
        second, layers.Activation("tanh")(shared(second)), name="other"
    )
    inputs = keras.Input((6,))
    x = shared(other(inner(layers.Dense(4)(inputs))))
    base = keras.Model(inputs, layers.Dense(3)(x))
    # Keras itself does not load a model that shares layers this way.
    model = kz.ZigZagModel.from_model(base, task="classification")
    assert len(model.trainable_variables) == len(base.trainable_variables)
    np.testing.assert_allclose(
        model.predict(floats(5, 6), verbose=0)["prediction"],
        base.predict(floats(5, 6), verbose=0),
        atol=1e-6,
    )


def test_names_that_the_base_already_has():
    base = keras.Sequential(
        [
            keras.Input((6,), name="prior"),
            layers.Dense(4, name="a"),
            layers.Dense(3, name="a_prior"),
        ]
    )
    check_widening(base, floats(5, 6), integers(3, 5))


@keras.saving.register_keras_serializable("tests")
class Counting(layers.Layer):
    """Counts its calls and adds a loss, besides mixing features."""

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 4))
        self.calls = self.add_weight(
            shape=(), initializer="zeros", trainable=False
        )

    def call(self, inputs):
        self.calls.assign_add(1.0)
        self.add_loss(keras.ops.mean(inputs))
        return keras.ops.matmul(inputs, self.kernel)


def test_widening_calls_no_layer_of_the_base():
    base = keras.Sequential(
        [keras.Input((6,)), Counting(name="counting"), layers.Dense(3)]
    )
    before = float(base.get_layer("counting").calls.value)
    model = kz.ZigZagModel.from_model(base, task="classification")
    assert float(base.get_layer("counting").calls.value) == before
    assert not base.losses
    copy = model.network.get_layer("counting")
    assert float(copy.calls.value) == before
    assert copy.kernel.shape == (6 + 4, 4)


class Squared(keras.Sequential):
    def call(self, inputs, training=None, mask=None):
        return super().call(inputs, training=training, mask=mask) ** 2


def test_sequential_with_a_call_of_its_own():
    base = Squared([keras.Input((6,)), layers.Dense(3)])
    with pytest.raises(ValueError, match="Received: the subclassed model `Sq"):
        kz.ZigZagModel.from_model(base, task="classification")


def stateful():
    inputs = keras.Input(batch_shape=(4, 5, 2))
    x = layers.LSTM(3, stateful=True, name="rnn")(inputs)
    return keras.Model(inputs, layers.Dense(3)(x))


def with_adapter():
    base = keras.Sequential(
        [keras.Input((6,)), layers.Dense(4, name="adapted"), layers.Dense(3)]
    )
    base.layers[0].enable_lora(2)
    return base


@pytest.mark.parametrize(
    "make, message",
    [
        (stateful, "Received: the layer 'rnn' with `stateful=True`"),
        (with_adapter, "before it is quantised.*Received: the layer 'adapted'"),
    ],
)
def test_layers_that_two_passes_would_break(make, message):
    with pytest.raises(ValueError, match=message):
        kz.ZigZagModel.from_model(make(), task="classification")


def test_outputs_in_a_tuple():
    inputs = keras.Input((6,))
    outputs = (layers.Dense(3)(inputs), layers.Dense(1)(inputs))
    base = keras.Model(inputs, outputs)
    model = kz.ZigZagModel.from_model(
        base, task=("classification", "regression")
    )
    out = model.predict(floats(5, 6), verbose=0)
    assert [part.shape for part in out["prediction"]] == [(5, 3), (5, 1)]
    assert [part.shape for part in out["uncertainty"]] == [(5,), (5,)]


class Endless(keras.utils.PyDataset):
    """Without a length, as Keras allows."""

    @property
    def num_batches(self):
        return None

    def __getitem__(self, index):
        return floats(4, 6), integers(3, 4)


def test_data_set_that_knows_no_length():
    base = keras.Sequential([keras.Input((6,)), layers.Dense(3)])
    model = kz.ZigZagModel.from_model(base, task="classification")
    model.compile("sgd", from_logits())
    history = model.fit(
        Endless(), steps_per_epoch=2, verbose=0, shuffle=False
    ).history
    assert np.isfinite(history["loss"]).all()
    values = kz.priors.ValuePrior()
    with pytest.raises(ValueError, match="must have an end"):
        values.adapt(Endless())


# TensorFlow on a CPU has no such convolutions.
@pytest.mark.backend("jax", "torch")
def test_channels_first_of_maps_in_time():
    inputs = keras.Input((4, 3, 6, 7))
    for layer, kernel in (
        (
            layers.ConvLSTM2D(
                5, 3, data_format="channels_first", padding="same", name="maps"
            ),
            (3, 3, 3 + 4, 20),
        ),
        (
            layers.TimeDistributed(
                layers.Conv2D(5, 3, data_format="channels_first"), name="maps"
            ),
            (3, 3, 3 + 4, 5),
        ),
    ):
        x = layers.Flatten()(layer(inputs))
        base = keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
        widened = kz.widen_model(base, "one_hot")
        assert widened.get_layer("maps").weights[0].shape == kernel


def test_sparse_inputs():
    inputs = keras.Input((4,), sparse=True, name="words")
    base = keras.Model(inputs, layers.Dense(3, activation="softmax")(inputs))
    for kind in (kz.ZigZagModel, kz.baselines.SingleModel):
        with pytest.raises(ValueError, match="sparse inputs .'words'"):
            kind.from_model(base, task="classification")


def test_the_nearest_of_many_places():
    # 160,000 times 80,000 is too large for an int32.
    for given, size in ((50_000, 50_000), (80_000, 160_000), (3, 7)):
        expected = np.arange(size) * given // size
        found = ops.convert_to_numpy(nearest_places(given, size))
        np.testing.assert_array_equal(found, expected)
        if keras.backend.backend() == "jax":
            continue
        given = ops.convert_to_tensor(np.array(given, "int32"))
        found = ops.convert_to_numpy(nearest_places(given, size))
        np.testing.assert_array_equal(found, expected)


def test_a_prior_for_each_of_many_nodes_of_an_open_number():
    nodes = keras.Input((None, 1))
    prior = keras.Input((None, 2))
    network = keras.Model([nodes, prior], ConcatenatePrior()([nodes, prior]))
    x = np.zeros((1, 50_000, 1), "float32")
    given = np.arange(100_000, dtype="float32").reshape(1, 50_000, 2)
    found = network.predict([x, given], verbose=0)
    np.testing.assert_array_equal(found[..., 1:], given)
    found = network.predict([x[:, :49_000], given[:, :49_000]], verbose=0)
    np.testing.assert_array_equal(found[..., 1:], given[:, :49_000])


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class Table(layers.Layer):
    """The same for all samples, as a table of positions."""

    def build(self, shape):
        self.table = self.add_weight(shape=(1, 5, 4), name="table")

    def call(self, inputs):
        return self.table * 1.0

    def compute_output_shape(self, shape):
        return (1, 5, 4)


@pytest.mark.parametrize("passes", ["both", "sampled"])
def test_features_that_have_no_samples(passes):
    inputs = keras.Input((5, 4))
    x = layers.Dense(4, name="late")(inputs) + Table()(inputs)
    x = layers.GlobalAveragePooling1D()(x)
    base = keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
    model = kz.ZigZagModel.from_model(
        base, "classification", layer="late", passes=passes
    )
    x = np.random.default_rng(0).normal(size=(7, 5, 4)).astype("float32")
    losses = []
    for one in (base, model):
        one.compile(
            keras.optimizers.SGD(0.0),
            "sparse_categorical_crossentropy",
            run_eagerly=True,
        )
        losses.append(float(one.train_on_batch(x, np.arange(7) % 3)))
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_steps_that_are_samples():
    inputs = keras.Input((5, 4))
    x = layers.Dense(8)(keras.ops.reshape(inputs, (-1, 4)))
    x = layers.GlobalAveragePooling1D()(keras.ops.reshape(x, (-1, 5, 8)))
    end = layers.Dense(3, activation="softmax", name="end")
    base = keras.Model(inputs, end(x))
    x = keras.ops.convert_to_tensor(np.ones((2, 5, 4), "float32"))
    model = kz.ZigZagModel.from_model(base, "classification")
    with pytest.raises(ValueError, match="Received: 2 samples, and .* 10 rows"):
        model.call_with_uncertainty(x)
    late = kz.ZigZagModel.from_model(base, "classification", layer="end")
    found = late.call_with_uncertainty(x)["uncertainty"]
    assert found.shape == (2,)


@pytest.mark.parametrize("floats_first", [False, True])
def test_a_layer_that_also_reads_integers(floats_first):
    """It was tried again for ever."""
    integers, floats = keras.Input((4,), dtype="int32"), keras.Input((4,))
    both = [integers, floats][:: -1 if floats_first else 1]
    dense = layers.Dense(8, name="twice")
    x = layers.Concatenate()([dense(one) for one in both])
    base = keras.Model(both, layers.Dense(3, activation="softmax")(x))
    with pytest.raises(ValueError, match="Received: the layer 'twice'"):
        kz.ZigZagModel.from_model(base, "classification")
