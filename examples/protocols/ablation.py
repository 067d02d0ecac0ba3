"""ZigZag's own settings, compared on data that no other experiment tests on.

    python -m keras_zigzag.benchmark run ablation --seeds 5 --out ablation

Settings that were chosen by a test or OOD set would look better on it than
they are. So each experiment here sees nothing but the training and validation
samples of the one that it is made of, with a part of these as what is unknown,
see `held_out`. CIFAR-10 is the quick one. Networks that differ only in how
they are asked, as by another distance, are trained once.
"""

import sys
from functools import partial

from held_out import bases, smaller, without_a_class, without_upper_part

from keras_zigzag.benchmark import Variant
from keras_zigzag.benchmark.__main__ import main
from keras_zigzag.priors import OneHotPrior, ValuePrior

NAME = "ZigZag"
# How the networks are trained. What a prior gives in training is the answer.
TRAINED = {
    "classification": {
        "no presence": {"prior": partial(OneHotPrior, presence=False)},
        "index": {"prior": "index"},
        "scaled index": {"prior": "scaled_index"},
    },
    "regression": {
        "no presence": {"prior": partial(ValuePrior, presence=False)},
        # The targets are standardised, which the notebook's are not.
        "blank of -100": {
            "prior": partial(ValuePrior, presence=False, blank=-100.0)
        },
    },
}
# How they are asked. `mean_absolute` ranks as `l1` does, and of one value
# both are the norm.
ASKED = {
    "classification": {
        "soft feedback": {"prior": partial(OneHotPrior, feedback="soft")},
        **{
            name.replace("_", " "): {"distance": name}
            for name in (
                "l1",
                "max_signed",
                "cross_entropy",
                "kl",
                "jensen_shannon",
            )
        },
    },
    "regression": {"max signed": {"distance": "max_signed"}},
}
# Where the prior enters: which of the layers that mix features, from 1. Of
# the ResNet these begin the second block, and end the last one.
MIDDLE_AND_LAST = {
    "mnist": (3, 4),
    "mnist_split": (3, 4),
    "cifar10": (4, 8),
    "uci": (2, 3),
}


def variants(task, middle, last):
    trained = TRAINED[task] | {
        "sampled": {"passes": "sampled"},
        "prior at a middle layer": {"layer": f"mixing_{middle}"},
        "prior at the last hidden layer": {"layer": f"mixing_{last}"},
    }
    asked = ASKED[task] | {"three passes": {"num_passes": 3}}
    both = [Variant("ZigZagModel", inference=one) for one in asked.values()]
    both += [Variant("ZigZagModel", one) for one in trained.values()]
    labels = [f"{NAME}, {label}" for label in [*asked, *trained]]
    return {
        NAME: Variant("ZigZagModel"),
        **dict(zip(labels, both, strict=True)),
        "SingleModel": Variant("SingleModel"),
    }


def make(base, layers):
    """The ablation of an experiment."""
    by_task = {
        "classification": without_a_class,
        "regression": without_upper_part,
    }
    return smaller(
        base,
        "ablation",
        by_task[base.task],
        variants=variants(base.task, *layers),
    )


def protocols(quick):
    return [
        make(base, MIDDLE_AND_LAST[file])
        for file, base in bases(MIDDLE_AND_LAST, quick)
    ]


if __name__ == "__main__":
    sys.exit(main(protocols))
