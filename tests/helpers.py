"""Two checks that every class of the package has to pass."""

import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

FRESH_PROCESS = Path(__file__).with_name("fresh_process.py")
ROOT = Path(__file__).parents[1]


def assert_config_round_trip(obj):
    """Checks that `obj` survives its config, directly and through JSON.

    Args:
        obj: A Keras object with `get_config` and `from_config`: a layer, a
            prior, a model.

    Returns:
        The object rebuilt from JSON.
    """
    expected = _as_json(obj.get_config())
    missing = _constructor_arguments(obj) - expected.keys()
    assert not missing, f"get_config() leaves out {sorted(missing)}"

    rebuilt = type(obj).from_config(obj.get_config())
    assert _as_json(rebuilt.get_config()) == expected

    serialized = json.dumps(keras.saving.serialize_keras_object(obj))
    restored = keras.saving.deserialize_keras_object(json.loads(serialized))
    assert type(restored) is type(obj)
    assert _as_json(restored.get_config()) == expected
    return restored


def assert_saved_in_fresh_process(model, inputs, rtol=1e-5, atol=1e-6):
    """Checks that a saved model predicts the same in a new process.

    The new process runs on the same backend, imports `keras` and
    `keras_zigzag` only, and loads with `safe_mode=True` and without
    `custom_objects`.

    Args:
        model: A built Keras model.
        inputs: What `model.predict` takes: an array, or a list, tuple or
            dictionary of arrays.
        rtol: Float. Relative tolerance. Defaults to `1e-5`.
        atol: Float. Absolute tolerance. Defaults to `1e-6`.

    Returns:
        What `predict` returned in the new process.
    """
    cases = {"model": (model, inputs)}
    return assert_all_saved_in_fresh_process(cases, rtol, atol)["model"]


def assert_all_saved_in_fresh_process(cases, rtol=1e-5, atol=1e-6):
    """As `assert_saved_in_fresh_process`, for many models in one process.

    Args:
        cases: Dict from strings to tuples of a model and inputs.
        rtol: Float. Relative tolerance. Defaults to `1e-5`.
        atol: Float. Absolute tolerance. Defaults to `1e-6`.

    Returns:
        Dict with what `predict` returned in the new process.
    """
    expected = {
        name: model.predict(inputs, verbose=0)
        for name, (model, inputs) in cases.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        outputs = _predict_in_fresh_process(cases, Path(folder))
    keras.tree.assert_same_structure(expected, outputs)
    for (path, left), (_, right) in zip(
        keras.tree.flatten_with_path(expected),
        keras.tree.flatten_with_path(outputs),
        strict=True,
    ):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(
            left, right, rtol=rtol, atol=atol, err_msg=str(path)
        )
    return outputs


def _as_json(config):
    return json.loads(json.dumps(keras.saving.serialize_keras_object(config)))


def _constructor_arguments(obj):
    if type(obj).__module__.startswith("keras."):
        return set()
    parameters = inspect.signature(type(obj)).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name for p in parameters if p.kind not in variadic}


def _predict_in_fresh_process(cases, folder):
    for name, (model, inputs) in cases.items():
        model.save(folder / f"{name}.keras")
        (folder / f"{name}.inputs").write_bytes(pickle.dumps(inputs))
    search_path = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    finished = subprocess.run(
        [sys.executable, FRESH_PROCESS, folder],
        env=os.environ
        | {
            "KERAS_BACKEND": keras.backend.backend(),
            "PYTHONPATH": os.pathsep.join(filter(None, search_path)),
        },
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return {
        name: pickle.loads((folder / f"{name}.outputs").read_bytes())
        for name in cases
    }
