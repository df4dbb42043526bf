"""The speed-up over a CPU: F1's headline, and ours from simulated and measured times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from palladion import bgv, circuit, ckks
from palladion.circuit.written import SecretKey, Written
from palladion.errors import UsageError
from palladion.measure.accuracy import Steps
from palladion.reproduce.f1.paper import FIGURE_5, GEOMETRIC_MEAN, LIKE_F1, SPEEDUP_RANGE, Benchmark
from palladion.reproduce.f1.simulated import Run, simulated
from palladion.reproduce.reproduction import Cell, Column, Panel, Reproduction, Series
from palladion.support.seconds import threads

AMPLITUDE: Final = 0.01
"""Largest absolute value of the inputs of CKKS, for which no product exceeds its range."""


@dataclass(frozen=True)
class Measured:
    """Median milliseconds of an encrypted run, and the largest difference from the run in the
    clear."""

    milliseconds: float
    error: float


def run(
    f1_benchmarks: Sequence[str],
    digit_limbs: Sequence[int],
    measured: bool,
    runs: int,
    steps: Steps,
) -> Reproduction:
    """Printed, simulated and measured times of each program, and their ratios."""
    chosen = [run_shown(*each) for each in simulated(f1_benchmarks, digit_limbs, steps)]
    here: list[Measured | None] = [None] * len(chosen)
    if measured:
        steps.start_run()
        for place, each in enumerate(chosen):
            steps.count(f"{each.program}, encrypted", place, len(chosen))
            here[place] = measure(each.program, int(each.made["digit_limbs"]), runs)
    rows = [row(each, on_cpu) for each, on_cpu in zip(chosen, here, strict=True)]
    names = [each.label for each in chosen]
    return Reproduction(
        "F1's speed-up over a CPU: printed, and ours",
        COLUMNS,
        rows,
        (*means(chosen, here), *(refusals(chosen, here) if measured else ()), *NOTES),
        (
            Panel(
                "program",
                "CPU over accelerator",
                (
                    Series("printed", names, [printed_speedup(each.benchmark) for each in chosen]),
                    Series(
                        "ours", names, [speedup(*pair) for pair in zip(chosen, here, strict=True)]
                    ),
                ),
                logarithmic=True,
            ),
        ),
    )


def run_shown(fastest: Run, runs: Sequence[Run]) -> Run:
    """The run with digits of one limb for a program that is F1's own; else the fastest."""
    single = (each for each in runs if each.made["digit_limbs"] == 1)
    return next(single, fastest) if fastest.program in LIKE_F1 else fastest


def is_like_f1(each: Run) -> bool:
    """Whether the run has F1's degree, its limbs and its key switch."""
    return each.program in LIKE_F1 and each.made["digit_limbs"] == 1


def measure(program: str, digit_limbs: int, runs: int) -> Measured | None:
    """An encrypted run of a program's circuit on this CPU, after one that is not counted.

    The result is ``None`` if the program is no circuit of slots.
    """
    try:
        written = circuit.benchmark(program, digit_limbs)
    except UsageError:
        return None
    rng, t = np.random.default_rng(1), written.t
    values = {
        name: rng.uniform(-AMPLITUDE, AMPLITUDE, written.slots)
        if t is None
        else rng.integers(t, size=written.slots)
        for name in written.inputs
    }
    secret = keygen(written)
    keys = written.keys(secret)
    encrypted = [name for name, level in written.inputs.items() if level is not None]
    inputs = {**values, **written.encrypt(secret, {name: values[name] for name in encrypted})}
    results, seconds = written.run(inputs, keys), []
    for _ in range(runs):
        started = time.perf_counter()
        results = written.run(inputs, keys)
        seconds.append(time.perf_counter() - started)
    expected, decrypted = written.run_clear(values), written.decrypt(secret, results)
    errors = [np.abs(decrypted[name] - expected[name]).max() for name in expected]
    return Measured(1000 * statistics.median(seconds), float(max(errors)))


def keygen(written: Written) -> SecretKey:
    """A secret key for the scheme of a circuit."""
    if isinstance(written.params, ckks.Params):
        return ckks.keygen(written.params)
    assert isinstance(written.params, bgv.Params), "F1's benchmarks are of CKKS and BGV"
    return bgv.keygen(written.params)


def printed_speedup(benchmark: Benchmark) -> float:
    """The paper's CPU over its accelerator."""
    return benchmark.cpu_ms / benchmark.f1_ms


def speedup(each: Run, here: Measured | None) -> float | None:
    """This CPU, measured, over F1, simulated."""
    return None if here is None else here.milliseconds / each.milliseconds


def row(each: Run, here: Measured | None) -> tuple[Cell, ...]:
    """Printed times, ours, and where ours come from."""
    benchmark = each.benchmark
    return (
        *(each.program, f"2^{each.made['log_n']}", each.made["limbs"], each.made["digit_limbs"]),
        "yes" if is_like_f1(each) else "no",
        *(benchmark.cpu_ms, benchmark.f1_ms, printed_speedup(benchmark)),
        *(each.milliseconds, each.milliseconds / benchmark.f1_ms),
        None if here is None else here.milliseconds,
        speedup(each, here),
        None if here is None else here.error,
        "simulated" if here is None else f"simulated; measured, threads: {threads()}",
    )


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return statistics.geometric_mean(values)


def means(chosen: Sequence[Run], here: Sequence[Measured | None]) -> list[str]:
    """Geometric means: the paper's from its times, ours, and that of programs like F1's."""
    benchmarks = {each.benchmark.name: each.benchmark for each in chosen}.values()
    notes = []
    if len(benchmarks) == len(FIGURE_5):
        ratios = [printed_speedup(each) for each in benchmarks]
        low, high, mean = (*SPEEDUP_RANGE, GEOMETRIC_MEAN)
        notes.append(
            f"Printed: speed-ups from {low:,} to {high:,}, geometric mean {mean:,}. The times give "
            f"{min(ratios):,.0f} to {max(ratios):,.0f}, and {geometric_mean(ratios):,.0f}."
        )
    like = {e.program: e.milliseconds / e.benchmark.f1_ms for e in chosen if is_like_f1(e)}
    if like:
        shown = ", ".join(f"{name} {ratio:.2f}" for name, ratio in like.items())
        notes.append(
            f"Like for like, simulated over printed: {shown}; geometric mean "
            f"{geometric_mean([*like.values()]):.2f}."
        )
    pairs = list(zip(chosen, here, strict=True))
    for words, wanted in (("secure", False), ("insecure", True)):
        own = [speedup(each, cpu) for each, cpu in pairs
               if cpu is not None and ("insecure" in each.program) is wanted]  # fmt: skip
        ratios = [ratio for ratio in own if ratio is not None]
        if ratios:
            notes.append(
                f"Ours, {words} programs: {min(ratios):,.0f} to {max(ratios):,.0f}, geometric mean "
                f"{geometric_mean(ratios):,.0f} of {len(ratios)}."
            )
    return notes


def refusals(chosen: Sequence[Run], here: Sequence[Measured | None]) -> list[str]:
    """Programs without a measured time."""
    names = [each.program for each, cpu in zip(chosen, here, strict=True) if cpu is None]
    if not names:
        return []
    return [f"Not measured: {', '.join(names)}. They work on coefficients, and are no circuit of "
            "slots that Python runs."]  # fmt: skip


COLUMNS: Final = (
    Column("program", "program"),
    Column("degree", "N"),
    Column("limbs", "limbs"),
    Column("digit_limbs", "d"),
    Column("like_f1", "like F1"),
    Column("paper_cpu_ms", "CPU", ",.0f"),
    Column("paper_f1_ms", "F1", ".2f"),
    Column("paper_speedup", "CPU/F1", ",.0f"),
    Column("simulated_ms", "ours", ".3f"),
    Column("ratio", "ours/F1", ".2f"),
    Column("measured_cpu_ms", "CPU here", ",.1f"),
    Column("speedup", "here/ours", ",.0f"),
    Column("error", "error", ".0e"),
    Column("source", "source of ours"),
)
NOTES: Final = (
    "CPU, F1, CPU/F1: ms as the paper prints them, its CPU a Xeon E3-1240v5 of 4 cores. ours: "
    "simulated on the machine f1. CPU here: median ms of encrypted runs of the same circuit, in "
    "the same words of 32 bits, on this CPU, with --measure. error: the largest difference "
    "between the decrypted result and that of a run in the clear.",
    "like F1: F1's degree and limbs, and digits of one limb, which is its key switch. All other "
    "rows are other programs for the same task, with the digits of d limbs that are fastest on f1.",
    "The paper prints 172 to 1,866 times HEAX's speed for microbenchmarks. The text at hand has "
    "neither their times nor parameters, so no row can stand beside them.",
)
