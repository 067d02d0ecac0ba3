import keras
import pytest
from keras import ops

from keras_zigzag.activations import gives_logits, output_activations

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def found(*layers):
    inputs = keras.Input((4,))
    x = inputs
    for layer in layers:
        x = layer(x)
    return output_activations(keras.Model(inputs, x))


def dense(activation=None, units=3):
    return keras.layers.Dense(units, activation=activation)


@pytest.mark.parametrize(
    "activation", ["softmax", "sigmoid", "relu", "tanh", "log_softmax", None]
)
def test_argument_and_layer(activation):
    expected = [activation or "linear"]
    assert found(dense("relu"), dense(activation)) == expected
    layer = keras.layers.Activation(activation or "linear")
    assert found(dense("relu"), dense(), layer) == expected


@pytest.mark.parametrize(
    "last, expected",
    [
        (keras.layers.Softmax, "softmax"),
        (lambda: ops.softmax, "softmax"),
        (lambda: ops.sigmoid, "sigmoid"),
        (lambda: ops.log_softmax, "log_softmax"),
        (lambda: keras.activations.softmax, "softmax"),
        (lambda: keras.activations.sigmoid, "sigmoid"),
        (lambda: keras.layers.Conv1D(3, 1, activation="softmax"), "softmax"),
    ],
)
def test_operations(last, expected):
    reshape = keras.layers.Reshape((1, 3))
    assert found(dense(), reshape, last()) == [expected]


@pytest.mark.parametrize("activation", ["softmax", "linear"])
@pytest.mark.parametrize(
    "last",
    [
        lambda: keras.layers.Activation("linear", dtype="float32"),
        lambda: keras.layers.Reshape((3, 1)),
        lambda: lambda x: ops.cast(x, "float32"),
        lambda: lambda x: ops.squeeze(ops.expand_dims(x, 1), 1),
        lambda: keras.layers.Identity(),
        lambda: lambda x: keras.layers.Average()([x, x]),
        lambda: lambda x: keras.layers.Concatenate()([x, x]),
    ],
)
def test_seen_through_what_only_moves_values(activation, last):
    assert found(dense(activation), last()) == [activation]


@pytest.mark.parametrize("activation", ["softmax", "linear"])
def test_seen_through_pooling_and_resizing(activation):
    inputs = keras.Input((8, 8, 3))
    x = keras.layers.Conv2D(4, 1, activation=activation)(inputs)
    outputs = [
        keras.layers.UpSampling2D()(x),
        keras.layers.AveragePooling2D(2)(x),
        keras.layers.GlobalAveragePooling2D()(x),
        keras.layers.Cropping2D()(x),
    ]
    assert output_activations(keras.Model(inputs, outputs)) == [activation] * 4


def test_mean_of_different_activations_is_unknown():
    inputs = keras.Input((4,))
    both = [dense("softmax")(inputs), dense()(inputs)]
    mean = keras.layers.Average()(both)
    assert output_activations(keras.Model(inputs, mean)) == [None]


def test_nested_models():
    inner = keras.Sequential([keras.Input((4,)), dense("softmax")])
    assert found(inner) == ["softmax"]
    head = keras.Sequential([keras.Input((4,)), inner])
    assert found(head) == ["softmax"]
    inputs = keras.Input((4,))
    functional = keras.Model(
        inputs, [dense("sigmoid")(inputs), dense("softmax")(inputs)]
    )
    assert found(functional) == ["sigmoid", "softmax"]


def test_time_distributed():
    inputs = keras.Input((5, 4))
    for inner in (
        dense("softmax"),
        keras.Sequential([keras.Input((4,)), dense("softmax")]),
    ):
        outputs = keras.layers.TimeDistributed(inner)(inputs)
        assert output_activations(keras.Model(inputs, outputs)) == ["softmax"]


def test_shared_layers():
    inputs = keras.Input((3,))
    cast = keras.layers.Activation("linear", dtype="float32")
    logits, classes = dense()(inputs), dense("softmax")(inputs)
    outputs = [cast(logits), cast(classes)]
    model = keras.Model(inputs, outputs)
    assert output_activations(model) == ["linear", "softmax"]
    shared = dense("softmax")
    model = keras.Model(inputs, shared(shared(inputs)))
    assert output_activations(model) == ["softmax"]


class Own(keras.layers.Layer):
    def call(self, inputs):
        return inputs * 2.0


@pytest.mark.parametrize(
    "last",
    [Own, keras.layers.ReLU, lambda: lambda x: x * 2.0, keras.layers.PReLU],
)
def test_unknown(last):
    activation = found(dense(), last())
    assert activation == [None]
    assert not gives_logits(*activation)


def test_an_input_that_is_an_output_is_unknown():
    inputs = keras.Input((4,))
    model = keras.Model(inputs, [inputs, dense()(inputs)])
    assert output_activations(model) == [None, "linear"]


def test_logits():
    assert gives_logits("linear") and gives_logits("log_softmax")
    assert not gives_logits("softmax") and not gives_logits(None)
