"""Which methods there are, what each needs, returns and costs."""

from typing import NamedTuple

from keras_zigzag import baselines
from keras_zigzag.uncertainty_model import UncertaintyModel
from keras_zigzag.zigzag import ZigZagModel

ANY = ("classification", "binary", "regression")


class Method(NamedTuple):
    """One method, in a few words.

    Attributes:
        model: The class; make one with `model.from_model(base, task=...)`.
        tasks: Tuple of strings, the tasks it is defined for.
        needs: String. What it needs beside the base model and the data.
        returns: String. What its uncertainty is, unless told otherwise.
        training_cost: String. Relative to the training of the base model.
        inference_cost: String. Relative to a pass of the base model.
        reference: String. Authors and year of its paper.
        url: String. Where the paper is.
    """

    model: type[UncertaintyModel]
    tasks: tuple[str, ...]
    needs: str
    returns: str
    training_cost: str
    inference_cost: str
    reference: str
    url: str


class MethodList(dict[str, Method]):
    """Methods by the names of their classes, shown as a Markdown table."""

    def __repr__(self) -> str:
        columns = [name for name in Method._fields if name != "url"]
        rows = [["method", *columns[1:]], ["---"] * len(columns)]
        for name, method in self.items():
            cells = [getattr(method, column) for column in columns[2:]]
            rows.append([name, ", ".join(method.tasks), *cells])
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def _repr_markdown_(self) -> str:
        return repr(self)


def methods() -> MethodList:
    """All methods of the package, ZigZag first, in the order of its paper.

    Which of them to trust differs from task to task; this says what there is
    to be compared.

    Returns:
        Dictionary from the name of a class to a `Method`, which prints as a
        table.

    Example:

    >>> methods = keras_zigzag.methods()
    >>> methods["MCDropout"].reference
    'Gal & Ghahramani, 2016'
    >>> model = methods["MCDropout"].model.from_model(
    ...     base, task="classification"
    ... )
    """
    return MethodList({one.model.__name__: one for one in _METHODS})


def _arxiv(number: str) -> str:
    return f"https://arxiv.org/abs/{number}"


_METHODS = (
    Method(
        ZigZagModel,
        ANY,
        "nothing",
        "distance of the answers of two passes",
        "2, or 1 with passes='sampled'",
        "2, less with a prior at a late layer",
        "Durasov et al., 2024",
        "https://openreview.net/forum?id=QSvb6jBXML",
    ),
    Method(
        baselines.SingleModel,
        ANY,
        "nothing",
        "entropy; predicted standard deviation in a regression",
        "1",
        "1",
        "Hendrycks & Gimpel, 2017; Kendall & Gal, 2017",
        _arxiv("1610.02136"),
    ),
    Method(
        baselines.MCDropout,
        ANY,
        "dropout in the model, or a place to put it",
        "entropy of the mean; standard deviation in a regression",
        "1",
        "num_samples (5), of what follows the first dropout",
        "Gal & Ghahramani, 2016",
        _arxiv("1506.02142"),
    ),
    Method(
        baselines.DeepEnsemble,
        ANY,
        "memory for num_members networks",
        "entropy of the mean; standard deviation of the mixture in a "
        "regression",
        "num_members (5)",
        "num_members (5)",
        "Lakshminarayanan et al., 2017",
        _arxiv("1612.01474"),
    ),
    Method(
        baselines.BatchEnsemble,
        ANY,
        "Dense or convolution layers",
        "entropy of the mean; standard deviation in a regression",
        "num_members (4), of what follows the first of these layers",
        "num_members (4), likewise",
        "Wen et al., 2020",
        _arxiv("2002.06715"),
    ),
    Method(
        baselines.Masksembles,
        ANY,
        "layers with a kernel",
        "entropy of the mean; standard deviation in a regression",
        "1",
        "num_masks (4), of what follows the first mask",
        "Durasov et al., 2021",
        _arxiv("2012.08334"),
    ),
    Method(
        baselines.EvidentialModel,
        ("classification", "regression"),
        "its own loss",
        "vacuity; epistemic variance in a regression",
        "1",
        "1",
        "Sensoy et al., 2018; Amini et al., 2020",
        _arxiv("1806.01768"),
    ),
    Method(
        baselines.OrthonormalCertificates,
        ANY,
        "a second, short training on the features",
        "squared norm of the certificates of the features",
        "1, and num_steps (4000) steps on the features",
        "1",
        "Tagasovska & Lopez-Paz, 2019",
        _arxiv("1811.00908"),
    ),
    Method(
        baselines.SNGP,
        ANY,
        "a model that ends in a Dense layer",
        "entropy of the mean-field probabilities; standard deviation in a "
        "regression",
        "1, the power iterations and a matrix of num_features² per batch",
        "1",
        "Liu et al., 2020",
        _arxiv("2006.10108"),
    ),
    Method(
        baselines.VariancePropagation,
        ANY,
        "dropout in the model, or a place to put it; layers with a rule",
        "entropy of the propagated probabilities; propagated standard "
        "deviation in a regression",
        "1",
        "1 to 3, from the first noise on",
        "Postels et al., 2019",
        _arxiv("1908.00598"),
    ),
    Method(
        baselines.TemperatureScaling,
        ("classification", "binary"),
        "validation data",
        "entropy of the calibrated probabilities",
        "1",
        "1",
        "Guo et al., 2017",
        _arxiv("1706.04599"),
    ),
    Method(
        baselines.TwoModels,
        ("regression",),
        "a second network",
        "predicted standard deviation",
        "2, or 1 beside a trained base",
        "2",
        "Nix & Weigend, 1994",
        "https://doi.org/10.1109/ICNN.1994.374138",
    ),
    Method(
        baselines.AutoencoderError,
        ANY,
        "inputs of floats, and an autoencoder of them",
        "reconstruction error of the input",
        "1, and the autoencoder",
        "1, and the autoencoder",
        "Japkowicz et al., 1995",
        "https://www.ijcai.org/Proceedings/95-1/Papers/068.pdf",
    ),
)
