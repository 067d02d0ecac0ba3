"""One run, as its line of results has it."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

ZIGZAG = "ZigZagModel"


@dataclasses.dataclass(frozen=True)
class Run:
    """One method with one seed.

    Args:
        protocol: String. Its name.
        method: String. The label that tables show.
        class_name: String. The class of the method.
        seed: Integer.
        metrics: Dictionary from metrics to numbers.
        entropy_metrics: Dictionary, the same of the entropy.
        missing: Dictionary from metrics to why they are not defined.
        by_samples: Dictionary from numbers of samples to metrics.
        cost: Dictionary of the cost columns.
        failure: String. Why it does not count; `""` if it does.
        options: Dictionary of what is not as the class has it.
    """

    protocol: str
    method: str
    class_name: str
    seed: int
    metrics: Mapping[str, float]
    entropy_metrics: Mapping[str, float]
    missing: Mapping[str, str]
    by_samples: Mapping[str, Mapping[str, float]]
    cost: Mapping[str, Any]
    failure: str = ""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> "Run":
        return cls(
            protocol=line["protocol"],
            method=line["method"],
            class_name=line.get("class", line["method"]),
            seed=line["seed"],
            metrics=_finite(line.get("metrics")),
            entropy_metrics=_finite(line.get("entropy_metrics")),
            missing=line.get("missing") or {},
            by_samples={
                number: _finite(values)
                for number, values in (line.get("by_samples") or {}).items()
            },
            cost=line.get("cost") or {},
            failure=line.get("error") or "",
            options=(line.get("settings") or {}).get("options") or {},
        )


def _finite(values: Mapping[str, Any] | None) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in (values or {}).items()
        if value is not None and math.isfinite(value)
    }
