"""Exports models, runs them in a new process and compares with `predict`."""

import importlib.util
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import pytest

RUN_ARTIFACTS = Path(__file__).with_name("run_artifacts.py")
BACKEND = keras.backend.backend()
# Samples that get a bad value, and the value.
BAD_VALUES = {1: np.nan, 2: np.inf, 3: -np.inf}


class Runtime(NamedTuple):
    """Something that runs artifacts.

    Attributes:
        format: String, as of `export`.
        suffix: String, the ending of the file's name.
        needs: Dict from a backend that can export to the modules that it
            takes there.
        free_batch_size: Boolean. Whether any number of samples can be run.
    """

    format: str
    suffix: str
    needs: dict[str, tuple[str, ...]]
    free_batch_size: bool = True


TF = "tensorflow"
RUNTIMES = {
    "saved_model": Runtime(
        "tf_saved_model", "", {"tensorflow": (), "jax": (TF,)}
    ),
    "tfsm_layer": Runtime("tf_saved_model", "", {"tensorflow": ()}),
    "onnx": Runtime(
        "onnx",
        ".onnx",
        {
            "tensorflow": ("tf2onnx", "onnxruntime"),
            "jax": ("jax2onnx", "onnxruntime"),
            "torch": ("onnx", "onnxruntime"),
        },
    ),
    "litert": Runtime("litert", ".tflite", {"tensorflow": ("ai_edge_litert",)}),
    "litert_by_index": Runtime(
        "litert", ".tflite", {"tensorflow": ("ai_edge_litert",)}
    ),
    "openvino": Runtime(
        "openvino",
        ".xml",
        {"tensorflow": ("openvino",), "torch": ("openvino",)},
    ),
    "torch": Runtime("torch", ".pt2", {"torch": ()}, free_batch_size=False),
}


class Case(NamedTuple):
    """A model and what to try it on.

    Attributes:
        model: An `UncertaintyModel`, trained.
        inputs: Inputs as `predict` takes them, 5 samples or more.
    """

    model: keras.Model
    inputs: object


def skip_unless_available(name):
    needs = RUNTIMES[name].needs
    if BACKEND not in needs:
        pytest.skip(
            f"Keras exports for {name} on {sorted(needs)}. Received: {BACKEND}"
        )
    for module in needs[BACKEND]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"Exporting for {name} on {BACKEND} needs {module}")


def check_artifacts(name, cases, folder):
    """Exports cases, runs them in one new process and checks the outputs.

    Args:
        name: String, the name of a runtime.
        cases: Dict from strings to `Case`.
        folder: Path, an empty folder.
    """
    skip_unless_available(name)
    runtime = RUNTIMES[name]
    if (name, BACKEND) == ("onnx", "jax"):
        # Its converter writes a max-pooling that the runtime refuses.
        cases = {k: c for k, c in cases.items() if not has_max_pooling(c.model)}
    jobs = []
    for key, case in cases.items():
        path = folder / f"{key}{runtime.suffix}"
        inputs = with_bad_values(case.inputs)
        signature = None
        if not runtime.free_batch_size:
            signature = fixed_signature(case)
        export(case.model, path, runtime.format, signature)
        feeds = [named(case.model, inputs)]
        if runtime.free_batch_size:
            feeds.append(named(case.model, first(case.inputs, 2)))
        jobs.append((str(path), feeds))
    results = run_in_new_process(name, jobs, folder)
    for (key, case), outputs in zip(cases.items(), results, strict=True):
        check_outputs(key, case, outputs)


def export(model, path, format, input_signature=None):
    with warnings.catch_warnings():
        if BACKEND == "torch":
            # What tracing makes a constant are the sizes that are fixed.
            from torch.jit import TracerWarning

            warnings.simplefilter("ignore", TracerWarning)
        model.export(
            path, format, verbose=False, input_signature=input_signature
        )


def check_outputs(key, case, outputs):
    expected = flat(case.model.predict(case.inputs, verbose=0))
    guarded = flat(case.model.predict(with_bad_values(case.inputs), verbose=0))
    assert any(
        (value > 1e-4).any()
        for name, value in expected.items()
        if name.startswith("uncertainty")
    ), f"{key}: all uncertainties are zero"
    bad = bad_samples(case.inputs)
    good = [index for index in range(size(case.inputs)) if index not in bad]
    for some in (guarded, *outputs[:1]):
        assert set(some) == set(expected)
        for name, value in some.items():
            assert_close(value[good], expected[name][good], f"{key}: {name}")
            if name.startswith("uncertainty"):
                assert np.isnan(value[bad]).all(), f"{key}: {name} {value}"
    for some in outputs[1:]:
        for name, value in some.items():
            assert_close(value, expected[name][:2], f"{key}: {name} of two")


def assert_close(value, expected, message):
    np.testing.assert_allclose(
        value, expected, rtol=1e-5, atol=1e-5, err_msg=message
    )
    assert value.dtype == expected.dtype, message


def run_in_new_process(name, jobs, folder):
    jobs_path, results_path = folder / "jobs", folder / "results"
    jobs_path.write_bytes(pickle.dumps(jobs))
    environment = dict(os.environ, KERAS_BACKEND=BACKEND)
    environment.pop("PYTHONPATH", None)
    finished = subprocess.run(
        [sys.executable, RUN_ARTIFACTS, name, jobs_path, results_path],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return pickle.loads(results_path.read_bytes())


def has_max_pooling(model):
    return any(
        isinstance(layer, keras.layers.MaxPooling2D)
        for layer in model._flatten_layers()
    )


def with_bad_values(inputs):
    """A copy with NaN and infinities in three samples of the last floats."""
    copies = keras.tree.map_structure(np.copy, inputs)
    floats = [
        array for array in keras.tree.flatten(copies) if array.dtype.kind == "f"
    ]
    for index, value in BAD_VALUES.items():
        for array in floats[-1:]:
            sample = array[index].reshape(-1)
            sample[len(sample) // 2] = value
    return copies


def bad_samples(inputs):
    leaves = keras.tree.flatten(inputs)
    has_floats = any(leaf.dtype.kind == "f" for leaf in leaves)
    return list(BAD_VALUES) if has_floats else []


def size(inputs):
    return len(keras.tree.flatten(inputs)[0])


def first(inputs, count):
    return keras.tree.map_structure(lambda leaf: leaf[:count], inputs)


def named(model, inputs):
    """Arrays by the names of the base model's inputs."""
    specs = keras.tree.flatten(model.input_signature())
    arrays = keras.tree.flatten(inputs)
    return {spec.name: array for spec, array in zip(specs, arrays, strict=True)}


def fixed_signature(case):
    return keras.tree.map_structure(
        lambda spec: keras.InputSpec(
            shape=(size(case.inputs), *spec.shape[1:]),
            dtype=spec.dtype,
            name=spec.name,
        ),
        case.model.input_signature(),
    )


def flat(outputs):
    """The names that outputs have in an artifact."""
    result = {}
    for key, value in outputs.items():
        if isinstance(value, dict):
            result |= {f"{key}_{name}": one for name, one in value.items()}
        elif isinstance(value, list):
            result |= {f"{key}_{i}": one for i, one in enumerate(value)}
        else:
            result[key] = value
    return result
