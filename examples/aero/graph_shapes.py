"""The shapes of what graph layers take."""

NODES = {"features": ("batch_size", "num_nodes", "num_features")}
EDGES = {"edges": ("batch_size", "num_edges", 2)}
ADVICE = (
    "`graph_batches.pad_graphs` makes features and edges of these shapes of "
    "a list of graphs."
)


def check_shapes(layer, shapes, axes, last_optional=False):
    """Raises a `ValueError` unless the inputs of a layer have these axes.

    Axes of one name are of one size, where both are known.

    Args:
        layer: Layer that the message names.
        shapes: The shapes of its inputs; of a layer with one input its shape.
        axes: Dictionary from the name of each input to its axes, a tuple of
            names, or of sizes where there is no choice.
        last_optional: Boolean. Whether the last input may be missing.
            Defaults to `False`.
    """
    inputs = [shapes] if len(axes) == 1 else shapes
    if not _fit(inputs, [*axes.values()], last_optional):
        raise ValueError(
            f"`{type(layer).__name__}` takes {_told(axes, last_optional)}. "
            f"Received: inputs of shape {shapes}. {ADVICE}"
        )


def shapes_of(inputs):
    """The shapes of a list of inputs, or that of one."""
    if isinstance(inputs, (list, tuple)):
        return [tuple(one.shape) for one in inputs]
    return tuple(inputs.shape)


def _fit(shapes, axes, last_optional):
    is_list = isinstance(shapes, (list, tuple))
    if not is_list or not 0 <= len(axes) - len(shapes) <= last_optional:
        return False
    sizes = {}
    return all(
        _fits(shape, names, sizes)
        for shape, names in zip(shapes, axes, strict=False)
    )


def _fits(shape, names, sizes):
    """Whether a shape agrees with the sizes of axes that are known so far."""
    if not isinstance(shape, (list, tuple)) or len(shape) != len(names):
        return False
    for size, name in zip(shape, names, strict=True):
        if isinstance(size, (list, tuple)):
            return False
        # What is no integer is not known before the data.
        if isinstance(size, int) and size != _expected(name, size, sizes):
            return False
    return True


def _expected(name, size, sizes):
    return name if isinstance(name, int) else sizes.setdefault(name, size)


def _told(axes, last_optional):
    told = [
        f"{name} of shape ({', '.join(map(str, names))})"
        for name, names in axes.items()
    ]
    if len(told) == 1:
        return told[0]
    last = (
        f", if there are any, {told[-1]}" if last_optional else f" {told[-1]}"
    )
    return f"a list of {', '.join(told[:-1])} and{last}"
