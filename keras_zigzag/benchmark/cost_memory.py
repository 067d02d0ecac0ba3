"""Peak memory of one model in a process of its own.

`python -m keras_zigzag.benchmark.cost_memory CASE CONTESTANT METHOD BATCH_SIZE`
prints by how many bytes the process's peak resident memory grew, from after the
imports to after a few batches of `METHOD` (`fit` or `predict`). So it counts
weights, optimizer state, activations, the traced functions and the
workspace of the backend, in main memory.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path

NUM_STEPS = 3


def peak_growth(
    case: str, contestant: str, method: str, batch_size: int
) -> int:
    """Returns what this module's command prints, from a fresh process."""
    arguments = [case, contestant, method, str(batch_size)]
    done = subprocess.run(
        [sys.executable, "-m", __name__, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"Measuring the memory of {arguments} failed:\n{done.stderr}"
        )
    return int(done.stdout.split()[-1])


def why_unavailable() -> str | None:
    """Returns why this platform cannot tell the peak, or `None`."""
    try:
        peak_bytes()
    except ImportError:
        return "skipped: no `resource` module on this platform"
    return None


def peak_bytes() -> int:
    """Returns the peak resident memory of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():
        # `ru_maxrss` of Linux starts at what the parent process had.
        (kibibytes,) = re.findall(r"VmHWM:\s*(\d+)", status.read_text())
        return 1024 * int(kibibytes)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main(arguments: list[str]) -> None:
    from keras_zigzag.benchmark import cost_cases

    case_name, contestant, method, batch_size = arguments
    case = cost_cases.CASES[case_name]
    start = peak_bytes()
    x, y = cost_cases.make_data(case, NUM_STEPS * int(batch_size))
    model = cost_cases.build_contestant(case, contestant)
    # A ZigZag model is a copy; the base model that it came from can go.
    gc.collect()
    if method == "fit":
        model.fit(x, y, batch_size=int(batch_size), verbose=0)
    else:
        model.predict(x, batch_size=int(batch_size), verbose=0)
    print(peak_bytes() - start)


if __name__ == "__main__":
    main(sys.argv[1:])
