"""What every test shares: seeds, a clean session, few threads, real data."""

import gc
import os
from pathlib import Path

# Read when a backend starts, so set before Keras is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MPLBACKEND", "Agg")
# JAX compiles every small operation. What it takes to do so is most of the
# time of its tests, so little is optimised and all workers share the results.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR",
    str(Path(__file__).parent.parent / ".pytest_cache" / "jax"),
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_threads = str(max(1, (os.cpu_count() or 1) // _workers))
os.environ.setdefault("OMP_NUM_THREADS", _threads)
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", _threads)

import hypothesis  # noqa: E402
import keras  # noqa: E402
import pytest  # noqa: E402

pytest.register_assert_rewrite("tests.helpers")

hypothesis.settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None
)
hypothesis.settings.load_profile("repeatable")


def pytest_configure():
    if keras.backend.backend() == "tensorflow":
        _split_cpu_in_two()


def _split_cpu_in_two():
    # TensorFlow takes this only before its first operation, and the tests
    # of tf.distribute need two devices.
    import tensorflow as tf

    half = tf.config.LogicalDeviceConfiguration()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [half, half])


# Before pytest looks at who is marked slow.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    current = keras.backend.backend()
    seen = set()
    for item in items:
        quick_on = item.get_closest_marker("slow_but_on")
        is_slow = bool(quick_on) and current not in quick_on.args
        for marker, group in (
            ("first_quick_on", (item.parent, item.originalname)),
            ("one_quick_on", item.path),
        ):
            found = item.get_closest_marker(marker)
            if found and current in found.args and group in seen:
                is_slow = True
            seen.add(group)
        if is_slow:
            item.add_marker(pytest.mark.slow)
        marker = item.get_closest_marker("backend")
        if marker and current not in marker.args:
            names = " or ".join(marker.args)
            reason = f"Needs the {names} backend. Received: {current}"
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish():
    # What the imports left behind is no garbage to be looked for.
    gc.freeze()


@pytest.fixture(autouse=True)
def fresh_keras():
    """Gives each test the same seed and leaves no session behind."""
    keras.utils.set_random_seed(0)
    yield
    # Python collects garbage by itself; after each test it would take long.
    keras.backend.clear_session(free_memory=False)


@pytest.fixture(scope="session")
def tfds_data_dir():
    """The folder of real data, or a skip that says how to have it."""
    folder = os.environ.get("TFDS_DATA_DIR")
    if not folder or not Path(folder).is_dir():
        pytest.skip(
            "Needs real data: set TFDS_DATA_DIR to a data_dir of "
            f"tensorflow_datasets. Received: TFDS_DATA_DIR={folder!r}"
        )
    pytest.importorskip("tensorflow_datasets")
    return folder


@pytest.fixture(scope="session")
def two_replicas():
    """A `tf.distribute` strategy, the only one of the process.

    Each strategy numbers its collective operations from the same number on,
    and TensorFlow takes those of a second one for those of the first.
    """
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
