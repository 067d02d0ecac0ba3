import pytest

from keras_zigzag.benchmark.report_failures import (
    ACCURACY_BELOW,
    ERROR_TIMES,
    judge,
)
from keras_zigzag.benchmark.report_run import Run
from keras_zigzag.benchmark.report_runs import load_results, load_runs
from tests.benchmark.report_cases import failed, line, regression, write


def test_no_results(tmp_path):
    with pytest.raises(ValueError, match="looked for .*jsonl.* run digits"):
        load_runs(tmp_path)
    with pytest.raises(ValueError, match="There are no results"):
        load_runs(tmp_path / "nowhere")


def test_the_last_line_of_a_method_and_a_seed_counts(tmp_path):
    once, again = line("a", error="once"), line("a", error="again")
    write(tmp_path, [once, line("a", seed=1), again])
    errors = {one["seed"]: one["error"] for one in load_runs(tmp_path)}
    assert errors == {0: "again", 1: None}
    # But what went well stays, also in another file.
    write(tmp_path, [line("a")])
    write(tmp_path, [once], "-two")
    assert not any(one["error"] for one in load_runs(tmp_path))


def test_files_are_merged(tmp_path):
    write(tmp_path, [line("a")])
    write(tmp_path, [line("b"), regression("a")], "-two")
    first, second = load_results(tmp_path)
    assert [run.method for run in first.runs] == ["a", "b"]
    assert (first.title, second.group) == ("Blobs → rings", "uci")


def test_a_line_that_is_cut_off_is_left_out(tmp_path):
    file = write(tmp_path, [line("a"), line("b")]) / "blobs.jsonl"
    file.write_text(file.read_text()[:-20])
    with pytest.warns(UserWarning, match="line 2 is cut off"):
        (only,) = load_runs(tmp_path)
    assert only["method"] == "a"


@pytest.mark.parametrize(
    "other",
    [
        line("b", versions={"keras_zigzag": "0.2.0"}),
        line("b", settings={"training": {"epochs": 4}}),
        line("a", seed=1, digest="other"),
    ],
)
def test_different_settings_or_versions_are_refused(tmp_path, other):
    write(tmp_path, [line("a"), other])
    with pytest.raises(ValueError, match="different .*(settings|versions)"):
        load_runs(tmp_path)
    assert len(load_runs(tmp_path, merge=True)) == 2


def test_settings_that_were_replaced_are_no_others(tmp_path):
    old = line("a", versions={"backend": "jax"})
    write(tmp_path, [old, line("a")])
    assert len(load_runs(tmp_path)) == 1


def _runs(*values, key="accuracy", method="a"):
    return [
        Run.from_json(line(method, seed, metrics={key: value}))
        for seed, value in enumerate(values)
    ]


def test_accuracy_far_below_the_single_model():
    singles = _runs(0.9, 0.8, method="SingleModel")
    limit = 0.85 - ACCURACY_BELOW
    judged = judge(singles + _runs(limit - 1e-6, limit + 1e-6), "")
    assert [bool(run.failure) for run in judged] == [False, False, True, False]
    assert judged[2].failure == (
        "accuracy 0.800 is more than 0.05 below the single model's 0.850"
    )


def test_error_far_above_the_single_model():
    singles = _runs(2.0, key="mae", method="SingleModel")
    limit = ERROR_TIMES * 2.0
    others = _runs(limit - 1e-6, limit + 1e-6, key="mae")
    judged = judge(singles + others, "regression")
    assert [bool(run.failure) for run in judged] == [False, False, True]


def test_a_single_model_that_did_not_train_hides_no_other():
    runs = _runs(0.9, 0.9, 0.1, method="SingleModel") + _runs(0.6)
    judged = judge(runs, "classification")
    assert [bool(run.failure) for run in judged] == [False, False, True, True]


def test_without_a_single_model_errors_alone_are_failures():
    broken = Run.from_json(line("b", **failed("no memory")))
    judged = judge([*_runs(0.1), broken], "classification")
    assert [run.failure for run in judged] == ["", "no memory"]


def test_a_run_without_its_main_metric_has_failed():
    undefined = line("a", metrics={"mae": None}, missing={"mae": "Not finite."})
    (run,) = judge([Run.from_json(undefined)], "regression")
    assert run.failure == "Not finite."
    nan = Run.from_json(line("a", metrics={"mae": float("nan")}))
    assert "there is no mae" in judge([nan], "regression")[0].failure


def test_ood_sets_are_in_the_order_of_the_protocol(tmp_path):
    metrics = {"accuracy": 0.9, "b_c_roc_auc": 0.5, "a_roc_auc": 0.6}
    write(tmp_path, [line("a", metrics=metrics)])
    (results,) = load_results(tmp_path)
    assert results.ood_sets == ["b_c", "a"]


def test_a_run_that_answers_nan_has_failed_whatever_its_accuracy():
    reason = "`probabilities` must not hold NaN or infinity."
    nan = [
        line(name, metrics={"accuracy": 0.5}, missing={"nll": reason})
        for name in ("SingleModel", "a")
    ]
    judged = judge(map(Run.from_json, nan), "classification")
    assert [run.failure for run in judged] == [reason, reason]
