"""``inspect --why``: the candidates that the planner compared, and its choice."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import click

from palladion.choices import Candidate, Choices, Cut, Form, Kind, Table, ranked
from palladion.cli.table import print_table, short
from palladion.support.text import times

SHOWN = 3
"""Number of candidates of a decision that are printed, in addition to the marked ones."""

WIDTH = 100
"""Largest number of columns of a line."""


def show_why(why: Choices) -> None:
    """Print the cheapest candidates of each decision, the chosen one with a star."""
    if any(layer.forms for layer in why.layers):
        heading(
            "forms: seconds of packing and table on a trial chain of "
            f"{why.trial_limbs} limbs, and of reading products"
        )
        for layer in why.layers:
            show_candidates(layer.name, layer.forms, form_row)
    elif why.layers:
        heading("forms: every value has a coefficient for each input of the batch")
    heading("tables in the chosen form: seconds of packing and table, for each ciphertext")
    for layer in why.layers:
        show_candidates(layer.name, layer.tables, table_row)
    heading("key switching: ways to cut a chain of limbs into digits, seconds of all tables")
    print_table([{"": star(cut), **cut_row(cut)} for cut in ranked(why.cuts)])
    refused = [cut for cut in why.cuts if cut.refused is not None]
    if refused:
        click.echo("refused")
    for cut in refused:
        way = f"{cut.limbs} limbs, {cut.special_limbs} special, {cut.digit_limbs} per digit"
        reason = f"{way}: {cut.refused}"
        click.echo(textwrap.fill(reason, WIDTH, initial_indent="  ", subsequent_indent="    "))


def heading(text: str) -> None:
    click.echo(f"\n{text}")


def show_candidates(
    name: str, candidates: Sequence[Kind], row: Callable[[Kind], dict[str, object]]
) -> None:
    """Print the cheapest of a layer's candidates, and the marked ones. If all were refused, print
    the reasons."""
    good = ranked(candidates)
    refused = len(candidates) - len(good)
    words = f", {refused} refused" if refused else ""
    click.echo(f"\n{short(name, WIDTH // 2)}: {len(candidates)} compared{words}")
    if not candidates:
        click.echo("  nothing to choose")
    if not good:
        for reason in list(dict.fromkeys(each.refused for each in candidates))[:SHOWN]:
            text = f"refused: {reason}"
            click.echo(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "))
        return
    shown = good[:SHOWN] + [each for each in good[SHOWN:] if getattr(each, "marks", ())]
    print_table([{"": star(each), **row(each)} for each in shown])


def star(candidate: Candidate) -> str:
    return "*" if candidate.chosen else ""


def thousandths(seconds: float | None) -> float | None:
    """Seconds with three places."""
    return None if seconds is None else round(seconds, 3)


def form_row(form: Form) -> dict[str, object]:
    return {
        "form": form.form,
        "values": form.values,
        "ciphertexts": form.ciphertexts,
        "zeros": times(form.zeros),
        "products": form.products,
        "table": thousandths(form.table_seconds),
        "reads": thousandths(form.reading_seconds),
        "seconds": thousandths(form.seconds),
        "fewest": ", ".join(form.marks),
    }


def table_row(table: Table) -> dict[str, object]:
    return {
        "segments": table.segments,
        "digits": times(table.digits),
        "start level": table.start_level,
        "products": table.products,
        "seconds": thousandths(table.seconds),
    }


def cut_row(cut: Cut) -> dict[str, object]:
    return {
        "limbs": cut.limbs,
        "special": cut.special_limbs,
        "limbs per digit": cut.digit_limbs,
        "log2(QP)": round(cut.log_qp, 1),
        "seconds": thousandths(cut.seconds),
    }
