"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from palladion.support.text import short, table

__all__ = ["print_table", "short"]


def print_table(rows: Sequence[Mapping[str, object]]) -> None:
    """Print objects of the same fields, one per line, in columns."""
    for line in table(rows):
        click.echo(line)
