"""What an experiment is: data, a base model, training and methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import keras

import keras_zigzag as kz
from keras_zigzag.benchmark.results import label_in_file
from keras_zigzag.number_checks import checked_count

TASKS = ("classification", "regression")
SINGLE = "SingleModel"
NUM_SAMPLES = 5
MAX_NAME = 200  # bytes; systems take 255, with what else is in a file's name
# What takes several answers takes as many of them everywhere.
OF_SAMPLES: dict[str, dict[str, Any]] = {
    "MCDropout": {"num_samples": NUM_SAMPLES},
    "DeepEnsemble": {"num_members": NUM_SAMPLES},
    "BatchEnsemble": {"num_members": NUM_SAMPLES},
    "Masksembles": {"num_masks": NUM_SAMPLES},
}


@dataclass(frozen=True)
class Data:
    """The sets of one run.

    Args:
        train: `(x, y)`, arrays, or a data set of batches. Arrays are shuffled
            in each epoch; a data set is taken in the order in which it comes.
        validation: `(x, y)`, of the same distribution; methods that need
            samples apart from the training take these.
        test: `(x, y)`, the in-distribution test set.
        ood: Dictionary from names to the inputs of out-of-distribution sets,
            scaled as the in-distribution data are.

    Raises:
        ValueError: If one of them can be gone through only once, as a
            generator: every method and every epoch reads them again.
    """

    train: Any
    validation: Any
    test: Any
    ood: dict[str, Any]

    def __post_init__(self) -> None:
        for name, one in {**vars(self), **self.ood}.items():
            if isinstance(one, Iterator):
                raise ValueError(
                    "All methods read the same data, again in each epoch. "
                    "Give arrays, or a data set that starts anew, as a "
                    f"`keras.utils.PyDataset`. Received: {name}={one!r}"
                )


@dataclass(frozen=True)
class Training:
    """How all methods are trained.

    Args:
        epochs: Integer.
        batch_size: Integer.
        optimizer: Function without arguments that returns a new optimizer.
        loss: String. Loss of the methods that have none of their own.
        learning_rates: Sequence of floats, one for each epoch, or `None` for
            that of the optimizer. Defaults to `None`.
        jit_compile: Boolean or `"auto"`, as of `keras.Model.compile`.
            Defaults to `"auto"`.
    """

    epochs: int
    batch_size: int
    optimizer: Callable[[], keras.optimizers.Optimizer]
    loss: str
    learning_rates: Sequence[float] | None = None
    jit_compile: bool | str = "auto"

    def __post_init__(self) -> None:
        checked_count("epochs", self.epochs)
        checked_count("batch_size", self.batch_size)
        rates = self.learning_rates
        if rates is not None and len(rates) != self.epochs:
            raise ValueError(
                "There must be one learning rate for each epoch. Received: "
                f"{len(rates)} learning rates and epochs={self.epochs}"
            )
        made = isinstance(self.optimizer, keras.optimizers.Optimizer)
        if made or not callable(self.optimizer):
            raise ValueError(
                "Each model needs an optimizer of its own: give a function "
                "that makes one, as `keras.optimizers.Adam` or "
                "`functools.partial(keras.optimizers.SGD, 0.1)`. Received: "
                f"optimizer={self.optimizer!r}"
            )

    def settings(self) -> dict[str, Any]:
        """What of it decides about the results, for JSON."""
        optimizer = self.optimizer()
        config = optimizer.get_config()
        config.pop("name", None)
        rates = self.learning_rates
        compiled = self.jit_compile
        return {
            **({} if compiled == "auto" else {"jit_compile": compiled}),
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "optimizer": type(optimizer).__name__,
            "optimizer_config": _plain(config),
            "loss": self.loss,
            "learning_rates": None if rates is None else list(rates),
        }


@dataclass(frozen=True)
class Variant:
    """One method with its settings.

    Args:
        method: String. Name of a class, as in `keras_zigzag.methods()`.
        options: Dictionary of arguments of its `from_model`. A
            `functools.partial` stands for what it returns, made anew for each
            model: a prior learns the sizes of its model. Results know it by
            the name of its function and by its arguments; if the function
            changes, take another folder. Defaults to none.
        inference: Dictionary of further arguments, which make no difference
            to the training or to the weights. Variants that follow each other
            and differ in these alone are trained once. Defaults to none.

    Raises:
        ValueError: If the method is unknown, or an argument is a prior.

    Example:

    ```python
    variants = {
        "ZigZag": Variant("ZigZagModel"),
        "ZigZag, l1": Variant("ZigZagModel", inference={"distance": "l1"}),
    }
    ```
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    inference: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_known("method", self.method, kz.methods())
        for name, value in {**self.options, **self.inference}.items():
            if isinstance(value, keras.layers.Layer):
                kind = type(value).__name__
                raise ValueError(
                    "Models of several seeds cannot share a layer or a prior. "
                    f"Give `functools.partial({kind}, …)`, of which each gets "
                    f"its own. Received: {name}={value!r}"
                )

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of `from_model`, what a `partial` returns new."""
        return {
            name: value() if isinstance(value, partial) else value
            for name, value in {**self.options, **self.inference}.items()
        }


@dataclass(frozen=True)
class Protocol:
    """One experiment that any of the methods can take part in.

    Args:
        name: String. Also the name of the file of its results.
        title: String. What tables call it.
        task: `"classification"` or `"regression"`.
        load: Function of a seed that returns the `Data`.
        build: Function without arguments that returns a new base model, which
            ends in a softmax, also for two classes, or in values. What is
            done already is not done again because `load` or `build` changed:
            take another folder then, or note the change in `settings`.
        training: `Training`.
        options: Dictionary from methods to arguments of their `from_model`,
            over the defaults: five samples, members or masks. Defaults to
            none.
        variants: Dictionary from labels to a `Variant`, for comparing several
            settings of one method. Defaults to `None`: each method that is
            defined for the task, under its own name.
        settings: Dictionary of further constants that define the experiment,
            for the record: numbers, strings, Booleans. Defaults to none.
        group: String. Experiments of one group share a table. Defaults to
            `""`, for a table of its own.
        paper: String. Which table of `paper_results.json` holds the published
            values. Defaults to `""`, for none.
        units: String. Units of the values of a regression. Defaults to `""`.
        references: Sequence of labels. Which variants a report compares all
            others with, beside ZigZag and the single model. Defaults to none.

    Raises:
        ValueError: If a task, a method or a reference is unknown, a method is
            not defined for the task, or a name or a label cannot be that of a
            file.
    """

    name: str
    title: str
    task: str
    load: Callable[[int], Data]
    build: Callable[[], keras.Model]
    training: Training
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variants: Mapping[str, Variant] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    paper: str = ""
    units: str = ""
    references: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise ValueError(
                f"The task of a protocol must be one of {list(TASKS)}. "
                "Two classes are a classification, by a softmax of two. "
                f"Received: task={self.task!r}"
            )
        check_file_name("name", self.name)
        check_file_names(self.variants or {})
        taken = sorted({"class", "options", "training"} & set(self.settings))
        if taken:
            raise ValueError(
                "The settings of a protocol are further ones, and these are "
                f"known without them: {taken}. Received: "
                f"settings={dict(self.settings)!r}"
            )
        for name in self.options:
            check_known("method", name, kz.methods())
        for variant in (self.variants or {}).values():
            self._check_defined(variant.method)
        if not isinstance(self.references, (list, tuple)):
            raise ValueError(
                "The references of a protocol are a list of labels. "
                f"Received: references={self.references!r}"
            )
        for label in self.references:
            check_known("reference", label, [*self.all_variants()])

    def all_variants(self) -> dict[str, Variant]:
        """All that can be run, by label, with the settings they run with."""
        variants = self.variants
        if variants is None:
            variants = {
                name: Variant(name)
                for name, method in kz.methods().items()
                if self.task in method.tasks
            }
        return {
            label: replace(
                variant,
                options={
                    **OF_SAMPLES.get(variant.method, {}),
                    **self.options.get(variant.method, {}),
                    **variant.options,
                },
            )
            for label, variant in variants.items()
        }

    def chosen(self, labels: str | Sequence[str]) -> dict[str, Variant]:
        """The variants of these labels, or of `"all"`."""
        variants = self.all_variants()
        if isinstance(labels, str):
            labels = [labels]
        if not labels:
            raise ValueError(
                "Name at least one method, or give 'all'. "
                f"Received: methods={labels!r}"
            )
        if "all" in labels:
            return variants
        for label in labels:
            if label in kz.methods() and self.variants is None:
                self._check_defined(label)
            check_known("method", label, variants)
        return {label: variants[label] for label in labels}

    def trained_alike(self, label: str) -> list[str]:
        """The labels whose training is that of this one, itself among them."""
        trained = {
            # Functions that are not the same may have one name.
            name: (one.method, _plain(one.options), _functions(one.options))
            for name, one in self.all_variants().items()
        }
        return [n for n, one in trained.items() if one == trained[label]]

    def settings_of(self, variant: Variant) -> dict[str, Any]:
        """Everything that decides about the results but the seed."""
        policy = keras.config.dtype_policy().name
        return {
            **({} if policy == "float32" else {"dtype": policy}),
            "class": variant.method,
            "options": _plain({**variant.options, **variant.inference}),
            "training": self.training.settings(),
            **_plain(dict(self.settings)),
        }

    def _check_defined(self, name: str) -> None:
        if self.task not in kz.methods()[name].tasks:
            raise ValueError(
                f"{name} is not defined for a {self.task}. "
                f"Received: a protocol {self.name!r} of that task. Leave "
                "the method out, or ask for 'all', which does."
            )


def noise_before(
    layers: int, rate: float = 0.2, scale: float = 2.0
) -> dict[str, dict[str, Any]]:
    """Options of the methods that need noise or masks in the base model.

    For base models without dropout of their own.

    Args:
        layers: Integer. Before how many of the last layers it is put.
        rate: Float in `(0, 1)`. Of the dropout. Defaults to `0.2`.
        scale: Float. Of the masks. Defaults to `2.0`.

    Returns:
        Dictionary for the `options` of a `Protocol`.

    Example:

    >>> from keras_zigzag.benchmark import noise_before
    >>> noise_before(layers=2)["Masksembles"]
    {'layers': 2, 'scale': 2.0}
    """
    dropout = {"layers": layers, "rate": rate}
    return {
        "MCDropout": dropout,
        "VariancePropagation": dropout,
        "Masksembles": {"layers": layers, "scale": scale},
    }


def check_known(what: str, name: str, known: Any) -> None:
    """Raises a `ValueError` that lists what there is."""
    if name not in known:
        raise ValueError(
            f"Unknown {what}. Expected one of {sorted(known)}. "
            f"Received: {name!r}"
        )


def check_file_name(what: str, name: str) -> None:
    """Raises a `ValueError` if no file on any system can be called so."""
    is_plain = name.isprintable() and not set(name) & set('/\\:*?"<>|')
    if not name.strip(".") or not is_plain or len(name.encode()) > MAX_NAME:
        raise ValueError(
            f"The {what} of a protocol is also that of a file: one to "
            f"{MAX_NAME} bytes, without a path. Received: {what}={name!r}"
        )


def check_file_names(labels: Iterable[str]) -> None:
    """Raises a `ValueError` for labels that would share a file."""
    seen: dict[str, str] = {}
    for label in labels:
        name = label_in_file(label)
        check_file_name("label", name)
        if name in seen:
            raise ValueError(
                "The files of two labels would have the same name. "
                f"Received: the labels {seen[name]!r} and {label!r}"
            )
        seen[name] = label


def _plain(value: Any) -> Any:
    """The value as JSON has it; objects by what Keras writes for them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, partial):
        by_place = dict(enumerate(value.args))
        return {value.func.__name__: _plain({**by_place, **value.keywords})}
    return _plain(keras.saving.serialize_keras_object(value))


def _functions(value: Any) -> list[Any]:
    """What each `partial` in a value calls, in the order of the names."""
    leaves = keras.tree.flatten(value)
    return [
        function
        for one in leaves
        if isinstance(one, partial)
        for function in (one.func, *_functions([one.args, one.keywords]))
    ]
