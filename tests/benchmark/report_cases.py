"""Results as runs write them, of numbers that a test knows."""

import json

import numpy as np

import keras_zigzag as kz
from keras_zigzag.benchmark.scoring import samples_of

VERSIONS = {"keras_zigzag": "0.1.0", "keras": "3", "backend": "tensorflow"}


def line(method, seed=0, **changes):
    """One JSON line of a classification."""
    return {
        "protocol": "blobs",
        "title": "Blobs → rings",
        "group": "",
        "paper": "",
        "task": "classification",
        "units": "",
        "method": method,
        "class": method,
        "seed": seed,
        "settings": {
            "class": method,
            "options": {},
            "training": {
                "epochs": 3,
                "batch_size": 64,
                "optimizer": "Adam",
                "optimizer_config": {"learning_rate": 0.001, "beta_1": 0.9},
                "loss": "sparse_categorical_crossentropy",
                "learning_rates": None,
            },
            "quick": True,
        },
        "digest": method,
        "versions": VERSIONS,
        "revision": "v0.1-5-g0123456",
        "finished": f"2026-11-28T12:00:0{seed}+00:00",
        "error": None,
        "metrics": {"accuracy": 0.9, "raulc": 0.8, "rings_roc_auc": 0.7},
        "entropy_metrics": {},
        "missing": {},
        "by_samples": {},
        "cost": {
            "size": 1.0,
            "inference_time": [1.0, 0.9, 1.1],
            "training_time": [1.0, 0.9, 1.1],
            "changed_layers": 0.0,
        },
    } | changes


def regression(method, seed=0, **changes):
    """The same of a regression, one data set of a group."""
    metrics = {
        "mae": 0.2,
        "pearson": 0.4,
        "raulc": 0.35,
        "prediction_rejection_ratio": 0.3,
        "upper_roc_auc": 0.7,
        "upper_pr_auc": 0.6,
    }
    options = {
        "protocol": "uci-yacht",
        "title": "Yacht",
        "group": "uci",
        "task": "regression",
        "metrics": metrics,
    }
    return line(method, seed, **(options | changes))


def failed(text="ValueError: no such layer"):
    """The changes of a run that ended in an error."""
    return {"error": text, "metrics": {}, "cost": {}, "by_samples": {}}


def write(folder, lines, end=""):
    """Adds the lines to the files of their protocols."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in lines:
        path = folder / f"{one['protocol']}{end}.jsonl"
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")
    return folder


def classification_run(folder, method, seed, quality=1.5, has_entropy=False):
    """Scores of random answers, their line, and the `.npz` file."""
    rng = np.random.default_rng(seed)
    num, classes = 300, 4
    targets = rng.integers(classes, size=num)
    easy = rng.random(num)
    own = np.random.default_rng([seed, len(method), int(100 * quality)])
    logits = own.normal(size=(num, classes))
    logits[np.arange(num), targets] += 4.0 * quality * easy
    p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    entropy = -(p * np.log(p)).sum(axis=-1)
    outside = own.gamma(4.0 * quality, 0.25, size=200)
    uncertainty = entropy + 0.2 * own.random(num)
    arrays = {
        "id_targets": targets,
        "id_prediction": p.astype("float32"),
        "id_uncertainty": uncertainty,
        "id_entropy": entropy,
        "ood_rings_uncertainty": outside,
        "ood_rings_entropy": outside * 0.9,
    }
    save(folder, "blobs", method, seed, arrays)
    metrics = dict(
        kz.evaluate_scores(targets, p, uncertainty, {"rings": outside})
    )
    entropy_metrics = dict(
        kz.evaluate_scores(targets, p, entropy, {"rings": outside * 0.9})
    )
    return line(
        method,
        seed,
        metrics=metrics,
        entropy_metrics=entropy_metrics if has_entropy else {},
        cost={
            "size": 1.0 + 0.1 * len(method) / 10,
            "inference_time": [quality, quality - 0.1, quality + 0.1],
            "training_time": [1.5, 1.4, 1.6],
            "changed_layers": 0.1,
        },
    )


def regression_run(folder, method, seed, quality=1.0, protocol="uci-yacht"):
    rng = np.random.default_rng([seed, len(protocol)])
    num = 250
    targets = rng.normal(size=(num, 1))
    own = np.random.default_rng([seed, len(method), len(protocol)])
    scale = own.gamma(2.0, 0.2, size=num)
    prediction = targets + own.normal(size=(num, 1)) * scale[:, None]
    uncertainty = scale**quality + 0.1 * own.random(num)
    outside = own.gamma(4.0, 0.2, size=100)
    arrays = {
        "id_targets": targets,
        "id_prediction": prediction,
        "id_uncertainty": uncertainty,
        "ood_upper_uncertainty": outside,
    }
    save(folder, protocol, method, seed, arrays)
    metrics = kz.evaluate_scores(
        targets, prediction, uncertainty, {"upper": outside}, task="regression"
    )
    return regression(
        method,
        seed,
        protocol=protocol,
        title=protocol.removeprefix("uci-").capitalize(),
        metrics=dict(metrics),
    )


def samples(task, targets, prediction, uncertainty, ood=None, **masks):
    """The `Samples` of arrays, OOD scores by the name of their set."""
    far = {f"ood_{k}_uncertainty": v for k, v in (ood or {}).items()}
    return samples_of(
        {
            "id_targets": targets,
            "id_prediction": prediction,
            "id_uncertainty": uncertainty,
            **far,
            **masks,
        },
        task,
    )


def save(folder, protocol, method, seed, arrays):
    path = folder / "scores" / protocol / f"{method}-{seed}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)


def with_samples(one, drop=0.05, numbers=(1, 2, 5)):
    """The line with metrics that grow towards those of the last number."""
    by_samples = {}
    for number in numbers:
        less = drop * (1.0 / number - 1.0 / numbers[-1])
        by_samples[str(number)] = {
            key: value - less for key, value in one["metrics"].items()
        }
    return one | {"by_samples": by_samples}
