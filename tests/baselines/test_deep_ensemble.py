import keras
import numpy as np
import pytest
from scipy import special, stats

from keras_zigzag import evaluate_uncertainty
from keras_zigzag.baselines import DeepEnsemble
from keras_zigzag.callbacks import UncertaintyEvaluation
from tests.baselines import toys

pytestmark = [
    pytest.mark.first_quick_on("tensorflow", "torch"),
    pytest.mark.one_quick_on("jax"),
]

layers = keras.layers
CROSSENTROPY = "sparse_categorical_crossentropy"


def build():
    # On PyTorch, Keras draws an unseeded dropout from one generator for all.
    rate = 0.0 if keras.backend.backend() == "torch" else 0.2
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(8, activation="relu", kernel_regularizer="l2"),
            layers.BatchNormalization(),
            layers.Dropout(rate),
            layers.Dense(3, activation="softmax"),
        ],
        name="network",
    )


def test_training_in_two_parts_goes_on_in_the_same_orders():
    x, y = toys.features(6), toys.labels(6)
    weights = []
    for ends in ([3], [1, 3]):
        ensemble = DeepEnsemble.from_model(build, "classification", 2, seed=7)
        ensemble.compile("sgd", CROSSENTROPY)
        start = 0
        for end in ends:
            # Few batches, which Keras reads in advance.
            ensemble.fit(x, y, 4, initial_epoch=start, epochs=end, verbose=0)
            start = end
        weights.append(ensemble.get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("start", ["builder", "base"])
def test_it_equals_members_trained_alone(start):
    x, y = toys.features(30), toys.labels(30)
    base = build() if start == "base" else build
    ensemble = DeepEnsemble.from_model(base, "classification", 3, seed=7)
    ensemble.compile(keras.optimizers.Adam(0.01), CROSSENTROPY)
    logs = ensemble.fit(x, y, epochs=2, batch_size=8, verbose=0).history
    losses = []
    for index, member in enumerate(ensemble.members):
        keras.utils.set_random_seed(7 + index)
        alone = (
            build() if start == "builder" else keras.models.clone_model(base)
        )
        alone.compile(keras.optimizers.Adam(0.01), CROSSENTROPY)
        for epoch in range(2):
            rows = np.random.default_rng([7, index, epoch]).permutation(30)
            history = alone.fit(
                x[rows], y[rows], batch_size=8, shuffle=False, verbose=0
            ).history
        losses.append(history["loss"][-1])
        exact = keras.backend.backend() != "jax"
        for one, other in zip(
            toys.weights_of(member), toys.weights_of(alone), strict=True
        ):
            if exact or one.dtype.kind != "f":
                np.testing.assert_array_equal(one, other)
            else:
                # XLA may add up in another order in the larger program.
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert logs["loss"][-1] == pytest.approx(np.mean(losses), rel=1e-4)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((5, 16, 16), "x: \\[5\\], y: \\[16\\]"),
        ((16, 16, 5), "weight: \\[5\\]"),
    ],
)
def test_arrays_of_different_lengths(sizes, message):
    x, y = toys.features(sizes[0]), toys.labels(sizes[1])
    weight = np.ones(sizes[2], "float32")
    ensemble = DeepEnsemble.from_model(build, "classification", 2)
    ensemble.compile("sgd", CROSSENTROPY)
    with pytest.raises(ValueError, match=message):
        ensemble.fit(x, y, sample_weight=weight, verbose=0)


def test_penalties_count_as_in_one_member():
    inputs = keras.Input((4,))
    head = layers.Dense(1, kernel_regularizer=keras.regularizers.L2(1.0))
    base = keras.Model(inputs, head(inputs))
    base.compile("sgd", "mse")
    x, y = toys.features(), toys.values()
    expected = pytest.approx(base.evaluate(x, y, verbose=0), rel=1e-4)
    ensemble = DeepEnsemble.from_models([base] * 3, "regression")
    ensemble.compile(keras.optimizers.SGD(0.0), "mse")
    logs = ensemble.fit(x, y, validation_data=(x, y), verbose=0).history
    assert ensemble.evaluate(x, y, verbose=0) == expected
    assert logs == {"loss": [expected], "val_loss": [expected]}


def ready(**options):
    ensemble = DeepEnsemble.from_model(build, "classification", 2, **options)
    ensemble.compile(
        keras.optimizers.Adam(0.01), CROSSENTROPY, metrics=["accuracy"]
    )
    return ensemble


class Stop(keras.callbacks.Callback):
    """Ends a run the hard way, after some epochs of all members."""

    def __init__(self, epochs):
        super().__init__()
        self.left = epochs

    def on_epoch_end(self, epoch, logs=None):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.slow_but_on("torch")
def test_one_by_one_equals_together():
    x, y = toys.features(30), toys.labels(30)
    options = {"epochs": 2, "batch_size": 8, "verbose": 0}
    together, single = ready(seed=3), ready(seed=3)
    together.fit(x, y, validation_split=0.2, **options)
    logs = single.fit_one_by_one(x, y, validation_split=0.2, **options)
    assert [len(one.history["val_accuracy"]) for one in logs] == [2, 2]
    for one, other in zip(
        toys.weights_of(together), toys.weights_of(single), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.slow_but_on("torch")
def test_one_by_one_predicts_variances():
    ensemble = DeepEnsemble.from_model(toys.mlp(1, None), "regression", 2)
    ensemble.compile("adam", metrics=["mse"])
    x, y = toys.features(), toys.values()
    logs = ensemble.fit_one_by_one(x, y, validation_data=(x, y), verbose=0)
    assert np.isfinite([one.history["val_loss"] for one in logs]).all()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_by_one_evaluates_uncertainties(task):
    x = toys.features()
    is_regression = task == "regression"
    y = toys.values() if is_regression else toys.labels()
    base = toys.mlp(1, None) if is_regression else toys.mlp()
    ensemble = DeepEnsemble.from_model(base, task, num_members=2, seed=0)
    ensemble.compile("adam", None if is_regression else CROSSENTROPY)
    ood = {"far": x + 2.0}
    evaluation = UncertaintyEvaluation(
        (x, y), ood, on_error="raise", metrics=["far_roc_auc"]
    )
    logs = ensemble.fit_one_by_one(x, y, callbacks=[evaluation], verbose=0)
    for member, log in zip(ensemble.members, logs, strict=True):
        alone = DeepEnsemble([member], task, variance=is_regression)
        expected = evaluate_uncertainty(alone, (x, y), ood)["far_roc_auc"]
        found = log.history["val_far_roc_auc"]
        assert found == [pytest.approx(expected)]


def test_one_by_one_needs_a_score_of_one_answer():
    x, y = toys.features(), toys.labels()
    ensemble = DeepEnsemble.from_model(
        toys.mlp(), "classification", 2, score="mutual_information"
    )
    ensemble.compile("adam", CROSSENTROPY)
    evaluation = UncertaintyEvaluation((x, y))
    with pytest.raises(ValueError, match="Use `fit`.*score='mutual_inf"):
        ensemble.fit_one_by_one(x, y, callbacks=[evaluation], verbose=0)


def test_a_run_that_stopped_goes_on(tmp_path):
    x, y = toys.features(30), toys.labels(30)
    options = {"epochs": 3, "backup_dir": tmp_path / "run", "verbose": 0}
    ensemble = ready(seed=3)
    with pytest.raises(KeyboardInterrupt):
        # In the second epoch of the second member.
        ensemble.fit_one_by_one(x, y, callbacks=[Stop(5)], **options)
    first = toys.weights_of(ensemble.members[0])
    ensemble = ready(seed=3)
    epochs = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: began.append(epoch)
    )
    began = []
    logs = ensemble.fit_one_by_one(x, y, callbacks=[epochs], **options)
    assert logs[0] is None
    assert began == [1, 2]
    toys.assert_same(toys.weights_of(ensemble.members[0]), first)
    # Its dropout goes on where it was too.
    options.pop("backup_dir")
    whole = ready(seed=3)
    whole.fit_one_by_one(x, y, **options)
    toys.assert_same(ensemble.get_weights(), whole.get_weights())
    options["backup_dir"] = tmp_path / "run"
    logs = ready(seed=3).fit_one_by_one(x, y, **options)
    assert logs == [None, None]
    with pytest.raises(ValueError, match="another ensemble"):
        ready(seed=4).fit_one_by_one(x, y, **options)


def test_one_by_one_needs_data_that_can_be_read_again():
    data = ((toys.features(), toys.labels()) for _ in range(2))
    with pytest.raises(ValueError, match="generator"):
        ready().fit_one_by_one(data)
    ensemble = DeepEnsemble.from_model(toys.mlp, "classification", 2)
    with pytest.raises(ValueError, match="compile"):
        ensemble.fit_one_by_one(toys.features(), toys.labels())


def adversarial(base, x, epsilon=0.1):
    ensemble = DeepEnsemble.from_model(
        base, "regression", 2, variance=False, adversarial=epsilon, seed=0
    )
    ensemble.compile("sgd", "mse", metrics=["mse"])
    ensemble.attack.adapt([x])
    return ensemble


def test_adversarial_samples_are_those_of_the_gradient_by_hand():
    inputs = keras.Input((4,))
    base = keras.Model(inputs, layers.Dense(1)(inputs))
    x, y = toys.features(), toys.values()
    ensemble = adversarial(base, x)
    weight = np.ones(24, "float32")
    batch, targets, weights = ensemble.training_batch(x, y, weight)
    for index, member in enumerate(ensemble.members):
        kernel, bias = toys.weights_of(member)
        slope = 2 * (x @ kernel + bias - y) * kernel[:, 0]
        expected = x + 0.1 * np.ptp(x, axis=0) * np.sign(slope)
        moved = keras.ops.convert_to_numpy(batch.inputs.members[index])
        np.testing.assert_array_equal(moved[:24], x)
        np.testing.assert_allclose(moved[24:], expected, rtol=1e-5, atol=1e-6)
        given = keras.ops.convert_to_numpy(targets[index])
        np.testing.assert_array_equal(given, np.concatenate([y, y]))
        assert weights[index].shape == (48,)


def test_adversarial_training_sees_both_and_metrics_the_samples():
    base, x, y = toys.mlp(1, None), toys.features(), toys.values()
    ensemble = adversarial(base, x)
    (batch, *_), before = ensemble.training_batch(x, y), []
    for index, member in enumerate(ensemble.members):
        each = keras.ops.convert_to_numpy(batch.inputs.members[index])
        answer = member.predict(each, verbose=0)
        before.append((answer - np.concatenate([y, y])) ** 2)
    logs = ensemble.fit(x, y, batch_size=24, shuffle=False, verbose=0).history
    found = [value for name, (value,) in logs.items() if name != "loss"]
    assert logs["loss"][0] == pytest.approx(np.mean(before), rel=1e-4)
    clean = [np.mean(each[:24]) for each in before]
    assert found == [pytest.approx(np.mean(clean), rel=1e-4)]


def test_adversarial_samples_of_a_weighted_loss():
    inputs = keras.Input((4,))
    outputs = {name: layers.Dense(1, name=name)(inputs) for name in "ab"}
    base = keras.Model(inputs, outputs)
    x, task = toys.features(), dict.fromkeys("ab", "regression")
    y = {"a": toys.values(seed=3), "b": toys.values(seed=4)}
    factors = {"a": 1.0, "b": 0.25}
    weight = {"a": np.array([1.0, 0.0] * 12), "b": np.ones(24)}
    ensemble = DeepEnsemble.from_model(
        base, task, 2, variance=False, adversarial=0.1
    )
    ensemble.compile("sgd", dict.fromkeys("ab", "mse"), loss_weights=factors)
    ensemble.attack.adapt([x])
    batch, *_ = ensemble.training_batch(x, y, weight)
    member, slope = ensemble.members[0], 0.0
    for name in "ab":
        kernel, bias = toys.weights_of(member.get_layer(name))
        error = factors[name] * weight[name][:, None] * (x @ kernel + bias)
        error -= factors[name] * weight[name][:, None] * y[name]
        slope = slope + error * kernel[:, 0]
    expected = x + 0.1 * np.ptp(x, axis=0) * np.sign(slope)
    moved = keras.ops.convert_to_numpy(batch.inputs.members[0])[24:]
    np.testing.assert_allclose(moved, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("way", ["fit", "fit_one_by_one"])
def test_adversarial_samples_of_labels_without_an_axis(way):
    x, y = toys.features(), toys.labels(high=2)
    weights = []
    for labels in (y, y[:, None]):
        ensemble = DeepEnsemble.from_model(
            toys.mlp(1, "sigmoid"), "binary", 2, adversarial=0.05, seed=0
        )
        ensemble.compile("sgd", "binary_crossentropy")
        getattr(ensemble, way)(x, labels, verbose=0)
        weights.append(ensemble.get_weights())
    toys.assert_same(*weights)


@pytest.mark.slow_but_on("torch")
@pytest.mark.parametrize("way", ["fit", "fit_one_by_one"])
def test_adversarial_training_in_all_ways(way, tmp_path):
    task = {"kind": "classification", "size": "regression"}
    ensemble = DeepEnsemble.from_model(
        toys.two_outputs(), task, 2, adversarial=0.01
    )
    ensemble.compile("adam", {"kind": CROSSENTROPY}, metrics={"size": "mse"})
    x, y = toys.features(), {"kind": toys.labels(), "size": toys.values()}
    getattr(ensemble, way)(x, y, validation_split=0.25, verbose=0)
    np.testing.assert_allclose(
        ensemble.attack.ranges[0], np.ptp(x, axis=0), rtol=1e-5
    )
    ensemble.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    expected = ensemble.predict(x, verbose=0)["uncertainty"]["size"]
    found = loaded.predict(x, verbose=0)["uncertainty"]["size"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    loaded.fit(x, y, verbose=0)


@pytest.mark.parametrize("value", [-0.1, 1, "much", True])
def test_steps_that_are_none(value):
    with pytest.raises(ValueError, match=f"adversarial={value!r}"):
        DeepEnsemble.from_model(
            toys.mlp(), "classification", 2, adversarial=value
        )


@pytest.mark.parametrize("way", ["fit", "fit_one_by_one"])
def test_adversarial_samples_of_whole_numbers(way):
    base = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Rescaling(1 / 255),
            layers.Dense(3, activation="softmax"),
        ]
    )
    x = np.random.default_rng(0).integers(0, 255, (24, 4)).astype("uint8")
    answers = []
    for each in (x, x.astype("float32")):
        ensemble = DeepEnsemble.from_model(
            base, "classification", 2, adversarial=0.3, seed=0
        )
        ensemble.compile("adam", CROSSENTROPY)
        getattr(ensemble, way)(each, toys.labels(), verbose=0)
        answers.append(ensemble.predict(each, verbose=0)["prediction"])
    np.testing.assert_allclose(*answers, rtol=1e-5)


@pytest.mark.parametrize(
    "inputs",
    [
        lambda: keras.Input((4,), dtype="uint8"),
        lambda: keras.Input((None, None)),
    ],
)
def test_adversarial_samples_need_features(inputs):
    inputs = inputs()
    x = layers.Lambda(lambda x: keras.ops.cast(x, "float32"))(inputs)
    if inputs.shape[-1] is None:
        x = layers.Lambda(lambda x: x[..., :4], (None, 4))(x)
    base = keras.Model(inputs, layers.Dense(3, activation="softmax")(x))
    with pytest.raises(ValueError, match="inputs of the shapes and types"):
        DeepEnsemble.from_model(base, "classification", 2, adversarial=0.1)
    DeepEnsemble.from_model(base, "classification", 2)


def test_class_weights_are_for_one_output():
    task = {"kind": "classification", "size": "regression"}
    ensemble = DeepEnsemble.from_model(toys.two_outputs(), task, 2)
    ensemble.compile("adam", {"kind": CROSSENTROPY})
    y = {"kind": toys.labels(), "size": toys.values()}
    with pytest.raises(ValueError, match="targets of 2 outputs"):
        ensemble.fit(toys.features(), y, class_weight={0: 2.0}, verbose=0)
    ready().fit(
        toys.features(), list(toys.labels()), class_weight={0: 2.0}, verbose=0
    )


def test_one_callback_without_a_list():
    stop = keras.callbacks.TerminateOnNaN()
    ready().fit_one_by_one(
        toys.features(), toys.labels(), callbacks=stop, verbose=0
    )


def trained_models(outputs=3, activation="softmax", size=3):
    return [
        toys.randomise(toys.mlp(outputs, activation), seed)
        for seed in range(size)
    ]


@pytest.mark.parametrize("activation", ["softmax", None])
def test_combination_of_classifiers(activation):
    models, x = trained_models(activation=activation), toys.features()
    answers = np.stack([model.predict(x, verbose=0) for model in models])
    p = answers if activation else special.softmax(answers, -1)
    mean = p.mean(0)
    entropy = stats.entropy(mean, axis=-1)
    expected = {
        None: entropy,
        "max_probability": 1 - mean.max(-1),
        "mutual_information": entropy - stats.entropy(p, axis=-1).mean(0),
        "variance": p.var(0).sum(-1),
    }
    for score, value in expected.items():
        ensemble = DeepEnsemble.from_models(
            models, "classification", score=score
        )
        out = ensemble.predict(x, verbose=0)
        np.testing.assert_allclose(out["uncertainty"], value, atol=1e-5)
        answer = out["prediction"]
        if activation is None:
            answer = special.softmax(answer, -1)
        np.testing.assert_allclose(answer, mean, atol=1e-5)


def test_combination_of_binary_logits():
    models, x = trained_models(2, None), toys.features()
    answers = np.stack([model.predict(x, verbose=0) for model in models])
    out = DeepEnsemble.from_models(models, "binary").predict(x, verbose=0)
    mean = special.expit(answers).mean(0)
    np.testing.assert_allclose(
        special.expit(out["prediction"]), mean, atol=1e-5
    )
    expected = sum(stats.entropy([mean[:, i], 1 - mean[:, i]]) for i in (0, 1))
    np.testing.assert_allclose(out["uncertainty"], expected, atol=1e-4)


def test_moments_of_a_mixture():
    x, y = toys.features(), toys.values(num_values=2)
    made = {
        score: toys.randomise(
            DeepEnsemble.from_model(
                toys.mlp(2, None), "regression", 3, score=score
            )
        )
        for score in (None, "variance", "epistemic_variance")
    }
    parts = [m.predict(x, verbose=0) for m in made[None].members]
    mean = np.stack([m for m, _ in parts])
    variance = np.exp(np.stack([s[0] for _, s in parts]))
    # Moments of the mixture: E[μ² + σ²] − E[μ]².
    total = (mean.astype("float64") ** 2 + variance).mean(0) - mean.mean(0) ** 2
    expected = {
        None: np.sqrt(total.sum(-1)),
        "variance": total.sum(-1),
        "epistemic_variance": mean.var(0).sum(-1),
    }
    for score, model in made.items():
        out = model.predict(x, verbose=0)
        np.testing.assert_allclose(out["uncertainty"], expected[score], 1e-4)
        np.testing.assert_allclose(
            out["prediction"], mean.mean(0), rtol=1e-4, atol=1e-5
        )
    model.compile("sgd")
    nll = -stats.norm(mean.mean(0), np.sqrt(total)).logpdf(y).mean()
    assert model.evaluate(x, y, verbose=0) == pytest.approx(nll, rel=1e-4)


def test_values_without_variance():
    models, x = trained_models(1, None), toys.features()
    answers = np.stack([model.predict(x, verbose=0) for model in models])
    ensemble = DeepEnsemble.from_models(models, "regression")
    out = ensemble.predict(x, verbose=0)
    np.testing.assert_allclose(
        out["uncertainty"], answers.std(0)[:, 0], rtol=1e-4
    )
    ensemble = DeepEnsemble.from_model(
        toys.mlp(1, None), "regression", 2, variance=False
    )
    ensemble.compile("adam", "mse")
    assert np.isfinite(toys.fit(ensemble, x, toys.values())["loss"]).all()


def test_members_start_differently():
    inputs = keras.Input((4,))
    frozen = layers.Dense(4, name="frozen")
    x = frozen(inputs)
    frozen.trainable = False
    start = keras.initializers.GlorotUniform(seed=1)
    base = keras.Model(
        inputs, layers.Dense(3, "softmax", kernel_initializer=start)(x)
    )
    before = toys.weights_of(base)
    ensemble = DeepEnsemble.from_model(base, "classification", 2)
    one, two = (toys.weights_of(member) for member in ensemble.members)
    assert not np.allclose(one[2], two[2])
    np.testing.assert_array_equal(one[0], before[0])
    np.testing.assert_array_equal(two[0], before[0])
    toys.assert_same(toys.weights_of(base), before)


def test_several_outputs_with_weights_of_classes_and_a_split():
    task = {"kind": "classification", "size": "regression"}
    model = DeepEnsemble.from_model(toys.two_outputs(), task, 2)
    model.compile("adam", {"kind": CROSSENTROPY}, metrics={"size": "mse"})
    x, y = toys.features(), {"kind": toys.labels(), "size": toys.values()}
    logs = model.fit(x, y, 8, validation_split=0.25, verbose=0).history
    assert np.isfinite(logs["val_loss"] + logs["loss"]).all()
    out = model.predict(x, verbose=0)["uncertainty"]
    assert {name: one.shape for name, one in out.items()} == {
        "kind": (24,),
        "size": (24,),
    }


@pytest.mark.parametrize("way", ["fit", "fit_one_by_one"])
def test_inputs_in_a_list(way):
    first, second = keras.Input((4,)), keras.Input((2,))
    x = keras.layers.Concatenate()([first, second])
    base = keras.Model([first, second], keras.layers.Dense(1)(x))
    model = DeepEnsemble.from_model(base, "regression", 2)
    model.compile("adam")
    x = [toys.features(), toys.features()[:, :2]]
    getattr(model, way)(x, toys.values()[:, :1], verbose=0)
    assert model.predict(x, verbose=0)["uncertainty"].shape == (24,)


def test_weights_of_classes_are_those_of_samples():
    x, y = toys.features(), toys.labels()
    weights = []
    for options in (
        {"class_weight": {0: 1.0, 1: 3.0, 2: 0.5}},
        {"sample_weight": np.array([1.0, 3.0, 0.5])[y]},
    ):
        model = DeepEnsemble.from_model(toys.mlp, "classification", 2, seed=0)
        model.compile("sgd", CROSSENTROPY)
        model.fit(x, y, verbose=0, **options)
        weights.append(toys.weights_of(model))
    for one, two in zip(*weights, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_bad_input():
    with pytest.raises(ValueError, match="num_members=0"):
        DeepEnsemble.from_model(toys.mlp(), "classification", 0)
    with pytest.raises(ValueError, match="same outputs"):
        DeepEnsemble.from_models([toys.mlp(2), toys.mlp(3)], "classification")
    other_inputs = keras.Sequential(
        [keras.Input((5,)), layers.Dense(3, activation="softmax")]
    )
    with pytest.raises(ValueError, match="same inputs"):
        DeepEnsemble.from_models([toys.mlp(), other_inputs], "classification")
    pair = [toys.mlp(), toys.mlp(activation=None)]
    for models in (pair, pair[::-1]):
        with pytest.raises(ValueError, match="all in logits"):
            DeepEnsemble.from_models(models, "classification")
    with pytest.raises(ValueError, match="in a list. Received: members=None"):
        DeepEnsemble.from_models(None, "classification")
    with pytest.raises(ValueError, match=r"members=\[\]"):
        DeepEnsemble.from_models([], "classification")
    with pytest.raises(ValueError, match="score='entropy'"):
        DeepEnsemble.from_models(
            [toys.mlp(1, "sigmoid")], "binary", score="entropy"
        )
    with pytest.raises(ValueError, match="two of them"):
        DeepEnsemble.from_models(
            [toys.mlp()], "classification", score="mutual_information"
        )
    with pytest.raises(ValueError, match="two of them"):
        DeepEnsemble.from_models([toys.mlp(1, None)], "regression")
    model = DeepEnsemble.from_model(toys.mlp(1, None), "regression", 2)
    with pytest.raises(ValueError, match="loss='mse'"):
        model.compile("adam", "mse")
    with pytest.raises(ValueError, match="global_clipnorm"):
        model.compile(keras.optimizers.SGD(global_clipnorm=1.0))
    model.compile("sgd")
    with pytest.raises(ValueError, match="shape"):
        model.fit(toys.features(), toys.values(num_values=2), verbose=0)
