"""Draws that are solved in parallel, logged one by one, and gone on with.

Draw `i` depends on the seed and on `i` alone. A data set is the first draws,
in their order, that the solver has an answer to: so neither the number of
workers nor a stop on the way changes it.
"""

import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from draw_log import OK, DrawLog
from draw_progress import DrawProgress
from solver_process import SolverFailure

# So many draws in a row without one answer: it is the solver, not the shapes.
MAX_FAILURES = 10


class Generator(NamedTuple):
    """How a data set is made.

    Args:
        name: String. The name of its file.
        bounds: Dictionary from each parameter to its smallest and largest
            value.
        solve: Function of the parameters and a variant that returns a named
            tuple of arrays and numbers, or raises a `SolverFailure`.
        variants: List of what `solve` is tried with, one after the other.
        parameters: String. The name that the parameters have in the file.
        constants: Dictionary of arrays that all draws share.
        settings: Dictionary of what else the answers depend on.
    """

    name: str
    bounds: dict
    solve: object
    variants: tuple
    parameters: str
    constants: dict
    settings: dict


def draw_parameters(bounds, seed, draw):
    """Uniform parameters, which depend on the seed and the draw alone.

    They are row `draw` of the table that one generator of this seed would
    fill; the generator is advanced to where that row begins.
    """
    low, high = np.transpose(list(bounds.values()))
    bits = np.random.PCG64(seed).advance(draw * len(bounds))
    return np.random.Generator(bits).uniform(low, high)


def generate(generator, num, seed, folder, workers, processes):
    """Solves draws until `num` have an answer, and writes these to a file.

    Args:
        generator: A `Generator`.
        num: Integer. Samples in the file.
        seed: Integer, not negative.
        folder: Path of the file, the log and what each draw gave.
        workers: Integer. Solvers that run at a time.
        processes: A `Processes`, through which `generator.solve` runs.

    Returns:
        Path of the file, and the `DrawLog`.

    Raises:
        RuntimeError: If the first draws all fail.
        ValueError: If the folder has draws of other settings.
    """
    settings = {"seed": seed, "bounds": generator.bounds, **generator.settings}
    log = DrawLog(folder, generator.name, settings)
    progress = DrawProgress(generator.name, num, log)
    pool = ThreadPoolExecutor(workers)
    running = {}
    try:
        while needed := log.needed(num):
            waiting = [d for d in needed if d not in running.values()]
            for draw in waiting[: workers - len(running)]:
                job = pool.submit(_solve, generator, seed, draw)
                running[job] = draw
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for job in done:
                log.add(running.pop(job), *job.result())
            progress.show()
            _check_failures(log)
    finally:
        processes.stop()
        pool.shutdown(cancel_futures=True)
        progress.close()
    return log.write(num, generator.parameters, generator.constants), log


def try_variants(generator, values):
    """What was tried for parameters, and the answer or `None`."""
    tries = []
    for variant in generator.variants:
        start = time.perf_counter()
        outcome, answer = {"variant": variant, "status": OK}, None
        try:
            answer = generator.solve(values, variant)
        except SolverFailure as failure:
            outcome |= {"status": failure.status, "detail": failure.detail}
        outcome["seconds"] = round(time.perf_counter() - start, 3)
        tries.append(outcome)
        if answer is not None:
            break
    return tries, answer


def _solve(generator, seed, draw):
    """The record of a draw, and its answer or `None`."""
    values = draw_parameters(generator.bounds, seed, draw)
    tries, answer = try_variants(generator, values)
    record = {
        "parameters": dict(zip(generator.bounds, values.tolist(), strict=True)),
        "status": tries[-1]["status"],
        "tries": tries,
    }
    return record, answer


def _check_failures(log):
    records = [*log.records.values()]
    if len(records) < MAX_FAILURES or log.answered(1):
        return
    raise RuntimeError(
        f"The solver has no answer to any of the first {len(records)} draws: "
        f"{log.counts()}. The log says what each try gave: {log.path}. The "
        f"last one: {records[-1]['tries'][-1]}. Once the solver works, take "
        "another folder with --out."
    )
