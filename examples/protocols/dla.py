"""Deep layer aggregation, for images of 32x32.

Reference: [Yu et al., 2018](https://arxiv.org/abs/1707.06484). Here a tree
has a root of two branches at each of its levels, and none that skips levels:
the simple variant.
"""

from keras import layers
from small_resnet import activated, block, convolved

STEM = (16, 16, 32)  # filters of the first convolutions
# Filters, depths and strides.
TREES = ((64, 1, 1), (128, 2, 2), (256, 2, 2), (512, 1, 2))


def dla(x):
    """The features of an image."""
    for filters in STEM:
        x = activated(convolved(x, filters))
    for filters, depth, strides in TREES:
        x = tree(x, filters, depth, strides)
    return layers.GlobalAveragePooling2D()(x)


def tree(x, filters, depth, strides):
    """Two branches, one after the other, and a root that joins them."""
    if depth == 1:
        left = block(x, filters, strides)
        right = block(left, filters)
    else:
        left = tree(x, filters, depth - 1, strides)
        right = tree(left, filters, depth - 1, 1)
    both = layers.Concatenate()([left, right])
    return activated(convolved(both, filters, size=1))
