import evaluation
import numpy as np
import pytest


class TestPredictions:
    def test_accuracy(self):
        probabilities = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]
        assert evaluation.accuracy([0, 1, 1, 1], probabilities) == 0.75

    def test_entropy(self):
        result = evaluation.entropy([[0.5, 0.5], [1.0, 0.0], [0.75, 0.25]])
        expected = [np.log(2), 0.0, 2 * np.log(2) - 0.75 * np.log(3)]
        np.testing.assert_allclose(result, expected)


class TestTable:
    ROWS = {
        "first": [
            {"accuracy": 0.9, "rAULC": 0.5},
            {"accuracy": 0.8, "rAULC": 0.7},
        ],
        "second one": [
            {"accuracy": 1.0, "rAULC": -0.1},
            {"accuracy": 1.0, "rAULC": 0.1},
        ],
    }

    def test_mean_and_spread(self):
        lines = evaluation.table(self.ROWS).splitlines()
        cells = [[c.strip() for c in line.split("|")[1:-1]] for line in lines]
        assert cells[0] == ["", "accuracy", "rAULC"]
        assert cells[2] == ["first", "0.850 ± 0.071", "0.600 ± 0.141"]
        assert cells[3] == ["second one", "1.000 ± 0.000", "0.000 ± 0.141"]
        assert len({len(line) for line in lines}) == 1

    def test_one_seed_has_no_spread(self):
        lines = evaluation.table({"first": self.ROWS["first"][:1]})
        assert "0.900" in lines
        assert "±" not in lines


def test_scores():
    result = evaluation.scores(
        labels=[0, 1, 1, 1],
        probabilities=[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]],
        id_uncertainty=[0.1, 0.2, 0.3, 0.4],
        ood_uncertainty=[0.35, 0.8],
    )
    assert result == {
        "accuracy": 0.75,
        "rAULC": pytest.approx(5 / 9),
        "OOD ROC-AUC": 7 / 8,
        "OOD PR-AUC": pytest.approx((1 + 2 / 3) / 2),
    }
