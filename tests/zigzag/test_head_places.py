"""Where heads begin, what they start with, and what cannot be."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_zigzag as kz
from keras_zigzag.heads.copies import with_heads
from keras_zigzag.heads.places import head_starts
from tests.baselines import toys

layers = keras.layers
pytestmark = pytest.mark.one_quick_on("jax", "torch")


def mlp(count=4):
    """Dense layers, with dropout behind each but the last."""
    inputs = x = keras.Input((4,))
    for index in range(count):
        x = layers.Dense(4, name=f"dense_{index}")(x)
        if index < count - 1:
            x = layers.Dropout(0.1, name=f"dropout_{index}")(x)
    return keras.Model(inputs, x, name="mlp")


def nested():
    """A backbone and a model with the last layers."""
    backbone = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(6, name="inner"),
            layers.BatchNormalization(name="norm"),
        ],
        name="backbone",
    )
    end = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(5, activation="relu", name="inner"),
            layers.BatchNormalization(name="norm"),
            layers.Dense(3, activation="softmax", name="answer"),
        ],
        name="end",
    )
    inputs = keras.Input((4,))
    x = layers.Dense(4, name="early")(inputs)
    return keras.Model(inputs, end(backbone(x)), name="all")


def residual():
    inputs = keras.Input((4,))
    x = layers.Dense(4, name="early")(inputs)
    for index in range(3):
        y = layers.Dense(4, activation="relu", name=f"block_{index}")(x)
        x = layers.Add(name=f"add_{index}")([x, y])
    return keras.Model(inputs, layers.Dense(3, name="answer")(x))


def shared():
    """One layer both before the heads and in them."""
    inputs = keras.Input((4,))
    twice = layers.Dense(4, name="twice")
    x = layers.Dense(4, name="middle")(twice(inputs))
    return keras.Model(inputs, layers.Dense(3, name="answer")(twice(x)))


def one_after_the_other():
    """The second output reads the first one."""
    inputs = keras.Input((4,))
    kind = layers.Dense(3, activation="softmax", name="kind")(inputs)
    rest = layers.Dense(3, activation="softmax", name="rest")(kind)
    return keras.Model(inputs, [kind, rest], name="one_after_the_other")


def beside(layer):
    """A second output that a layer computes of the inputs."""
    inputs = keras.Input((4,))
    answer = layers.Dense(3, activation="softmax", name="answer")(inputs)
    return keras.Model(inputs, [answer, layer(inputs)])


def classifier(base, num_heads=3, **kwargs):
    return kz.ZigZagModel.from_model(
        base, task="classification", num_heads=num_heads, **kwargs
    )


def names(layers):
    return sorted(layer.name for layer in layers)


@pytest.mark.parametrize(
    "base, expected",
    [
        (mlp(4), ["dense_2", "dense_3"]),
        (mlp(3), ["dense_1", "dense_2"]),
        (mlp(2), ["dense_1"]),
        (mlp(1), ["dense_0"]),
        (residual(), ["answer", "block_2"]),
        (toys.two_outputs(), ["kind", "size"]),
        (nested(), ["answer", "inner"]),
        (one_after_the_other(), ["kind", "rest"]),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_the_last_two_layers_that_mix_features(base, expected):
    assert names(head_starts(base, None)) == expected


def test_what_depends_on_a_layer_is_in_the_heads():
    base = residual()
    headed = with_heads(base, 2, heads_from="add_1").model
    found = {layer.name for layer in headed.layers}
    for name in ("early", "block_0", "block_1", "add_0"):
        assert name in found
    for name in ("add_1", "block_2", "add_2", "answer"):
        assert {f"{name}_head_0", f"{name}_head_1"} <= found
    assert headed.output_names == base.output_names
    x = toys.features()
    np.testing.assert_allclose(
        headed.predict(x, verbose=0)[:, 0],
        base.predict(x, verbose=0),
        rtol=1e-5,
        atol=1e-6,
    )


def test_models_in_the_heads_are_unfolded():
    base = nested()
    toys.randomise(base)
    model = classifier(base, heads_from="end")
    assert isinstance(model.network.get_layer("backbone"), keras.Model)
    found = {layer.name for layer in model.network.layers}
    assert {"inner_head_0", "norm_head_2", "answer_head_1", "end"} <= found
    first = model.prior.encode_blank(24)
    x = ops.convert_to_tensor(toys.features())
    outputs = ops.convert_to_numpy(model.network([x, first]))
    np.testing.assert_allclose(
        outputs[:, 0], base.predict(toys.features(), verbose=0), rtol=1e-4
    )


def test_heads_that_begin_inside_a_model():
    base = nested()
    headed = with_heads(base, 2, heads_from="norm").model
    found = [layer.name for layer in headed.layers]
    # The names of two layers are equal, in two models.
    assert {"inner", "norm_head_0", "inner_head_1", "end"} <= set(found)
    assert "backbone" not in found
    np.testing.assert_allclose(
        headed.predict(toys.features(), verbose=0)[:, 0],
        base.predict(toys.features(), verbose=0),
        rtol=1e-4,
    )


def test_a_layer_that_the_trunk_calls_too_stays_one():
    headed = with_heads(shared(), 2, heads_from="middle").model
    found = [layer.name for layer in headed.layers]
    assert found.count("twice") == 1
    assert not any(name.startswith("twice_head") for name in found)
    assert "middle_head_1" in found


def kernels(headed, name):
    return [
        ops.convert_to_numpy(headed.get_layer(f"{name}_head_{k}").kernel)
        for k in range(3)
    ]


@pytest.mark.parametrize("head_start", ["fresh", "fresh_last", "perturbed"])
def test_what_the_heads_start_with(head_start):
    base = mlp()
    headed = with_heads(base, 3, head_start=head_start).model
    for name in ("dense_2", "dense_3"):
        kernel = ops.convert_to_numpy(base.get_layer(name).kernel)
        first, *others = kernels(headed, name)
        np.testing.assert_array_equal(first, kernel)
        is_kept = head_start == "fresh_last" and name == "dense_2"
        for other in others:
            assert np.array_equal(other, kernel) == is_kept
            if head_start == "perturbed":
                assert 0 < (other - kernel).std() < 0.2 * kernel.std()
        assert np.array_equal(*others) == is_kept


def test_noise_is_a_tenth_of_the_standard_deviation():
    base = keras.Sequential(
        [
            keras.Input((64,)),
            layers.Dense(64, name="start"),
            layers.Dense(64, name="end"),
        ]
    )
    headed = with_heads(
        base, 3, heads_from="start", head_start="perturbed", seed=0
    ).model
    for name in ("start", "end"):
        first, *others = kernels(headed, name)
        for other in others:
            noise = (other - first).std()
            assert noise == pytest.approx(0.1 * first.std(), rel=0.06)
        bias = headed.get_layer(f"{name}_head_1").bias
        np.testing.assert_array_equal(ops.convert_to_numpy(bias), 0)


def test_frozen_layers_of_the_heads_keep_their_weights():
    base = mlp()
    base.get_layer("dense_3").trainable = False
    headed = with_heads(base, 3, heads_from="dense_2").model
    first, *others = kernels(headed, "dense_3")
    for other in others:
        np.testing.assert_array_equal(first, other)
    assert not np.array_equal(*kernels(headed, "dense_2")[:2])


def test_a_seed_of_the_users_does_not_make_the_heads_equal():
    inputs = keras.Input((4,))
    start = keras.initializers.GlorotUniform(seed=1)
    answer = layers.Dense(3, kernel_initializer=start, name="answer")
    headed = with_heads(keras.Model(inputs, answer(inputs)), 3).model
    first, second, third = kernels(headed, "answer")
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)


@pytest.mark.parametrize("prior_at", ["first", "heads", "both"])
def test_until_training_no_head_reads_its_prior(prior_at):
    model = classifier(mlp(), prior_at=prior_at, uncertainty="distance")
    found = model.predict(toys.features(), verbose=0)["uncertainty"]
    np.testing.assert_array_equal(found, 0)
    wide = {
        layer.name: ops.convert_to_numpy(layer.kernel)
        for layer in model.network.layers
        if getattr(layer, "kernel", np.zeros(0)).shape == (4 + 5, 4)
    }
    heads = [f"dense_2_head_{index}" for index in range(3)]
    assert (
        sorted(wide)
        == {
            "first": ["dense_0"],
            "heads": heads,
            "both": ["dense_0", *heads],
        }[prior_at]
    )
    for kernel in wide.values():
        np.testing.assert_array_equal(kernel[4:], 0)
        assert kernel[:4].any()


def test_heads_of_residual_layers_read_a_prior_of_their_own():
    inputs = keras.Input((5, 4))
    x = layers.Dense(4, name="early")(inputs)
    attention = layers.MultiHeadAttention(1, 4, name="attention")
    x = layers.Add()([x, attention(x, x)])
    base = keras.Model(inputs, layers.Dense(3, name="answer")(x))
    headed = with_heads(base, 2, heads_from="attention")
    model = classifier(base, heads_from="attention", prior_at="heads")
    assert len(headed.entries) == 2
    toys.randomise(model.network)
    x = ops.convert_to_tensor(np.ones((2, 5, 4), "float32"))
    prior = ops.convert_to_tensor(np.ones((2, 5, 4), "float32"))
    before = ops.convert_to_numpy(model.network([x, prior]))
    for layer in model.network.layers:
        if layer.name.startswith("attention_head_1_prior"):
            layer.projection.assign(layer.projection * 2)
    after = ops.convert_to_numpy(model.network([x, prior]))
    assert not np.allclose(after[:, 1], before[:, 1])
    for index in (0, 2):
        np.testing.assert_array_equal(after[:, index], before[:, index])


@pytest.mark.parametrize("num_heads", [1, 3])
def test_a_prior_for_heads_that_cannot_take_it(num_heads):
    inputs = keras.Input((4,))
    x = layers.Dense(4, name="early")(inputs)
    x = layers.LayerNormalization(name="norm")(x)
    answer = layers.Dense(3, trainable=False, name="answer")
    base = keras.Model(inputs, answer(x))
    for places, message in (
        ("both", "heads cannot take the prior: .*heads_from='norm'"),
        ("heads", "base model cannot be widened"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier(
                base, num_heads=num_heads, heads_from="norm", prior_at=places
            )
    answer.trainable = True
    model = classifier(
        base, num_heads=num_heads, heads_from="norm", prior_at="both"
    )
    assert model.num_heads == num_heads


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"num_heads": 0}, "num_heads=0"),
        ({"num_heads": 2.5}, "num_heads=2.5"),
        ({"heads_from": "nowhere"}, "no layer 'nowhere'.*'dense_0'"),
        ({"heads_from": []}, "name of a layer, or a list"),
        ({"heads_from": 3}, "heads_from=3"),
        ({"head_start": "warm"}, "head_start='warm'"),
        ({"prior_at": "last"}, "no layer 'last'.*prior_at='last'"),
        ({"prior_at": 2}, "one of .'first', 'heads', 'both'., the name"),
        ({"prior_at": ["nowhere"]}, "prior_at='nowhere'"),
        ({"layer": "nowhere"}, "Received: layer='nowhere'"),
        ({"prior_at": "heads", "layer": "dense_1"}, "say the same"),
        ({"uncertainty": "variance"}, "uncertainty='variance'"),
        ({"distance": "l1"}, "uncertainty='distance'"),
        ({"num_heads": 1, "uncertainty": "both"}, "nothing to disagree"),
        (
            {"num_heads": 1, "uncertainty": "disagreement"},
            "nothing to disagree",
        ),
        (
            {"task": "regression", "uncertainty": "entropy"},
            "have an entropy",
        ),
        (
            {"num_heads": 1, "heads_from": "dense_1"},
            "='dense_1' and num_heads=1",
        ),
        ({"num_heads": 1, "head_start": "perturbed"}, "'perturbed' and num_h"),
        (
            {"num_heads": 1, "head_start": "perturbed", "prior_at": "heads"},
            "'perturbed' and num_heads=1",
        ),
        (
            {"num_heads": 1, "heads_from": "nowhere", "prior_at": "heads"},
            "no layer 'nowhere'",
        ),
        ({"uncertainty": {"answer": "both"}}, "the same for all outputs"),
    ],
)
def test_what_does_not_fit(kwargs, message):
    options = {"task": "classification", "num_heads": 3} | kwargs
    with pytest.raises(ValueError, match=message):
        kz.ZigZagModel.from_model(mlp(), **options)


def test_a_model_that_is_unfolded_takes_no_prior():
    with pytest.raises(ValueError, match="prior_at=.'end'.. Name one of its"):
        classifier(nested(), heads_from="end", prior_at=["end"])
    one = kz.ZigZagModel.from_model(
        nested(), task="classification", prior_at=["end", "early"]
    )
    assert one.network.get_layer("end").get_layer("inner_prior")
    assert one.network.get_layer("early_prior")
    model = classifier(nested(), heads_from="end", prior_at=["norm"])
    assert model.network.get_layer("norm_head_1_prior")


def test_every_output_needs_heads():
    task = {"kind": "classification", "size": "regression"}
    with pytest.raises(ValueError, match=r"outputs \['size'\] do not"):
        kz.ZigZagModel.from_model(
            toys.two_outputs(), task, num_heads=2, heads_from="kind"
        )


@pytest.mark.parametrize(
    "layer",
    [
        layers.LayerNormalization(name="other"),
        layers.Dense(3, name="other", trainable=False),
        layers.Softmax(name="other"),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_every_output_needs_heads_by_default_too(layer):
    with pytest.raises(ValueError, match="outputs .'other'. .*heads_from=None"):
        classifier(beside(layer))


@pytest.mark.parametrize(
    "last",
    [
        layers.Softmax(name="last"),
        layers.Dense(3, "softmax", name="last", trainable=False),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_heads_have_something_to_learn(last):
    base = keras.Sequential([keras.Input((4,)), layers.Dense(3), last])
    message = "'last'. no layer of theirs has trainable weights.*='last'"
    with pytest.raises(ValueError, match=message):
        classifier(base, heads_from="last")


def test_noise_where_all_weights_are_equal():
    base = keras.Sequential(
        [
            keras.Input((1,)),
            layers.Dense(1, kernel_initializer=keras.initializers.Constant(3)),
        ]
    )
    headed = with_heads(base, 3, head_start="perturbed", seed=0)
    first, *others = [
        ops.convert_to_numpy(one.kernel)[0, 0] for one in denses(headed)
    ]
    assert first == 3
    assert 0 < min(abs(one - 3) for one in others)
    assert max(abs(one - 3) for one in others) < 1.5


def denses(headed):
    return [one for one in headed.model.layers if hasattr(one, "kernel")]


def test_a_network_of_ones_own_has_as_many():
    inputs, prior = keras.Input((4,)), keras.Input((4,))
    x = layers.Concatenate()([inputs, prior])
    heads = [layers.Dense(3, activation="softmax")(x) for _ in range(2)]
    network = keras.Model([inputs, prior], ops.stack(heads, axis=1))
    prior = kz.priors.OneHotPrior(num_classes=3)
    model = kz.ZigZagModel(network, prior, num_heads=2)
    out = model.predict(toys.features(), verbose=0)
    assert out["prediction"].shape == (24, 3)
    with pytest.raises(ValueError, match="num_heads=3 and an output of"):
        kz.ZigZagModel(network, prior, num_heads=3)
    headed = classifier(mlp())
    with pytest.raises(ValueError, match="has 3 heads.*num_heads=1"):
        kz.ZigZagModel(headed.network, headed.prior)


@pytest.mark.parametrize("training", [None, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"num_heads": 1, "prior_at": "heads"}],
    ids=["several", "one"],
)
def test_a_model_that_is_unfolded_keeps_what_it_is_called_with(
    training, options
):
    backbone = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(6),
            layers.Dense(5),
            layers.Dropout(0.5),
        ]
    )
    inputs = keras.Input((4,))
    x = backbone(inputs, training=training)
    base = keras.Model(inputs, layers.Dense(3, "softmax")(x))
    model = classifier(base, **options)
    assert not any(isinstance(o, keras.Model) for o in model.network.layers)
    x = ops.convert_to_tensor(toys.features())
    for network, inputs in (
        (base, x),
        (model.network, [x, model.prior.encode_blank(24)]),
    ):
        # Where the call itself does not say otherwise, as `fit` does.
        one, two = (ops.convert_to_numpy(network(inputs)) for _ in range(2))
        assert np.array_equal(one, two) == (training is None)


def with_dropout_on():
    """An output that passes dropout which is on at inference too."""
    inputs = keras.Input((4,))
    kind = layers.Dense(8, name="of_kind")(inputs)
    size = layers.Dense(8, name="of_size")(inputs)
    size = layers.Dropout(0.2)(size, training=True)
    outputs = {
        "kind": layers.Dense(3, "softmax", name="kind")(kind),
        "size": layers.Dense(1, name="size")(size),
    }
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"layer": "of_kind"}, "depend on the prior.*outputs .'size'. do not"),
        ({"num_heads": 2, "heads_from": "of_kind"}, "outputs .'size'. do not"),
    ],
    ids=["prior", "heads"],
)
def test_an_argument_that_is_true_is_no_tensor(options, message):
    task = {"kind": "classification", "size": "regression"}
    with pytest.raises(ValueError, match=message):
        kz.ZigZagModel.from_model(with_dropout_on(), task, **options)


def test_a_trunk_behind_an_argument_that_is_true_counts_whole():
    inputs = keras.Input((4,))
    x = layers.Dropout(0.0)(inputs, training=True)
    x = layers.Dense(8, activity_regularizer="l2", name="trunk")(x)
    x = layers.Dense(8)(x)
    base = keras.Model(inputs, layers.Dense(3, "softmax")(x))
    model = classifier(base, num_heads=5)
    outputs = keras.Model(base.input, base.get_layer("trunk").output)
    squares = np.sum(outputs.predict(toys.features(), verbose=0) ** 2)
    model(toys.features())
    (added,) = model.losses
    # Keras divides by the size of the batch.
    expected = 0.01 * squares / 24
    assert float(ops.convert_to_numpy(added)) == pytest.approx(
        expected, rel=1e-4
    )


@pytest.mark.parametrize("prior_at", ["first", "heads", "both"])
@pytest.mark.parametrize("num_heads", [1, 2])
def test_outputs_that_are_models_keep_their_names(num_heads, prior_at):
    inputs = keras.Input((4,))
    x = layers.Dense(8)(inputs)

    def end(name, units, activation):
        dense = layers.Dense(5), layers.Dense(units, activation)
        return keras.Sequential([keras.Input((8,)), *dense], name=name)

    outputs = [end("kind", 3, "softmax")(x), end("size", 1, None)(x)]
    base = keras.Model(inputs, outputs)
    model = kz.ZigZagModel.from_model(
        base,
        ["classification", "regression"],
        num_heads=num_heads,
        prior_at=prior_at,
    )
    assert model.output_names == base.output_names == ["kind", "size"]
    y = [toys.labels(), toys.values()]
    model.adapt(y)
    model.compile(
        "sgd",
        {"kind": "sparse_categorical_crossentropy", "size": "mse"},
        metrics={"kind": ["accuracy"]},
        run_eagerly=True,
    )
    logs = model.train_on_batch(toys.features(), y, return_dict=True)
    assert "kind_accuracy" in logs


def test_heads_do_not_begin_where_a_layer_is_called_early():
    base = shared()
    assert names(head_starts(base, None)) == ["answer"]
    headed = with_heads(base, 3).model
    found = [layer.name for layer in headed.layers]
    assert {"twice", "middle", "answer_head_2"} <= set(found)
    # A network without another layer has heads all the same.
    inputs = keras.Input((4,))
    only = layers.Dense(4, name="only")
    base = keras.Model(inputs, only(only(only(only(inputs)))))
    assert names(head_starts(base, None)) == ["only"]


def test_activations_with_weights_do_not_mix_features():
    base = keras.Sequential([keras.Input((8, 8, 2))])
    for index in range(3):
        base.add(layers.Conv2D(3, 3, padding="same", name=f"conv_{index}"))
        base.add(layers.PReLU())
        base.add(layers.LayerNormalization(axis=[1, 2, 3]))
    assert names(head_starts(base, None)) == ["conv_1", "conv_2"]


@keras.saving.register_keras_serializable("keras_zigzag_tests")
class OwnDense(layers.Layer):
    """A regulariser of which the config does not tell."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(
            shape=(shape[-1], self.units), regularizer="l2", name="kernel"
        )

    def call(self, inputs):
        return inputs @ self.kernel

    def get_config(self):
        return super().get_config() | {"units": self.units}


def penalty(model):
    return sum(float(ops.convert_to_numpy(one)) for one in model.network.losses)


def test_regularizers_of_weights_that_no_config_tells_of(tmp_path):
    base = keras.Sequential(
        [keras.Input((4,)), layers.Dense(5), OwnDense(3, name="own")]
    )
    model = kz.ZigZagModel.from_model(
        base, "regression", num_heads=4, heads_from="own", head_start="fresh"
    )
    kernels = [
        ops.convert_to_numpy(model.network.get_layer(f"own_head_{k}").kernel)
        for k in range(4)
    ]
    # Keras's L2 is 0.01 times the sum of squares.
    expected = 0.01 * np.mean([np.sum(kernel**2) for kernel in kernels])
    assert penalty(model) == pytest.approx(expected, rel=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert penalty(loaded) == pytest.approx(expected, rel=1e-5)


def test_a_last_layer_that_an_inner_model_ends_in_too():
    last = layers.Dense(4, name="last")
    inner_input = keras.Input((4,))
    x = layers.Dense(4, activation="relu")(inner_input)
    inner = keras.Model(inner_input, last(x), name="inner")
    inputs = keras.Input((4,))
    x = layers.Dense(4, name="own")(inner(inputs))
    base = keras.Model(inputs, last(x))
    headed = with_heads(base, 3, heads_from="own").model
    assert headed.output_names == ["last"]
    np.testing.assert_allclose(
        headed.predict(toys.features(), verbose=0)[:, 0],
        base.predict(toys.features(), verbose=0),
        rtol=1e-5,
        atol=1e-6,
    )
