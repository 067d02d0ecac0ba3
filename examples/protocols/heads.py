"""ZigZag with several heads, beside one head and beside ensembles.

    python -m keras_zigzag.benchmark run heads --seeds 5 --out heads

How many heads, where they begin, where the prior goes, and which of the two
numbers is the uncertainty. As in `ablation` a setting is not chosen by what
other experiments test on: the samples are the training and validation ones,
with a part of them as what is unknown. CIFAR-10 and the airfoils are the
quick ones.
"""

import sys

from held_out import (
    bases,
    smaller,
    without_a_class,
    without_upper_part,
    without_upper_targets,
)

from keras_zigzag.benchmark import Variant
from keras_zigzag.benchmark.__main__ import main

LOADS = {
    "mnist": without_a_class,
    "mnist_split": without_a_class,
    "cifar10": without_a_class,
    "uci": without_upper_part,
    "airfoils": without_upper_targets,
}
# Where heads begin that are shorter or longer than those of two layers. Of
# the ResNet the longer ones have its whole last block.
LAST_LAYER = {
    "mnist": "mixing_5",
    "mnist_split": "mixing_5",
    "cifar10": "mixing_10",
    "uci": "mixing_4",
    "airfoils": "mixing_5",
}
MORE_LAYERS = {
    "mnist": "mixing_3",
    "mnist_split": "mixing_3",
    "cifar10": ["mixing_7", "mixing_9"],
    "uci": "mixing_2",
    "airfoils": "mixing_3",
}
NUM_HEADS = 5
REFERENCES = ["DeepEnsemble, 2 members", "DeepEnsemble, 5 members"]


def variants(last_layer, more_layers):
    several = {"num_heads": NUM_HEADS}
    name = f"ZigZag, {NUM_HEADS} heads"
    return {
        "ZigZag": Variant("ZigZagModel"),
        "ZigZag, 2 heads": Variant("ZigZagModel", {"num_heads": 2}),
        name: Variant("ZigZagModel", several),
        **{
            f"{name}, {score}": Variant(
                "ZigZagModel", several, inference={"uncertainty": score}
            )
            for score in ("distance", "disagreement")
        },
        "ZigZag, 10 heads": Variant("ZigZagModel", {"num_heads": 10}),
        **{
            f"{name}, {label}": Variant("ZigZagModel", several | options)
            for label, options in {
                "prior at the heads": {"prior_at": "heads"},
                "prior at both": {"prior_at": "both"},
                "of the last layer": {"heads_from": last_layer},
                "of more layers": {"heads_from": more_layers},
            }.items()
        },
        "SingleModel": Variant("SingleModel"),
        **{
            f"DeepEnsemble, {number} members": Variant(
                "DeepEnsemble", {"num_members": number}
            )
            for number in (2, 5)
        },
    }


def ensembles_of_means():
    """Of a regression: scores without the variances that members predict.

    The first is the same ensemble by the spread of its means; the members of
    the second predict none, and have the loss of the heads.
    """
    five = {"num_members": 5}
    return {
        "DeepEnsemble, 5 members, disagreement": Variant(
            "DeepEnsemble", five, inference={"score": "epistemic_variance"}
        ),
        "DeepEnsemble, 5 members, no variances": Variant(
            "DeepEnsemble", five | {"variance": False}
        ),
    }


def make(file, base):
    """The experiment with heads that is made of another one."""
    chosen = variants(LAST_LAYER[file], MORE_LAYERS[file])
    if base.task == "regression":
        chosen |= ensembles_of_means()
    return smaller(
        base, "heads", LOADS[file], variants=chosen, references=REFERENCES
    )


def protocols(quick):
    return [make(file, base) for file, base in bases(LOADS, quick)]


if __name__ == "__main__":
    sys.exit(main(protocols))
