import numpy as np
import pytest

from keras_zigzag.metrics import inputs


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        (True, False),
        np.array([1.0, 2.0], dtype="float16"),
        np.array([1.5, 2], dtype=object),
        np.ma.array([1.0, 2.0]),
    ],
)
def test_numbers(values):
    result = inputs.as_numbers(values, "x")
    assert result.dtype.kind in "biuf"
    np.testing.assert_array_equal(result, np.asarray(values).astype("float64"))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    result = inputs.as_numbers(np.array([1, 2.5], ml_dtypes.bfloat16), "x")
    assert result.tolist() == [1.0, 2.5]


def test_columns_of_tables():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0]}, index=[7, 3])
    assert inputs.as_numbers(frame["x"], "x").tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "values",
    [
        ["0.1", "0.2"],
        np.array(["1", 2], dtype=object),
        [1j, 2],
        [None, "a"],
        [[1], {}],
    ],
)
def test_no_numbers(values):
    values = np.array(values, dtype=None if values[0] != [1] else object)
    with pytest.raises(ValueError, match="`x` must hold real numbers. Rec"):
        inputs.as_numbers(values, "x")


def test_shapes():
    with pytest.raises(ValueError, match="Received: the single value 3.0"):
        inputs.as_numbers(3.0, "x")
    with pytest.raises(ValueError, match=r"Received: an array of shape \(0, 2"):
        inputs.as_numbers(np.zeros((0, 2)), "x")


def test_masked_values():
    column = np.ma.masked_array([0.1, 9.0, 0.3], mask=[False, True, False])
    with pytest.raises(ValueError, match="Received: 1 masked of 3"):
        inputs.as_numbers(column, "x")
    unmasked = np.ma.masked_array([0.1, 9.0], mask=False)
    assert inputs.as_numbers(unmasked, "x").tolist() == [0.1, 9.0]


def test_finite():
    for bad in (np.inf, -np.inf, np.nan):
        with pytest.raises(ValueError, match="1 such values of 2"):
            inputs.as_finite([bad, 1.0], "x")
    with pytest.raises(ValueError, match="2 such values of 2"):
        inputs.as_finite([-np.inf, np.inf], "x")
    with pytest.raises(ValueError, match="a sum too big"):
        inputs.as_finite([1e308, 1e308], "x")


def test_weight():
    assert inputs.as_weight(None) is None
    assert inputs.as_weight([0, 2]).tolist() == [0.0, 2.0]
    with pytest.raises(ValueError, match="smallest value of -1.0"):
        inputs.as_weight([-1, 1])
    with pytest.raises(ValueError, match="Received: 2 zeros"):
        inputs.as_weight([0, 0])


def test_the_input_is_left_as_it_is():
    from keras_zigzag import metrics

    loss, score, weight = np.random.default_rng(0).uniform(size=(3, 50))
    copies = [a.copy() for a in (loss, score, weight)]
    for metric in (
        metrics.aurc,
        metrics.aulc_regression,
        metrics.raulc_regression,
        metrics.pearson,
        metrics.spearman,
        metrics.cumulative_calibration_error,
    ):
        metric(loss, score, weight)
    for array, copy in zip((loss, score, weight), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
