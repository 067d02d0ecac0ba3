from keras_zigzag.benchmark import metrics


def test_table(capsys):
    metrics.main(["--scores", "500", "--images", "64", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("500 scores")
    rows = [line for line in lines if line.startswith("| `")]
    *rows, predict, by_batch, evaluation = rows
    assert "`UncertaintyEvaluation`" in evaluation
    assert predict.endswith("| 1.00 |")
    count = len(metrics.ON_LOSSES + metrics.ON_CORRECT + metrics.ON_TWO_SETS)
    assert len(rows) == count
    assert len({row.split("|")[1] for row in rows}) == count


def test_peak_is_in_bytes():
    import numpy as np

    assert 8000 <= metrics.peak_bytes(lambda: np.zeros(1000)) < 20_000
