"""``inspect --why``: the candidates that the planner compared, and its choice."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import click

from palladion.cli.table import print_table, short
from palladion.text import times

Candidate = dict[str, Any]

SHOWN = 3
"""Number of candidates of a decision that are printed, in addition to those with marks."""

WIDTH = 100
"""Largest number of columns of a line."""


def mark(why: dict[str, Any]) -> None:
    """Mark the forms with the fewest ciphertexts and products. Of several, mark the cheapest."""
    for layer in why["layers"]:
        forms = ranked(layer["forms"])
        for form in layer["forms"]:
            form["marks"] = []
        for what in ("ciphertexts", "products") if forms else ():
            min(forms, key=itemgetter(what))["marks"].append(what)


def show_why(why: dict[str, Any]) -> None:
    """Print the cheapest candidates of each decision, the chosen one with a star."""
    heading(
        "forms: seconds of packing and table on a trial chain of "
        f"{why['trial_limbs']} limbs, and of reading products"
    )
    for layer in why["layers"]:
        show_candidates(layer["name"], layer["forms"], form_row)
    heading("tables in the chosen form: seconds of packing and table, for each ciphertext")
    for layer in why["layers"]:
        show_candidates(layer["name"], layer["tables"], table_row)
    heading("key switching: ways to cut a chain of limbs into digits, seconds of all tables")
    cuts = ranked(why["cuts"])
    print_table([{"": star(cut), **cut_row(cut)} for cut in cuts])
    refused = [cut for cut in why["cuts"] if cut["refused"] is not None]
    if refused:
        click.echo("refused")
    for cut in refused:
        way = (
            f"{cut['limbs']} limbs, {cut['special_limbs']} special, {cut['digit_limbs']} per digit"
        )
        reason = f"{way}: {cut['refused']}"
        click.echo(textwrap.fill(reason, WIDTH, initial_indent="  ", subsequent_indent="    "))


def heading(text: str) -> None:
    click.echo(f"\n{text}")


def show_candidates(
    name: str, candidates: Sequence[Candidate], row: Callable[[Candidate], dict[str, object]]
) -> None:
    """Print the cheapest of a layer's candidates, and those with marks. If all were refused, print
    the reasons."""
    good = ranked(candidates)
    refused = len(candidates) - len(good)
    words = f", {refused} refused" if refused else ""
    click.echo(f"\n{short(name, WIDTH // 2)}: {len(candidates)} compared{words}")
    if not candidates:
        click.echo("  nothing to choose")
    if not good:
        for reason in list(dict.fromkeys(found["refused"] for found in candidates))[:SHOWN]:
            text = f"refused: {reason}"
            click.echo(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "))
        return
    shown = good[:SHOWN] + [found for found in good[SHOWN:] if found.get("marks")]
    print_table([{"": star(found), **row(found)} for found in shown])


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that were not refused, cheapest first, as the planner ranks them."""
    good = [found for found in candidates if found["refused"] is None]
    return sorted(good, key=lambda found: float(found["seconds"]))


def star(found: Candidate) -> str:
    return "*" if found["chosen"] else ""


def form_row(found: Candidate) -> dict[str, object]:
    return {
        "form": found["form"],
        "values": found["values"],
        "ciphertexts": found["ciphertexts"],
        "zeros": times(found["zeros"]),
        "products": found["products"],
        "table": round(found["table_seconds"], 3),
        "reads": round(found["reading_seconds"], 3),
        "seconds": round(found["seconds"], 3),
        "fewest": ", ".join(found["marks"]),
    }


def table_row(found: Candidate) -> dict[str, object]:
    return {
        "segments": found["segments"],
        "digits": times(found["digits"]),
        "start level": found["start_level"],
        "products": found["products"],
        "seconds": round(found["seconds"], 3),
    }


def cut_row(found: Candidate) -> dict[str, object]:
    return {
        "limbs": found["limbs"],
        "special": found["special_limbs"],
        "limbs per digit": found["digit_limbs"],
        "log2(QP)": round(found["log_qp"], 1),
        "seconds": round(found["seconds"], 3),
    }
