"""Loads a saved model and predicts, as a user's new Python process would.

Called as `python fresh_process.py MODEL INPUTS OUTPUTS`.
"""

import pickle
import sys

import keras

import keras_zigzag  # noqa: F401


def main(model_path, inputs_path, outputs_path):
    model = keras.saving.load_model(model_path, safe_mode=True)
    with open(inputs_path, "rb") as file:
        inputs = pickle.load(file)
    with open(outputs_path, "wb") as file:
        pickle.dump(model.predict(inputs, verbose=0), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
