import numpy as np
import pytest

import keras_zigzag as kz
from tests.evaluation.models import compiled_classifier, segmentation, sets

pytestmark = pytest.mark.first_quick_on("jax", "torch")


def evaluate(ood):
    x, y, _ = sets()
    return kz.evaluate_uncertainty(compiled_classifier(), (x, y), {"far": ood})


def test_nothing_to_say():
    # Warnings are errors in tests.
    *_, ood = sets()
    assert not any("inputs" in hint for hint in evaluate(ood).hints)


@pytest.mark.parametrize("change", [(255, 0), (0.1, 0), (1, 100)])
def test_another_scale(change):
    *_, ood = sets()
    ood = ood * change[0] + change[1]
    with pytest.warns(UserWarning, match="scaled otherwise") as caught:
        report = evaluate(ood)
    message = next(
        str(warning.message)
        for warning in caught
        if warning.category is UserWarning
    )
    assert f"{ood.min():.4g} to {ood.max():.4g}" in message
    x, *_ = sets()
    assert f"against {x.min():.4g} to {x.max():.4g}" in message
    assert "Normalise the OOD set with the statistics of the ID set" in message
    assert message in report.hints and message in str(report)


def test_overlap():
    x, _, ood = sets()
    ood[:5] = x[:5]
    with pytest.warns(UserWarning, match=f"5 of the {len(ood)} inputs"):
        evaluate(ood.astype("float64"))


def test_another_image_size():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 5, 5, 1)).astype("float32")
    y = rng.integers(3, size=(4, 5, 5))
    ood = rng.normal(size=(4, 7, 5, 1)).astype("float32")
    with pytest.warns(UserWarning, match=r"\(7, 5, 1\), those .* \(5, 5, 1\)"):
        kz.evaluate_uncertainty(segmentation(), (x, y), ood)


def test_the_warning_comes_before_the_error_of_the_model():
    with pytest.warns(UserWarning, match=r"\(5,\), those of the ID set \(4,\)"):
        with pytest.raises(Exception):  # noqa: B017 - one per backend
            evaluate(np.ones((3, 5), dtype="float32"))
