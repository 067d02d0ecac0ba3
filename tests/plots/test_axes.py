"""What all plots have in common."""

import subprocess
import sys

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from keras_zigzag import plots
from keras_zigzag.plots.axes import TICK_SIZE, axes_for
from tests.plots.cases import CASES, ID, OOD, labels


@pytest.fixture
def axes():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_every_plot_has_a_case():
    public = {name for name in vars(plots) if callable(getattr(plots, name))}
    assert public == CASES.keys() | {"report"}


@pytest.mark.parametrize("name", CASES)
def test_makes_a_figure_of_its_own(name, rendered):
    ax = rendered(CASES[name]())
    assert isinstance(ax.figure, Figure)
    assert ax.figure.get_figwidth() == 3.3
    box = ax.figure.get_tightbbox()
    assert box.x0 >= 0.0 and box.x1 <= 3.3
    assert box.y0 >= 0.0 and box.y1 <= ax.figure.get_figheight()


@pytest.mark.parametrize("name", CASES)
def test_draws_into_the_given_axes(name, axes, rendered):
    assert CASES[name](ax=axes) is axes
    rendered(axes)


@pytest.mark.parametrize("name", CASES)
def test_refuses_what_is_no_axes(name, axes):
    with pytest.raises(ValueError, match="Received: ax="):
        CASES[name](ax=axes.figure)


def test_a_notebook_shows_the_axes():
    ax = plots.roc_curve(ID, OOD)
    for shown in (ax, ax.figure):
        assert shown._repr_png_().startswith(b"\x89PNG")


def test_a_legend_in_a_figure_without_layout_is_inside(axes):
    plots.roc_curve(ID, OOD, ax=axes)
    axes.figure.canvas.draw()
    inside = axes.get_legend().get_window_extent()
    outside = axes.get_window_extent()
    assert outside.y0 <= inside.y0 and inside.y1 <= outside.y1


def test_a_legend_of_ours_is_below_the_data(rendered):
    ax = rendered(plots.roc_curve(ID, OOD))
    legend = ax.get_legend().get_window_extent()
    assert legend.y1 < ax.xaxis.label.get_window_extent().y0


def test_a_long_name_is_wrapped(rendered):
    ax = rendered(plots.roc_curve(ID, {"word " * 30: ID}))
    assert ax.get_legend().get_texts()[0].get_text().count("\n") >= 3
    assert ax.figure.get_tightbbox().x1 <= 3.3


def test_a_second_call_goes_on_with_other_colours():
    ax = plots.roc_curve(ID, {"one": OOD["near"]})
    plots.roc_curve(ID, {"two": OOD["far"]}, ax=ax)
    assert [label.split(",")[0] for label in labels(ax)] == [
        "one",
        "random",
        "two",
    ]
    colors = [line.get_color() for line in ax.lines]
    assert len(set(colors)) == len(colors)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    monkeypatch.delitem(sys.modules, "keras_zigzag.plots.shown", raising=False)
    with pytest.raises(ImportError, match="extra `plot`"):
        plots.roc_curve(ID, OOD)


def test_the_package_imports_without_matplotlib():
    # Keras itself imports Matplotlib where it is installed.
    code = (
        "import sys; sys.modules['matplotlib'] = None; import keras_zigzag;"
        "assert 'keras_zigzag.plots.shown' not in sys.modules;"
        "assert callable(keras_zigzag.plots.roc_curve)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_minor_ticks_have_the_size_of_the_others(rendered):
    ax = axes_for(None)
    ax.set(yscale="log", ylim=(2e-3, 8e-2))
    rendered(ax)
    labels = ax.get_yticklabels(minor=True)
    assert any(label.get_text() for label in labels)
    assert {label.get_size() for label in labels} == {TICK_SIZE}
