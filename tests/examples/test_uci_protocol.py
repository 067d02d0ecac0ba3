import numpy as np
import pytest

from tests.examples.protocol_files import assert_all_methods, load_file

pytestmark = pytest.mark.backend("tensorflow")


@pytest.fixture
def uci():
    return load_file("uci")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Yacht with as many features: the fourth has the most values."""
    monkeypatch.setenv("KERAS_ZIGZAG_UCI_DIR", str(tmp_path))
    generator = np.random.default_rng(0)
    table = generator.integers(0, 5, (200, 7)).astype(float)
    table[:, 0] = 7.0
    table[:, 3] = np.arange(200)
    table[:, 6] = generator.normal(50.0, 3.0, 200)
    header = ",".join([*(f"x{index}" for index in range(6)), "y"])
    np.savetxt(
        tmp_path / "yacht.csv", table, delimiter=",", header=header, comments=""
    )
    return tmp_path


def find(protocols, name):
    return next(one for one in protocols if one.name == name)


def test_names_and_groups(uci):
    protocols = uci.protocols(quick=False)
    assert len(protocols) == 18
    assert len({one.name for one in protocols}) == 18
    groups = {one.name: one.group for one in protocols}
    assert groups["uci-yacht"] == "uci"
    assert groups["uci-yacht-random"] == "uci-random"


def test_a_random_split_alone_is_held_against_the_paper(uci):
    """Without the upper part of a feature the test set is another one."""
    papers = {one.name: one.paper for one in uci.protocols(quick=False)}
    assert papers.pop("uci-boston-random") == "boston-notebook"
    assert not any(papers.values())


def test_all_methods_of_the_base(uci):
    assert_all_methods(find(uci.protocols(True), "uci-yacht"))


def test_shifted(uci, folder):
    data = find(uci.protocols(True), "uci-yacht").load(0)
    (x, y), (x_val, y_val) = data.train, data.validation
    x_test = data.test[0]
    ood = data.ood["shifted"]
    assert [len(one) for one in (x, x_val, x_test, ood)] == [122, 14, 34, 30]
    assert y.shape == (122, 1) and y_val.shape == (14, 1)
    known = np.concatenate([x, x_val, x_test])[:, 3]
    assert len(np.unique(known)) == 170
    assert known.max() < ood[:, 3].min()
    np.testing.assert_allclose(x[:, 1:].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(x[:, 1:].std(axis=0), 1, atol=1e-5)
    np.testing.assert_array_equal(x[:, 0], 0)
    np.testing.assert_allclose([y.mean(), y.std()], [0, 1], atol=1e-5)
    assert x.dtype == y.dtype == ood.dtype == "float32"
    # All by the statistics of the training set: one step is one step.
    steps = np.diff(np.sort(np.concatenate([known, ood[:, 3]])))
    np.testing.assert_allclose(steps, steps[0], rtol=1e-3)


def test_seeds(uci, folder):
    protocol = find(uci.protocols(True), "uci-yacht")
    first, again, other = (protocol.load(seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.train[0], again.train[0])
    assert not np.array_equal(first.test[1], other.test[1])
    assert len(first.ood["shifted"]) == len(other.ood["shifted"])


def test_random(uci, folder):
    data = find(uci.protocols(True), "uci-yacht-random").load(0)
    assert data.ood == {}
    sizes = [len(x) for x, _ in (data.train, data.validation, data.test)]
    assert sizes == [162, 18, 20]


def test_rows_are_capped(uci, folder):
    x = np.arange(50).reshape(50, 1)
    a, b = uci.capped(x, x, seed=0, max_rows=20)
    assert len(a) == 20 and len(set(a[:, 0])) == 20
    np.testing.assert_array_equal(a, b)
    assert len(uci.capped(x, x, seed=0, max_rows=100)[0]) == 50


def test_upper_part_keeps_equal_values_together(uci):
    values = np.array([0] * 80 + [1] * 8 + [2] * 12)
    assert uci.is_upper(values, 0.15).sum() == 12
    assert uci.is_upper(values, 0.18).sum() == 20


def test_missing(uci, folder):
    with pytest.raises(FileNotFoundError, match="energy.csv"):
        find(uci.protocols(True), "uci-energy").load(0)


@pytest.mark.slow
def test_real_tables_have_as_many_features(uci, tfds_data_dir):
    for protocol in uci.protocols(quick=True):
        try:
            data = protocol.load(0)
        except FileNotFoundError as error:
            pytest.skip(str(error))
        x, y = data.train
        assert protocol.build().input_shape[1] == x.shape[1]
        assert np.isfinite(x).all() and y.std() == pytest.approx(1, abs=1e-3)
        if protocol.group == "uci":
            num_known = len(data.test[0]) + len(x)
            share = len(data.ood["shifted"]) / (
                num_known + len(data.validation[0]) + len(data.ood["shifted"])
            )
            assert 0.1 < share < 0.2
