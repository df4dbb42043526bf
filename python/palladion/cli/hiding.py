"""``--hide-model``: floods over the outputs of a program, and their cost."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from palladion import IntNetwork
from palladion.cli.common import given
from palladion.deployment import DEFAULT_QUERIES, CompiledModel
from palladion.errors import UsageError
from palladion.support.text import size

Command = TypeVar("Command", bound=Callable[..., Any])


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
        "--queries", type=click.IntRange(min=1, max=1 << 40), default=DEFAULT_QUERIES,
        help="With --hide-model: queries over which noise is hidden. Default: 1048576.",
    )(with_hiding)  # fmt: skip
    add_flag = click.option(
        "--hide-model", is_flag=True,
        help="Hide the noise of the outputs, from which a client could check guesses of weights.",
    )  # fmt: skip
    return add_flag(with_hiding)  # type: ignore[return-value]


@dataclass(frozen=True)
class Hiding:
    """The cost of floods: each figure without them, and with them."""

    queries: int
    """Queries over which they hide noise."""
    seconds: tuple[float, float]
    """Predicted, on the threads in use."""
    key_bytes: tuple[int, int]

    def __str__(self) -> str:
        (without, seconds), (keys, all_keys) = self.seconds, self.key_bytes
        return (f"the noise of outputs, over {self.queries:,} queries, for "
                f"{seconds:.2f} s instead of {without:.2f} s and {size(all_keys)} of keys instead "
                f"of {size(keys)}")  # fmt: skip


def compare(
    network: IntNetwork, program: CompiledModel, failure: float, words: int | None
) -> Hiding:
    """A program with floods, compared with one without them."""
    plain = CompiledModel.of_network(
        network, program.facts.batch, failure=failure, words=words
    ).costs()
    costs, queries = program.costs(), program.facts.flooded_answers
    assert queries is not None, "the program has floods"
    return Hiding(
        queries,
        (plain.wall_seconds(), costs.wall_seconds()),
        (plain.predicted_evaluation_key_bytes, costs.predicted_evaluation_key_bytes),
    )
