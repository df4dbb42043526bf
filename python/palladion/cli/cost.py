"""``palladion cost``: what a request costs its operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import click

from palladion.cli.common import (
    json_option,
    print_json,
    print_rows,
    print_warnings,
    program_option,
    threads_option,
)
from palladion.cli.table import print_table
from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.support.records import to_json
from palladion.support.text import size

HOUR: Final = 3600.0
COUNTS: Final = (1, 2, 4)
"""Numbers of cores of the table. Work is divided by the cores, which more cores do not reach."""
MANY: Final = "more than 4 cores: the work is divided by them, and a run keeps fewer busy"


@dataclass(frozen=True)
class Request:
    """The predicted cost of a request on some cores of this kind of machine."""

    cores: int
    seconds: float
    core_seconds: float
    requests_per_hour: float
    inputs_per_hour: float
    price_of_1000: float | None = None
    """Price of the cores for 1,000 requests, if a price is given."""

    @classmethod
    def of(cls, program: CompiledModel, cores: int, price: float | None) -> Request:
        """The cost on ``cores`` cores, at ``price`` for an hour of one."""
        seconds = program.costs().wall_seconds(cores)
        per_hour = HOUR / seconds
        return cls(
            cores, seconds, seconds * cores, per_hour, per_hour * program.facts.batch,
            None if price is None else 1000 * price * seconds * cores / HOUR,
        )  # fmt: skip


@click.command()
@program_option
@click.option("--price", type=float, help="Price of one core for an hour, in any currency.")
@click.option("--cores", type=click.IntRange(min=1, max=4096),
              help="Cores of a request; default: a table of several numbers.")  # fmt: skip
@threads_option
@json_option
def cost(program: CompiledModel, price: float | None, cores: int | None, as_json: bool) -> None:
    """Predict what a request costs: seconds, requests an hour, memory, bytes and money.

    Seconds are predicted for cores like those of this machine, with nothing else on it. A request
    is one run of the program, for its whole batch. Many cores serve most requests an hour with a
    run on each few of them, if the memory suffices for as many runs at once.
    """
    if price is not None and not 0 < price < float("inf"):
        raise UsageError(f"a price of {price}, expected a number above 0")
    rows = [Request.of(program, count, price) for count in ([cores] if cores else COUNTS)]
    facts, costs = program.facts, program.costs()
    warnings = [MANY] if rows[-1].cores > COUNTS[-1] else []
    fixed = {
        "batch": facts.batch,
        "query_bytes": facts.predicted_ciphertext_bytes,
        "evaluation_key_bytes": costs.predicted_evaluation_key_bytes,
        "run_memory_bytes": costs.predicted_run_memory_bytes,
        "key_memory_bytes": costs.predicted_key_memory_bytes,
    }
    if as_json:
        print_json({"network": facts.network, **fixed, "warnings": warnings,
                    "requests": [to_json(row) for row in rows]})  # fmt: skip
        return
    print_rows({
        facts.network: f"{facts.batch} inputs a request, predicted for this machine's cores",
        "keys of a client": f"{size(costs.predicted_evaluation_key_bytes)} once, kept on disk",
        "query": f"{size(facts.predicted_ciphertext_bytes)} each",
        "memory": f"{size(costs.predicted_run_memory_bytes)} for a run, of which "
        f"{size(costs.predicted_key_memory_bytes)} are keys",
    })  # fmt: skip
    print_table([table_row(row, price) for row in rows])
    print_warnings(warnings)


def table_row(row: Request, price: float | None) -> dict[str, object]:
    """A row of the table for a terminal."""
    shown: dict[str, object] = {
        "cores": row.cores,
        "seconds": f"{row.seconds:.2f}",
        "core-seconds": f"{row.core_seconds:.1f}",
        "requests an hour": f"{row.requests_per_hour:,.0f}",
        "inputs an hour": f"{row.inputs_per_hour:,.0f}",
    }
    if row.price_of_1000 is not None:
        shown[f"1,000 at {price:g} a core-hour"] = f"{row.price_of_1000:,.2f}"
    return shown
