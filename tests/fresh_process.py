"""Loads saved models and predicts, as a user's new Python process would.

Called as `python fresh_process.py FOLDER`, with `<name>.keras` and the inputs
`<name>.inputs` in it; writes `<name>.outputs`.
"""

import pickle
import sys
from pathlib import Path

import keras

import keras_zigzag  # noqa: F401


def main(folder):
    for path in sorted(Path(folder).glob("*.keras")):
        model = keras.saving.load_model(path, safe_mode=True)
        inputs = pickle.loads(path.with_suffix(".inputs").read_bytes())
        outputs = model.predict(inputs, verbose=0)
        path.with_suffix(".outputs").write_bytes(pickle.dumps(outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
