"""Which places of a batch are there, as the model's masks say."""

from typing import Any

import keras

from keras_zigzag.evaluation.model_outputs import OutputReader
from keras_zigzag.host import host_arrays, model_inputs
from keras_zigzag.metrics.inputs import Array
from keras_zigzag.place_masks import PlaceMasks, masks_of


def masks_of_model(model: Any) -> PlaceMasks:
    """The masks of any Keras model."""
    known = getattr(model, "place_masks", None)
    return masks_of(model) if known is None else known


def mask_of_batch(
    masks: PlaceMasks, x: Any, reader: OutputReader, outputs: Any
) -> Array | None:
    """Booleans `(batch_size, num_places)`, or `None` where all are there.

    Args:
        masks: `PlaceMasks` of a model.
        x: Inputs of a batch.
        reader: `OutputReader` of the model's outputs.
        outputs: What the model gave for the batch.
    """
    if masks.is_empty:
        return None
    prediction = outputs
    if isinstance(outputs, dict) and "prediction" in outputs:
        prediction = outputs["prediction"]
    leaves = keras.tree.flatten(prediction)
    found = host_arrays(masks(model_inputs(x)))[: len(leaves)]
    packed = keras.tree.pack_sequence_as(prediction, found)
    return reader.pick(packed)
