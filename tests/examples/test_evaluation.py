import itertools

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


class TestLift:
    def test_by_hand(self):
        # F = 1, 1, 2/3, 3/4, and F(1) = 3/4: the mean lift is 41/36.
        correct, uncertainty = [1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
        assert evaluation.aulc(correct, uncertainty) == pytest.approx(5 / 36)
        # The oracle has F = 1, 1, 1, 3/4 and a mean lift of 5/4.
        assert evaluation.raulc(correct, uncertainty) == pytest.approx(5 / 9)

    def test_order_of_the_samples_does_not_matter(self):
        correct, uncertainty = [0, 1, 1, 1], [0.3, 0.2, 0.4, 0.1]
        assert evaluation.aulc(correct, uncertainty) == pytest.approx(5 / 36)

    def test_oracle_is_one(self):
        correct = np.array([1, 0, 1, 1, 0])
        assert evaluation.raulc(correct, 1 - correct) == pytest.approx(1.0)

    def test_worst_order_is_negative(self):
        # F = 0, 1/2, 2/3, 3/4 against F = 1, 1, 1, 3/4.
        correct = [0, 1, 1, 1]
        assert evaluation.raulc(correct, [1, 2, 3, 4]) == pytest.approx(
            ((0 + 1 / 2 + 2 / 3 + 3 / 4) / 3 - 1) / 0.25
        )

    def test_constant_score_is_a_random_order(self):
        assert evaluation.raulc([1, 0, 1], [2.0, 2.0, 2.0]) == 0.0

    def test_ties_count_with_their_expected_value(self):
        correct = np.array([1, 0, 1, 1, 0, 1])
        uncertainty = np.array([0, 1, 1, 1, 2, 2])
        over_orders = [
            evaluation.aulc(correct[[0, *tied, *last]], range(6))
            for tied in itertools.permutations([1, 2, 3])
            for last in itertools.permutations([4, 5])
        ]
        assert evaluation.aulc(correct, uncertainty) == pytest.approx(
            np.mean(over_orders)
        )

    def test_no_mistakes(self):
        with pytest.raises(ValueError, match="3 samples, all of them correct"):
            evaluation.raulc([1, 1, 1], [0.1, 0.2, 0.3])

    def test_only_mistakes(self):
        with pytest.raises(ValueError, match="at least one correct sample"):
            evaluation.aulc([0, 0], [0.1, 0.2])

    def test_nan(self):
        with pytest.raises(ValueError, match="Received: 1 NaN of 2"):
            evaluation.raulc([1, 0], [0.1, float("nan")])


class TestDetection:
    def test_by_hand(self):
        # Three of the four pairs are in the right order.
        assert evaluation.roc_auc([0.1, 0.4], [0.35, 0.8]) == 0.75
        # Precision 1 at recall 1/2 and 2/3 at recall 1.
        assert evaluation.pr_auc([0.1, 0.4], [0.35, 0.8]) == pytest.approx(
            5 / 6
        )

    def test_constant_score(self):
        assert evaluation.roc_auc([1.0, 1.0, 1.0], [1.0]) == 0.5
        assert evaluation.pr_auc([1.0, 1.0, 1.0], [1.0]) == 0.25


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
