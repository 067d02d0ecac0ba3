"""The whole page, on results and scores that the test writes."""

import re
import shutil

import keras
import numpy as np
import pytest
from matplotlib.image import imread

from keras_zigzag.benchmark import report
from keras_zigzag.benchmark.paper_results import PublishedValue
from keras_zigzag.benchmark.report_figures import (
    calibration_figure,
    curves_figure,
    reliability_figure,
    samples_figure,
)
from keras_zigzag.benchmark.report_panels import (
    add_shared_legend,
    panels,
    shared_labels,
    style,
)
from keras_zigzag.benchmark.report_rows import ENTROPY
from keras_zigzag.benchmark.report_runs import load_results
from keras_zigzag.benchmark.report_section import sections
from tests.benchmark.report_cases import (
    classification_run,
    failed,
    line,
    regression_run,
    samples,
    with_samples,
    write,
)
from tests.benchmark.test_report_latex import check

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="Reports know no backend; they are tested on TensorFlow",
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Three methods and two seeds of three protocols; one run failed."""
    out = tmp_path_factory.mktemp("results")
    lines = []
    for seed in (0, 1):
        lines += [
            classification_run(out, "ZigZagModel", seed, 2.0, True),
            classification_run(out, "SingleModel", seed, 1.8),
            with_samples(classification_run(out, "MCDropout", seed, 2.2)),
        ]
        for name in ("uci-yacht", "uci-energy"):
            lines += [
                regression_run(out, method, seed, 1.0, name)
                for method in ("ZigZagModel", "SingleModel", "TwoModels")
            ]
    lines[2] |= failed("out of\nmemory") | {"seed": 2}
    lines[0] |= {"paper": "mnist"}
    return write(out, lines)


@pytest.fixture(scope="module")
def page(results):
    return report(results, paper=False)


def _images(folder):
    return sorted(path.name for path in folder.glob("*.png"))


def test_page(page, results):
    assert page == results / "report" / "report.md"
    text = page.read_text()
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    single, zigzag = "Against SingleModel", "Against ZigZagModel"
    assert headings == [
        "Results",
        "Blobs → rings",
        "Standard deviations",
        "Two samples",
        f"{zigzag}, over the seeds",
        f"{zigzag}, over the test samples",
        f"{single}, over the seeds",
        f"{single}, over the test samples",
        "Figures",
        "uci: 2 data sets",
        "By data set: upper ROC-AUC",
        "By data set: rejection ratio",
        "Standard deviations",
        f"{zigzag}, over the data sets",
        f"{single}, over the data sets",
        "Figures",
    ]
    assert "1 of 2 runs failed: out of memory (seed 2)" in text
    assert "more than 0.05 below" in text.replace("\n", " ")
    assert "ZigZagModel, entropy of y0" in text
    assert "paired t-test over the seeds, up to 3" in text


def test_figures_are_there_and_not_blank(page):
    names = _images(page.parent)
    assert names == [
        "blobs-cost.png",
        "blobs-reliability.png",
        "blobs-rings-curves.png",
        "blobs-samples.png",
        "uci-cost.png",
        "uci-energy-calibration.png",
        "uci-energy-error.png",
        "uci-energy-upper-curves.png",
        "uci-yacht-calibration.png",
        "uci-yacht-error.png",
        "uci-yacht-upper-curves.png",
    ]
    text = page.read_text()
    for name in names:
        assert f"({name})" in text
        picture = imread(page.parent / name)
        assert picture.shape[1] > 900
        assert np.mean(picture[..., :3] < 0.9) > 0.005
        assert len(np.unique(picture[..., 0])) > 50


def test_a_constant_uncertainty_has_no_calibration_curve():
    targets = np.array([0.0, 1.0, 2.0, 3.0])
    prediction = targets + [0.1, -0.2, 0.3, -0.4]
    uncertainties = {"own": np.arange(1.0, 5.0), "none": np.zeros(4)}
    scores = {
        name: samples("regression", targets, prediction, one)
        for name, one in uncertainties.items()
    }
    (ax,) = calibration_figure(scores).axes
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert len(curves) == 1  # beside the diagonal
    # The error is proportional to the uncertainty.
    np.testing.assert_allclose(*curves[0].get_data())
    del scores["own"]
    assert calibration_figure(scores) is None


def test_titles_of_small_panels_stay_apart():
    labels, p = np.array([0, 1] * 10), np.linspace(0.1, 0.9, 20)
    prediction = np.stack([1 - p, p], axis=-1)
    one = samples("classification", labels, prediction, p)
    names = [
        "ZigZag, 5 heads, prior at the heads",
        "ZigZag, 5 heads, of the last layer",
    ]
    figure = reliability_figure(dict.fromkeys([*names, "c", "d"], one))
    figure.canvas.draw()
    first, second = (
        ax._left_title.get_window_extent() for ax in figure.axes[:2]
    )
    assert first.x1 < second.x0
    title = figure.axes[0]._left_title.get_text()
    assert title.replace("\n", " ").startswith(names[0])


def test_a_long_label_fits_beside_its_panels():
    figure, _ = panels(3, 4, 1.75)
    shared_labels(figure, "x", "error, standard deviations of the targets")
    figure.canvas.draw()
    box = figure._supylabel.get_window_extent()
    assert box.y0 >= 0 and box.y1 <= figure.bbox.height


def test_a_variant_looks_alike_with_and_without_entropies():
    rows = ["hard", f"hard{ENTROPY} of y0", "soft"]
    assert style("soft", rows) == style("soft", ["hard", "soft"])
    assert style(rows[1], rows)["color"] == style("hard", rows)["color"]


def test_variants_and_methods_of_one_figure_look_different():
    labels = ["ZigZag", "ZigZag, l1", "ZigZag, soft", "SingleModel"]
    looks = [tuple(style(one, labels).values()) for one in labels]
    assert len(set(looks)) == len(labels)


@pytest.mark.parametrize("count", [8, 9])
def test_legend_of_long_labels_stays_in_the_figure(count):
    figure, (ax,) = panels(1, 1, height=3.0)
    labels = [f"ZigZag, {i}" for i in range(count - 2)]
    labels += [f"ZigZag, prior at the last hidden layer, {i}" for i in "ab"]
    handles = {one: ax.plot([0, 1])[0] for one in labels}
    add_shared_legend(figure, handles)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_latex(page):
    latex = page.with_suffix(".tex").read_text()
    check(latex)
    assert latex.count(r"\begin{table}") == 13
    assert r"\textbf{" in latex and r"\underline{" in latex


def test_tables_are_aligned(page):
    tables = re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE)
    assert len(tables) == 13
    for table in tables:
        assert len({len(row) for row in table.splitlines()}) == 1


def test_without_scores_elsewhere_and_beside_the_paper(tmp_path):
    value = PublishedValue(0.95, None, "3", "https://example.org/a_b")
    lines = [line("SingleModel", s, paper="mnist") for s in (0, 1)]
    out = write(tmp_path / "results", lines)
    page = report(out, to=tmp_path / "docs" / "PAGE.md", paper=lambda *_: value)
    assert page == tmp_path / "docs" / "PAGE.md"
    text = page.read_text()
    assert "### Beside the paper" in text
    assert "are left out of `blobs`: the files are not in `scores/`" in text
    assert _images(page.parent) == ["blobs-cost.png"]
    check(page.with_suffix(".tex").read_text())
    assert not (out / "report").exists()


def test_errors_come_from_reading(tmp_path):
    with pytest.raises(ValueError, match="There are no results"):
        report(tmp_path)
    assert not list(tmp_path.iterdir())
    write(tmp_path, [line("a"), line("b", versions={"keras_zigzag": "0"})])
    with pytest.raises(ValueError, match="merge=True"):
        report(tmp_path)
    text = report(tmp_path, merge=True).read_text()
    assert "backend tensorflow / keras_zigzag 0;" in text


def test_names_of_files_need_no_quoting(tmp_path):
    write(tmp_path / "results", [line("SingleModel")])
    file = tmp_path / "results" / "blobs.jsonl"
    file.write_text(file.read_text().replace('"blobs"', '"a b/c (d)"'))
    page = report(tmp_path / "results")
    assert _images(page.parent) == ["a-b-c-d-cost.png"]
    assert "(a-b-c-d-cost.png)" in page.read_text()


def _figure_lines(labels):
    lines = [line(label, paper="") for label in labels]
    lines[0]["entropy_metrics"] = {"accuracy": 0.9, "rings_roc_auc": 0.75}
    lines[-1] = with_samples(lines[-1], drop=0.1)
    return lines


def test_samples_figure_draws_what_the_lines_say(tmp_path):
    labels = ["ZigZagModel", "SingleModel", "MCDropout"]
    write(tmp_path, _figure_lines(labels))
    (section,) = sections(load_results(tmp_path), tmp_path)
    figure = samples_figure(section.rows, section.detections)
    (ax,) = figure.axes
    curve, *across = [one for one in ax.lines if one.get_linestyle() != "None"]
    # .7 at five samples; .1 (1/k − 1/5) less at k.
    assert curve.get_xdata() == pytest.approx([1, 2, 5])
    assert curve.get_ydata() == pytest.approx([0.62, 0.67, 0.7])
    assert [one.get_ydata()[0] for one in across] == [0.7, 0.75, 0.7]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "MCDropout",
        "ZigZagModel",
        "ZigZagModel, entropy of y0",
        "SingleModel",
    ]


def test_samples_figure_has_one_setting_for_comparison(tmp_path):
    labels = ["ZigZagModel", "ZigZag, l1", "SingleModel", "DeepEnsemble"]
    lines = _figure_lines(labels)
    lines[1]["class"] = "ZigZagModel"
    write(tmp_path, lines)
    (section,) = sections(load_results(tmp_path), tmp_path)
    (legend,) = samples_figure(section.rows, section.detections).legends
    told = [text.get_text() for text in legend.get_texts()]
    expected = "DeepEnsemble", *labels[::2], "ZigZagModel, entropy of y0"
    assert sorted(told) == sorted(expected)


def test_samples_figure_leaves_out_what_failed(tmp_path):
    labels = ["ZigZagModel", "SingleModel", "MCDropout", "DeepEnsemble"]
    ours, single, dropout, ensemble = _figure_lines(labels)
    far_below = {"accuracy": 0.4, "raulc": 0.1, "rings_roc_auc": 0.6}
    dropout = with_samples(dropout) | {"metrics": far_below}
    write(tmp_path, [ours | failed(), single, dropout, ensemble])
    (section,) = sections(load_results(tmp_path), tmp_path)
    figure = samples_figure(section.rows, section.detections)
    (legend,) = figure.legends
    told = [text.get_text() for text in legend.get_texts()]
    assert told == ["DeepEnsemble", "SingleModel"]
    out = write(tmp_path / "without", [ours | failed(), single, dropout])
    (section,) = sections(load_results(out), out)
    assert samples_figure(section.rows, section.detections) is None


def test_remarks_open_the_page(tmp_path):
    write(tmp_path, [line("SingleModel", 0), line("ZigZagModel", 0)])
    (tmp_path / "remarks.md").write_text("No GPU was at hand.\n")
    told = report(tmp_path).read_text()
    assert told.startswith("# Results\n\nNo GPU was at hand.\n")


def test_sections_have_pictures_of_their_own(tmp_path):
    lines = [
        classification_run(tmp_path, name, 0) | {"protocol": protocol}
        for protocol in ("my set", "my-set")
        for name in ("ZigZagModel", "SingleModel")
    ]
    for protocol in ("my set", "my-set"):
        scores = tmp_path / "scores"
        shutil.copytree(scores / "blobs", scores / protocol)
    write(tmp_path, lines)
    text = report(tmp_path).read_text()
    shown = re.findall(r"\]\(([^)]*png)\)", text)
    assert len(shown) == len(set(shown)) > 1
    for name in shown:
        assert (tmp_path / "report" / name).exists()


def test_an_ood_set_that_one_method_lacks(tmp_path):
    lines = [
        classification_run(tmp_path, name, 0)
        for name in ("ZigZagModel", "SingleModel", "MCDropout")
    ]
    for missing in ("ZigZagModel", "MCDropout"):
        path = tmp_path / "scores" / "blobs" / f"{missing}-0.npz"
        with np.load(path) as arrays:
            kept = {k: v for k, v in arrays.items() if "ood_" not in k}
            every = dict(arrays)
        np.savez(path, **kept)
        write(tmp_path / missing, lines)
        (tmp_path / missing / "scores").symlink_to(tmp_path / "scores")
        assert report(tmp_path / missing).exists()
        np.savez(path, **every)


def test_an_ood_set_that_no_run_has_seen_has_no_curves():
    one = samples("regression", np.ones(4), np.ones(4), np.arange(4.0))
    assert curves_figure({"own": one}, "new") is None


@pytest.mark.parametrize("shape", [(6,), (6, 4, 4)])
def test_losses_of_places(shape):
    rng = np.random.default_rng(0)
    targets, p = rng.integers(3, size=shape), rng.random((*shape, 3))
    wrong = (p.argmax(-1) != targets).astype("float64")
    for labels in (targets, np.eye(3)[targets]):
        each = samples("classification", labels, p, np.zeros(shape))
        np.testing.assert_array_equal(each.loss, wrong.ravel())
        np.testing.assert_array_equal(each.id.targets, targets.ravel())
