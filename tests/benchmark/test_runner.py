"""Experiments that are stopped, go on, fail, and are merged."""

import functools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_zigzag as kz
from keras_zigzag.benchmark import Data, Variant, run, runner
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.benchmark.recipes import Recipe, check_built_anew
from keras_zigzag.benchmark.results import read_records
from keras_zigzag.benchmark.scoring import metrics_of, scores_of
from keras_zigzag.priors import OneHotPrior, ValuePrior
from tests.benchmark import tiny_protocol
from tests.zigzag import toys

pytestmark = pytest.mark.one_quick_on("jax", "torch")
NUMBERS = ("metrics", "entropy_metrics", "by_samples", "missing")


@pytest.fixture(autouse=True)
def costs_nothing(request, monkeypatch):
    """Times differ in each run, and building new models takes most of one."""
    if "real_costs" not in request.keywords:
        monkeypatch.setattr(runner, "costs_of", lambda *arguments: {"size": 1})


def numbers(records):
    return {
        (one["method"], one["seed"]): {key: one[key] for key in NUMBERS}
        for one in records
    }


def stop_after(monkeypatch, num_epochs):
    """Ctrl-C after so many epochs in all."""
    save = runner.EpochBackup.save
    done = []

    def save_and_stop(self, *arguments):
        save(self, *arguments)
        done.append(1)
        if len(done) == num_epochs:
            raise KeyboardInterrupt

    monkeypatch.setattr(runner.EpochBackup, "save", save_and_stop)


@pytest.mark.slow_but_on("tensorflow")
def test_goes_on_where_it_was_stopped_with_the_same_numbers(
    tmp_path, monkeypatch
):
    protocol = tiny_protocol.make(variants=tiny_protocol.VARIANTS)
    whole = run(protocol, seeds=1, out=tmp_path / "whole", progress=False)
    parts = tmp_path / "parts"
    for num_epochs in (1, 3, 2):
        with monkeypatch.context() as context:
            stop_after(context, num_epochs)
            with pytest.raises(KeyboardInterrupt):
                run(protocol, seeds=1, out=parts, progress=False)
    resumed = run(protocol, seeds=1, out=parts, progress=False)
    assert numbers(resumed) == numbers(whole)
    assert not list((parts / "backups").rglob("*.npz"))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_all_methods_go_on_with_the_same_numbers(task, tmp_path, monkeypatch):
    protocol = tiny_protocol.make(task)
    whole = run(protocol, seeds=1, out=tmp_path / "whole", progress=False)
    assert [one["error"] for one in whole] == [None] * len(whole)
    for label in protocol.all_variants():
        with monkeypatch.context() as context:
            stop_after(context, 2)
            with pytest.raises(KeyboardInterrupt):
                run(protocol, label, 1, tmp_path / "parts", progress=False)
    resumed = run(protocol, seeds=1, out=tmp_path / "parts", progress=False)
    assert numbers(resumed) == numbers(whole)


@pytest.mark.slow
@pytest.mark.backend("tensorflow")
@pytest.mark.parametrize("num_kills", [1, 5])
def test_killed_at_random_moments_the_numbers_are_the_same(num_kills, tmp_path):
    """A process that is killed has no time to clean up."""
    file = Path(tiny_protocol.__file__)
    command = [sys.executable, str(file), "--seeds", "1", "--out"]
    environment = os.environ | {"PYTHONPATH": str(file.parents[2])}
    generator = random.Random(0)
    parts = tmp_path / "parts"
    for _ in range(num_kills):
        process = subprocess.Popen(
            [*command, str(parts)], env=environment, stderr=subprocess.DEVNULL
        )
        # Once the first is written each start, most of it imports, comes to
        # a later place.
        time.sleep(generator.uniform(2.0, 6.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    for out in (parts, tmp_path / "whole"):
        subprocess.run([*command, str(out)], env=environment, check=True)
    whole, resumed = (
        read_records(out / "tiny.jsonl") for out in (tmp_path / "whole", parts)
    )
    assert numbers(resumed) == numbers(whole)
    assert len(whole) == len(tiny_protocol.VARIANTS)


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    protocol = tiny_protocol.make(epochs=1)
    first = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    monkeypatch.setattr(runner, "train", None)
    again = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert again == first


def test_what_is_skipped_is_told(tmp_path, monkeypatch, capsys):
    protocol = tiny_protocol.make(epochs=1)
    run(protocol, "SingleModel", 1, tmp_path)
    assert "done already" not in capsys.readouterr().err
    monkeypatch.setattr(runner, "train", None)
    run(protocol, "SingleModel", 1, tmp_path)
    assert "1 of 1 runs are done already" in capsys.readouterr().err


def _of_the_same_layers():
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(8)
    head = keras.layers.Dense(2, activation="softmax")
    return lambda: keras.Model(inputs, head(hidden(inputs)))


@pytest.mark.parametrize("same", ["model", "layers"])
def test_base_models_that_share_weights_are_refused(same, tmp_path):
    build = _of_the_same_layers()
    if same == "model":
        build = functools.partial(lambda model: model, build())
    protocol = tiny_protocol.make(build=build)
    with pytest.raises(ValueError, match="new base model each time"):
        run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert not list(tmp_path.glob("*.jsonl"))


def test_base_models_may_share_what_is_frozen(tmp_path):
    frozen = keras.layers.Dense(8, trainable=False)

    def build():
        inputs = keras.Input((4,))
        head = keras.layers.Dense(2, activation="softmax")
        return keras.Model(inputs, head(frozen(inputs)))

    check_built_anew(tiny_protocol.make(build=build))


def test_a_base_model_that_cannot_be_built_is_noted(tmp_path):
    def build():
        raise TypeError("no base")

    protocol = tiny_protocol.make(build=build)
    (record,) = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert "no base" in record["error"]


def test_a_failure_is_noted_and_the_others_go_on(tmp_path, monkeypatch):
    protocol = tiny_protocol.make(epochs=1)
    labels = ["SNGP", "SingleModel"]
    with monkeypatch.context() as context:
        context.setattr(
            kz.baselines.SNGP, "fit", lambda *a, **k: 1 / 0, raising=True
        )
        failed, good = run(protocol, labels, 1, tmp_path, progress=False)
    assert failed["error"] == "ZeroDivisionError: division by zero"
    assert failed["metrics"] == {} and good["error"] is None
    repeated, _ = run(protocol, labels, 1, tmp_path, progress=False)
    assert repeated["error"] is None and "accuracy" in repeated["metrics"]


def count_epochs(monkeypatch):
    """A list that gets an item for each epoch that is trained."""
    save, saved = runner.EpochBackup.save, []
    monkeypatch.setattr(
        runner.EpochBackup, "save", lambda *a: saved.append(1) or save(*a)
    )
    return saved


def fail_of(monkeypatch, number, name="scores_of"):
    """The run of this number fails after its training."""
    function = getattr(runner, name)
    begun = []

    def fail(*arguments):
        begun.append(1)
        if len(begun) == number:
            raise RuntimeError("out of memory")
        return function(*arguments)

    monkeypatch.setattr(runner, name, fail)


@pytest.mark.parametrize("name", ["scores_of", "evaluated"])
def test_a_failure_after_the_training_does_not_lose_it(
    name, tmp_path, monkeypatch
):
    protocol = tiny_protocol.make(epochs=2)
    with monkeypatch.context() as context:
        fail_of(context, 1, name)
        (failed,) = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert failed["error"] == "RuntimeError: out of memory"
    with monkeypatch.context() as context:
        epochs = count_epochs(context)
        (good,) = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    assert not epochs
    (whole,) = run(protocol, "SingleModel", 1, tmp_path / "w", progress=False)
    assert numbers([good]) == numbers([whole])
    assert not list((tmp_path / "backups").rglob("*.npz"))


def test_a_failure_keeps_the_training_that_others_share(tmp_path, monkeypatch):
    variants = {
        "first": Variant("ZigZagModel"),
        "second": Variant("ZigZagModel", inference={"distance": "l1"}),
    }
    protocol = tiny_protocol.make(variants=variants, epochs=1)
    with monkeypatch.context() as context:
        fail_of(context, 1)
        failed, good = run(protocol, "all", 1, tmp_path, progress=False)
    assert failed["error"] is not None and good["error"] is None
    epochs = count_epochs(monkeypatch)
    run(protocol, "second", 1, tmp_path, progress=False)
    records = run(protocol, "all", 1, tmp_path, progress=False)
    assert [one["error"] for one in records] == [None, None]
    assert not epochs
    assert not list((tmp_path / "backups").rglob("*.npz"))


def test_costs_that_cannot_be_measured_do_not_fail_a_run(tmp_path, monkeypatch):
    protocol = tiny_protocol.make(epochs=1)
    fail_of(monkeypatch, 1, "costs_of")
    with pytest.warns(UserWarning, match="'SingleModel' costs.*out of memory"):
        records = run(protocol, "SingleModel", 2, tmp_path, progress=False)
    first, second = records
    assert first["error"] is None and "accuracy" in first["metrics"]
    assert set(first["cost"]) == {"fit_seconds"}
    assert second["cost"]["size"] == second["cost"]["measured_with_seed"] == 1


def test_data_that_cannot_be_loaded_are_no_failure_of_a_method(tmp_path):
    def load(seed):
        raise ImportError("Install the reader of these data.")

    protocol = tiny_protocol.make(epochs=1, load=load)
    with pytest.raises(ImportError, match="Install the reader"):
        run(protocol, seeds=1, out=tmp_path, progress=False)
    assert read_records(tmp_path / "tiny.jsonl") == []


def test_metrics_are_those_of_the_stored_scores(tmp_path):
    protocol = tiny_protocol.make(epochs=1)
    (record,) = run(protocol, "DeepEnsemble", 1, tmp_path, progress=False)
    path = tmp_path / "scores" / "tiny" / "DeepEnsemble-0.npz"
    scores = dict(np.load(path))
    samples = scores["id_samples_0"]
    assert samples.shape == (72, 5, 2)
    for number in range(1, 6):
        mean = samples[:, :number].mean(axis=1)
        np.testing.assert_allclose(
            scores[f"id_prediction_{number}"], mean, rtol=1e-5
        )
        entropy = -(mean * np.log(mean)).sum(axis=-1)
        np.testing.assert_allclose(
            scores[f"id_uncertainty_{number}"], entropy, rtol=1e-4
        )
        correct = mean.argmax(-1) == scores["id_targets"]
        part = record["by_samples"][str(number)]
        assert part["accuracy"] == pytest.approx(correct.mean())
        assert part["far_roc_auc"] == pytest.approx(
            kz.metrics.roc_auc(entropy, scores[f"ood_far_uncertainty_{number}"])
        )
    assert record["by_samples"]["5"] == record["metrics"]


@pytest.mark.parametrize("aggregate", [None, "mean"])
def test_places_that_a_mask_leaves_out_do_not_count(aggregate):
    nodes = keras.Input((5, 3))
    is_node = keras.Input((5,), dtype="bool")
    x = kz.MaskPlaces()([keras.layers.Dense(4)(nodes), is_node])
    base = keras.Model([nodes, is_node], keras.layers.Dense(1)(x))
    model = kz.ZigZagModel.from_model(base, "regression", aggregate=aggregate)
    toys.randomise(model)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 5, 3)).astype("float32")
    mask = np.arange(5) < rng.integers(2, 6, size=(12, 1))
    y = np.where(mask, rng.normal(size=(12, 5)), 1000.0)[..., np.newaxis]
    test, far = ([x, mask], y), [x + 3.0, mask[::-1]]
    data = Data(train=test, validation=test, test=test, ood={"far": far})
    scores = scores_of(model, data, "regression", batch_size=8)
    expected = kz.evaluate_uncertainty(model, test, {"far": far})
    found = metrics_of(scores, "regression")
    assert dict(found) == pytest.approx(dict(expected), rel=1e-5)


def test_spread_of_one_sample_is_left_out_in_a_regression(tmp_path):
    protocol = tiny_protocol.make("regression", epochs=1)
    (record,) = run(protocol, "MCDropout", 1, tmp_path, progress=False)
    assert list(record["by_samples"]) == ["2", "3", "4", "5"]


def test_entropy_stands_beside_a_distance(tmp_path):
    protocol = tiny_protocol.make(epochs=1)
    zigzag, single = run(
        protocol, ["ZigZagModel", "SingleModel"], 1, tmp_path, progress=False
    )
    assert "raulc" in zigzag["entropy_metrics"]
    assert single["entropy_metrics"] == {}


@pytest.mark.slow
@pytest.mark.real_costs
def test_costs_are_relative_to_the_single_model(tmp_path):
    protocol = tiny_protocol.make(epochs=1)
    record, again = run(protocol, "DeepEnsemble", 2, tmp_path, progress=False)
    cost = record["cost"]
    ratios = {key for key in cost if key != "fit_seconds"}
    assert all(again["cost"][key] == cost[key] for key in ratios)
    assert cost["measured_with_seed"] == 0
    assert cost["size"] == 5.0
    assert cost["changed_layers"] == 0.0
    median, low, high = cost["training_time"]
    assert 0 < low <= median <= high
    assert cost["fit_seconds"] > 0


@pytest.mark.slow
def test_what_differs_in_inference_alone_is_trained_once(tmp_path, monkeypatch):
    inference = [
        {"distance": "l1"},
        {"prior": functools.partial(OneHotPrior, feedback="soft")},
        {"num_passes": 3},
    ]
    variants = {"ZigZag": Variant("ZigZagModel")} | {
        str(number): Variant("ZigZagModel", inference=one)
        for number, one in enumerate(inference)
    }
    protocol = tiny_protocol.make(variants=variants, epochs=2)
    alone = [
        run(protocol, label, 1, tmp_path / label, progress=False)[0]
        for label in variants
    ]
    assert len({str(one["metrics"]) for one in alone}) > 1
    epochs = count_epochs(monkeypatch)
    together = run(protocol, seeds=1, out=tmp_path, progress=False)
    assert numbers(together) == numbers(alone)
    assert len(epochs) == 2
    assert not list((tmp_path / "backups").rglob("*.npz"))
    options = [one["settings"]["options"] for one in together]
    assert options[2] == {"prior": {"OneHotPrior": {"feedback": "soft"}}}


def test_results_of_other_settings_are_refused(tmp_path):
    run(tiny_protocol.make(epochs=1), "SingleModel", 1, tmp_path)
    other = tiny_protocol.make(epochs=2)
    with pytest.raises(ValueError, match="different settings of .*--merge"):
        run(other, "SingleModel", 2, tmp_path)
    merged = run(other, "SingleModel", 2, tmp_path, merge=True, progress=False)
    assert [one["settings"]["training"]["epochs"] for one in merged] == [1, 2]


def test_results_of_other_versions_are_refused(tmp_path):
    protocol = tiny_protocol.make(epochs=1)
    (record,) = run(protocol, "SingleModel", 1, tmp_path, progress=False)
    record["versions"]["keras"] = "3.0.0"
    (tmp_path / "tiny.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match="different versions"):
        run(protocol, "SNGP", 1, tmp_path, progress=False)


def test_a_line_that_was_cut_off_is_repeated(tmp_path):
    protocol = tiny_protocol.make(epochs=1)
    labels = ["SingleModel", "TemperatureScaling"]
    whole = run(protocol, labels, 1, tmp_path, progress=False)
    path = tmp_path / "tiny.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match="cut off"):
        again = run(protocol, labels, 1, tmp_path, progress=False)
    assert numbers(again) == numbers(whole)
    assert len(read_records(path)) == 2


def test_results_of_two_machines_are_merged_by_concatenation(tmp_path):
    protocol = tiny_protocol.make(epochs=1)
    text = ""
    for seed in (0, 1):
        out = tmp_path / str(seed)
        run(protocol, "SingleModel", [seed], out, progress=False)
        text += (out / "tiny.jsonl").read_text()
    path = tmp_path / "tiny.jsonl"
    path.write_text(text)
    assert [one["seed"] for one in read_records(path)] == [0, 1]
    # The second one failed with a seed that had gone well on the first.
    failure = json.loads(text.splitlines()[0]) | {"error": "OSError", "seed": 0}
    path.write_text(text + json.dumps(failure) + "\n")
    assert [one["error"] for one in read_records(path)] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": "Oracle"}, "Unknown method.*SingleModel.*'Oracle'"),
        ({"methods": "TwoModels"}, "not defined for a classification"),
        ({"seeds": 0}, "Received: seeds=0"),
        ({"seeds": [-1]}, "seed"),
    ],
)
def test_bad_arguments(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(tiny_protocol.make(), out=tmp_path, **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "ranking"}, "must be one of.*'ranking'"),
        ({"options": {"Oracle": {}}}, "Unknown method"),
        ({"references": ["Oracle"]}, "Unknown reference.*'Oracle'"),
        ({"references": "SingleModel"}, "list of labels.*'SingleModel'"),
        ({"references": None}, "list of labels.*references=None"),
        (
            {"variants": {"two": tiny_protocol.Variant("TwoModels")}},
            "not defined",
        ),
    ],
)
def test_bad_protocols(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny_protocol.make(**changes)


def test_a_prior_is_made_anew_for_each_model():
    with pytest.raises(ValueError, match="partial.OneHotPrior, …."):
        Variant("ZigZagModel", inference={"prior": OneHotPrior()})
    make = functools.partial(OneHotPrior, presence=False)
    variant = Variant("ZigZagModel", {"prior": make})
    first, second = (variant.arguments["prior"] for _ in range(2))
    assert first is not second and not first.presence


def _settings(protocol, *labels):
    variants = protocol.all_variants()
    return [protocol.settings_of(variants[label]) for label in labels]


def test_positional_arguments_of_a_partial_are_settings():
    priors = {
        "one": functools.partial(ValuePrior, 1, presence=False),
        "two": functools.partial(ValuePrior, 2, presence=False),
        "again": functools.partial(ValuePrior, 2, presence=False),
        "named": functools.partial(ValuePrior, presence=False),
    }
    variants = {
        label: Variant("ZigZagModel", {"prior": prior})
        for label, prior in priors.items()
    }
    protocol = tiny_protocol.make("regression", variants=variants)
    one, two, again, named = _settings(protocol, *priors)
    assert one != two == again
    assert one["options"] == {
        "prior": {"ValuePrior": {"0": 1, "presence": False}}
    }
    # As in the results that there are.
    assert named["options"] == {"prior": {"ValuePrior": {"presence": False}}}
    assert protocol.trained_alike("one") == ["one"]
    assert protocol.trained_alike("two") == ["two", "again"]


def _prior_of(blank):
    def make():
        return OneHotPrior(blank=blank)

    return make


def test_functions_of_one_name_are_not_one_training():
    priors = {
        "local": functools.partial(_prior_of(0.0)),
        "another": functools.partial(_prior_of(-1.0)),
        "lambda": functools.partial(lambda: OneHotPrior(blank=0.0)),
        "another lambda": functools.partial(lambda: OneHotPrior(blank=-1.0)),
    }
    variants = {
        label: Variant("ZigZagModel", {"prior": prior})
        for label, prior in priors.items()
    }
    variants["shared"] = variants["local"]
    protocol = tiny_protocol.make(variants=variants)
    alike = {label: protocol.trained_alike(label) for label in priors}
    assert alike.pop("local") == ["local", "shared"]
    assert alike == {label: [label] for label in alike}


@pytest.mark.parametrize(
    ("name", "options", "has_own"),
    [
        ("SingleModel", {}, True),
        ("EvidentialModel", {}, True),
        ("DeepEnsemble", {}, True),
        ("DeepEnsemble", {"variance": False}, False),
        ("ZigZagModel", {}, False),
    ],
)
def test_the_loss_of_the_protocol_unless_the_model_has_its_own(
    name, options, has_own
):
    protocol = tiny_protocol.make("regression")
    data = protocol.load(0)
    model = Recipe(protocol, Variant(name, options)).trainee(data)
    assert (model.loss == protocol.training.loss) is not has_own
    assert np.isfinite(model.evaluate(*data.test, verbose=0)).all()


def test_one_learning_rate_for_each_epoch():
    with pytest.raises(ValueError, match="2 learning rates and epochs=3"):
        tiny_protocol.Training(3, 8, None, "mse", learning_rates=[0.1, 0.01])


@pytest.mark.parametrize("optimizer", ["adam", keras.optimizers.Adam()])
def test_an_optimizer_is_made_anew_for_each_model(optimizer):
    with pytest.raises(ValueError, match="function that makes one"):
        tiny_protocol.Training(3, 8, optimizer, "mse")


def test_help_of_a_file_names_the_file(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mine.py"])
    with pytest.raises(SystemExit):
        main(tiny_protocol.protocols, ["--help"])
    assert "usage: mine.py" in capsys.readouterr().out


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    stop_after(monkeypatch, 1)
    arguments = ["--seeds", "1", "--out", str(tmp_path)]
    assert main(tiny_protocol.protocols, arguments) == 130
    assert "to go on:\n    python" in capsys.readouterr().err


def test_a_full_disk_is_told_of(tmp_path, monkeypatch, capsys):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner, "write_arrays", full)
    arguments = ["--seeds", "1", "--out", str(tmp_path), "--quick"]
    assert main(tiny_protocol.protocols, arguments) == 1
    assert "No space left on device" in capsys.readouterr().err


def test_unknown_protocols_are_listed(capsys):
    with pytest.raises(SystemExit):
        main(arguments=["run", "mnits"])
    error = capsys.readouterr().err
    assert "'digits'" in error and "Received: 'mnits'" in error


@pytest.mark.backend("tensorflow")
def test_compiled_and_in_half_precision_are_other_settings(tmp_path):
    arguments = ["--quick", "--seeds", "1", "--out", str(tmp_path)]
    before = keras.config.dtype_policy().name

    def run_with(method, *flags):
        options = [*arguments, "--methods", method, *flags]
        assert main(tiny_protocol.protocols, options) == 0
        record = read_records(tmp_path / "tiny.jsonl", merge=True)[-1]
        return record["settings"]

    try:
        settings = run_with("single", "--jit-compile")
        assert settings["training"]["jit_compile"] is True
        assert "dtype" not in settings
        half = "--dtype", "mixed_bfloat16"
        with pytest.raises(SystemExit):
            run_with("dropout", *half)
        settings = run_with("dropout", *half, "--merge")
        assert settings["dtype"] == "mixed_bfloat16"
        with pytest.raises(SystemExit):
            run_with("single")
    finally:
        keras.config.set_dtype_policy(before)
