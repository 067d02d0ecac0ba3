"""What a `.keras` file that is broken, or holds code, gets."""

import zipfile

import keras
import numpy as np
import pytest

import keras_zigzag as kz


@pytest.fixture
def model():
    base = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    return kz.ZigZagModel.from_model(base, task="classification")


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "model.keras"
    model.save(path)
    return path


def test_loads_in_safe_mode(model, saved):
    loaded = keras.saving.load_model(saved, safe_mode=True)
    x = np.ones((2, 3), "float32")
    for key, value in model.predict(x, verbose=0).items():
        np.testing.assert_array_equal(loaded.predict(x, verbose=0)[key], value)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_truncated_file(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="model.keras"):
        keras.saving.load_model(saved)


@pytest.mark.parametrize("part", ["config.json", "model.weights.h5"])
def test_corrupted_file(saved, part):
    with zipfile.ZipFile(saved) as archive:
        entry = archive.getinfo(part)
    content = bytearray(saved.read_bytes())
    middle = entry.header_offset + 100 + entry.file_size // 2
    content[middle] ^= 0xFF
    saved.write_bytes(content)
    with pytest.raises(zipfile.BadZipFile, match=f"CRC-32.*{part}"):
        keras.saving.load_model(saved)


def test_code_is_refused_in_safe_mode(tmp_path):
    base = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Lambda(lambda x: 2 * x),
            keras.layers.Dense(2),
        ]
    )
    path = tmp_path / "model.keras"
    kz.ZigZagModel.from_model(base, task="classification").save(path)
    with pytest.raises(ValueError, match="unsafe|arbitrary code"):
        keras.saving.load_model(path, safe_mode=True)
