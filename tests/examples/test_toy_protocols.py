import matplotlib.image
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.examples.protocol_files import assert_all_methods, load_file
from tests.examples.scripts import run_example

pytestmark = pytest.mark.backend("tensorflow")
NAMES = ("toy_classification", "toy_regression")


@pytest.mark.parametrize("name", NAMES)
def test_all_methods_of_a_base(name):
    assert_all_methods(load_file(name).protocols(quick=True)[0])


@pytest.mark.parametrize(
    ("name", "passes"), [(NAMES[0], 300), (NAMES[1], 4000)]
)
def test_as_many_steps_as_in_the_example(name, passes):
    (protocol,) = load_file(name).protocols(quick=False)
    data, training = protocol.load(0), protocol.training
    num_steps = len(data.train[0]) / training.batch_size * training.epochs
    assert num_steps == passes


@pytest.mark.parametrize("name", NAMES)
def test_seeds(name):
    (protocol,) = load_file(name).protocols(quick=True)
    data, again, other = (protocol.load(seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(data.train[0], again.train[0])
    assert not np.array_equal(data.train[0], other.train[0])
    train, validation = (
        {tuple(row) for row in x} for x, _ in (data.train, data.validation)
    )
    assert not train & validation
    assert len(train) == protocol.training.batch_size


def test_moons_are_far_from_what_is_unknown():
    module = load_file("toy_classification")
    data = module.protocols(quick=True)[0].load(0)
    known = data.train[0][: module.NUM_SAMPLES]
    far = data.ood["far"]
    assert cdist(far, known).min() > module.FAR
    assert 0 < len(far) < len(module.places()) == 101 * 81
    assert far.dtype == known.dtype == "float32"


def test_cubic_is_seen_and_unseen():
    module = load_file("toy_regression")
    data = module.protocols(quick=True)[0].load(0)
    x, y = data.test
    np.testing.assert_allclose(y, module.truth(x))
    assert x.min() == -1 and x.max() == 3
    unseen = data.ood["unseen"]
    assert len(x) + len(unseen) == 401
    assert not ((unseen >= -1) & (unseen <= 3)).any()
    assert unseen.min() == -4 and unseen.max() == 6


@pytest.mark.slow
def test_pictures(tmp_path):
    output = run_example(
        "protocols/toy_pictures.py",
        "--quick",
        *("--methods", "ZigZagModel", "SingleModel"),
        *("--out", tmp_path),
        timeout=300,
    )
    for name in NAMES:
        path = tmp_path / f"{name}_methods.png"
        assert str(path) in output
        pixels = matplotlib.image.imread(path)
        assert pixels.shape[:2] == (240, 1200)
        assert pixels.std() > 0.05
