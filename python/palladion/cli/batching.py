"""Options for the number of images in one run: ``--batch`` and ``--mode``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from palladion import IntNetwork
from palladion.cli.budget import Budget
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.deployment import DEFAULT_QUERIES, CompiledModel
from palladion.errors import BudgetError, NetworkError, UsageError

Command = TypeVar("Command", bound=Callable[..., Any])
LARGEST: Final = 64
"""The largest batch that is tried."""
NO_BETTER: Final = 2
"""The number of batches in a row without improvement after which the search ends."""


def images(_context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """The number of images, or 0 for ``auto``."""
    if text is None or text == "auto":
        return None if text is None else 0
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is neither auto nor 1 or more", param=option)
    return int(text)


def batch_options(command: Command) -> Command:
    """``--batch`` and ``--mode``. The command gets the batches to try as ``batches``."""
    return _options(command, ["latency", "throughput"], "")


def batch_or_hybrid_options(command: Command) -> Command:
    """As :func:`batch_options`, with the mode ``hybrid``: then there are no batches to try."""
    words = " hybrid: a program for client and server together, with exact answers."
    return _options(command, ["latency", "throughput", "hybrid"], words)


def _options(command: Command, modes: list[str], words: str) -> Command:

    @functools.wraps(command)
    def with_batches(*args: Any, batch: int | None, mode: str | None, **options: Any) -> Any:
        return command(*args, batches=batches(batch, mode), **options)

    with_batches = click.option(
        "--mode",
        type=click.Choice(modes),
        help="Aim of --batch auto: one image soon, or many images per second." + words,
    )(with_batches)
    add_batch = click.option(
        "--batch", callback=images, help="Images in one run, or auto to choose; default 1."
    )
    return add_batch(with_batches)  # type: ignore[return-value]


def batches(batch: int | None, mode: str | None) -> list[int]:
    """Batches to try, the smallest first.

    Raises
    ------
    UsageError
        If a mode is given together with a number of images, or ``hybrid`` with any batch.
    """
    if mode == "hybrid":
        if batch is not None:
            raise UsageError(
                "--mode hybrid takes any number of images in a session: give no --batch"
            )
        return []
    if batch and mode is not None:
        raise UsageError(f"--mode {mode} chooses the batch: give no --batch {batch} with it")
    if (batch == 0 and mode is None) or mode == "throughput":
        return [1 << k for k in range(LARGEST.bit_length())]
    return [batch or 1]


@dataclass(frozen=True)
class Candidate:
    """The figures of one batch."""

    batch: int
    seconds: float
    """Predicted, on the threads in use."""
    seconds_per_image: float
    memory_bytes: int
    within_budget: bool


def choose(
    network: IntNetwork,
    tried: list[int],
    budget: Budget,
    steps: Steps,
    *,
    failure: float = -40.0,
    words: int | None = None,
    hidden_queries: int | None = None,
    profile: Path | None = None,
) -> tuple[CompiledModel, list[Candidate]]:
    """The program with the least predicted seconds per image within the budget, and all candidates.

    A run is wrong with a probability of at most ``2**failure``. Moduli fit words of ``words`` bits,
    32 to 64, or None for any. With ``hidden_queries`` floods hide the noise of outputs over so
    many queries. With ``profile``, a client's file or evaluation keys, the parameters are its.

    The search ends at the first batch that cannot be compiled. It also ends after :data:`NO_BETTER`
    batches in a row that are no better than the best, or beyond the budget.

    Raises
    ------
    BudgetError
        If no batch is within the budget.
    NetworkError
        If the smallest batch cannot be compiled.
    """
    best: CompiledModel | None = None
    least, worse, first_problem = float("inf"), 0, None
    candidates: list[Candidate] = []
    for batch in tried:
        try:
            with steps.step("compile" if len(tried) == 1 else f"compile for a batch of {batch}"):
                program = CompiledModel.of_network(
                    network, batch, failure=failure, words=words,
                    hide_model=hidden_queries is not None,
                    queries=hidden_queries or DEFAULT_QUERIES,
                    profile=profile,
                )  # fmt: skip
        except (NetworkError, UsageError):
            if not candidates:
                raise
            break
        problem = budget.problem(program.costs(), batch)
        latest = candidate(program, within=problem is None)
        candidates.append(latest)
        first_problem = first_problem or problem
        if problem is None and latest.seconds_per_image < least:
            best, least, worse = program, latest.seconds_per_image, 0
        else:
            worse += 1
        if worse == NO_BETTER:
            break
    if best is None:
        raise BudgetError(first_problem)
    return best, candidates


def candidate(program: CompiledModel, *, within: bool) -> Candidate:
    """The figures of a program's batch."""
    seconds, batch = program.costs().wall_seconds(), program.facts.batch
    memory = program.costs().predicted_peak_memory_bytes
    return Candidate(batch, seconds, seconds / batch, memory, within)


def show_candidates(candidates: list[Candidate], chosen: int) -> None:
    """Print the batches that were compared, if there was a choice."""
    if len(candidates) == 1:
        return
    rows = [
        {
            "batch": each.batch,
            "s a run": f"{each.seconds:.1f}",
            "s an image": f"{each.seconds_per_image:.2f}",
            "GB": f"{each.memory_bytes / 1e9:.2f}",
            "": "chosen" if each.batch == chosen else reason(each),
        }
        for each in candidates
    ]
    print_table(rows)
    click.echo()


def reason(candidate: Candidate) -> str:
    """The reason why a batch was not chosen."""
    return "more s an image" if candidate.within_budget else "beyond the budget"
