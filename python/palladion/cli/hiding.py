"""``--hide-model``: floods over the outputs of a program, and what they cost."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

import palladion
from palladion.cli.common import given
from palladion.errors import UsageError
from palladion.prediction import threads, wall_seconds
from palladion.text import size

Command = TypeVar("Command", bound=Callable[..., Any])

QUERIES: Final = 1 << 20
"""The number of queries over which the noise of outputs is hidden, unless another is given."""


def hiding_options(command: Command) -> Command:
    """``--hide-model`` and ``--queries``.

    The command gets ``hidden_queries``: a number of queries, or ``None`` without ``--hide-model``.
    """

    @functools.wraps(command)
    def with_hiding(*args: Any, hide_model: bool, queries: int, **options: Any) -> Any:
        if given("queries") and not hide_model:
            raise UsageError("--queries is for --hide-model: give both, or none")
        return command(*args, hidden_queries=queries if hide_model else None, **options)

    with_hiding = click.option(
        "--queries", type=click.IntRange(min=1, max=1 << 40), default=QUERIES,
        help="With --hide-model: queries over which noise is hidden. Default: 1048576.",
    )(with_hiding)  # fmt: skip
    add_flag = click.option(
        "--hide-model", is_flag=True,
        help="Hide the noise of the outputs, from which a client could check guesses of weights.",
    )  # fmt: skip
    return add_flag(with_hiding)  # type: ignore[return-value]


def cost(
    network_json: str, report: Mapping[str, Any], failure: float, words: int | None
) -> dict[str, Any]:
    """Seconds and bytes of keys that are predicted without floods, and those of this report."""
    plain = palladion.compile_network(network_json, report["batch"], failure, words).report()
    count = threads()
    return {
        "queries": report["flooded_answers"],
        "seconds": [wall_seconds(r, count) for r in (plain, report)],
        "key_bytes": [r["predicted_evaluation_key_bytes"] for r in (plain, report)],
    }


def line(cost: Mapping[str, Any]) -> str:
    """The cost as one line."""
    (without, seconds), (keys, all_keys) = cost["seconds"], cost["key_bytes"]
    return (f"the noise of outputs, over {cost['queries']:,} queries, for "
            f"{seconds:.2f} s instead of {without:.2f} s and {size(all_keys)} of keys instead of "
            f"{size(keys)}")  # fmt: skip
