"""Budgets of time and memory for a run, which are checked before keys are generated."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from palladion.deployment import CompiledModel
from palladion.errors import BudgetError
from palladion.facts import Costs
from palladion.support.seconds import threads
from palladion.support.text import size

Command = TypeVar("Command", bound=Callable[..., Any])


UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Budget:
    """Seconds and bytes of memory that a run may take. ``None`` means no limit."""

    seconds: float | None = None
    memory: int | None = None

    def problem(self, costs: Costs, batch: int) -> str | None:
        """The limit that a program with these costs exceeds, and the remedy; or ``None``."""
        count = threads()
        seconds, memory = costs.wall_seconds(count), costs.predicted_peak_memory_bytes
        smaller = " or a smaller --batch" if batch > 1 else ""
        fewer = f"fewer --weights and --activations bits, a smaller --limit of quantize{smaller}"
        if self.seconds is not None and seconds > self.seconds:
            return (
                f"a run would take {seconds:.1f} s on {count} threads, the budget is "
                f"{self.seconds:g} s: use more --threads, {fewer}"
            )
        if self.memory is not None and memory > self.memory:
            return (
                f"a run would take {size(memory)} of memory, the budget is {size(self.memory)}: "
                f"use {fewer}"
            )
        return None

    def check(self, program: CompiledModel) -> None:
        """Refuse a program that is beyond the budget.

        Raises
        ------
        BudgetError
            The message has the predicted value, the allowed value and the remedy.
        """
        problem = self.problem(program.costs(), program.facts.batch)
        if problem is not None:
            raise BudgetError(problem)


def bytes_of(
    _context: click.Context | None, option: click.Parameter | None, text: str | None
) -> int | None:
    """Bytes, or a number with K, M, G or T, in powers of 1000."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise click.BadParameter(f"{text!r} is no size, expected one like 8G", param=option)
    return int(float(found[1]) * UNITS[found[2].upper()])


def budget_options(command: Command) -> Command:
    """``--budget-seconds`` and ``--budget-memory``, given to the command as ``budget``."""

    @functools.wraps(command)
    def with_budget(
        *args: Any, budget_seconds: float | None, budget_memory: int | None, **options: Any
    ) -> Any:
        return command(*args, budget=Budget(budget_seconds, budget_memory), **options)

    for option in (
        click.option(
            "--budget-memory",
            callback=bytes_of,
            help="Fail if a run would take more memory: bytes, or a size like 8G.",
        ),
        click.option(
            "--budget-seconds",
            type=click.FloatRange(min=0, min_open=True),
            help="Fail if a run would take more seconds on the threads in use.",
        ),
    ):
        with_budget = option(with_budget)
    return with_budget  # type: ignore[return-value]
