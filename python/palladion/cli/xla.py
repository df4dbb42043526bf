"""``palladion xla``."""

from __future__ import annotations

from dataclasses import asdict

import click

from palladion.cli.common import json_option, print_json
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.errors import UsageError


@click.group()
def xla() -> None:
    """Measure XLA's kernels on this machine."""


@xla.command()
@click.option(
    "--device",
    type=click.Choice(["cpu", "gpu", "tpu"]),
    help="Kind of the device; default: JAX's first one.",
)
@click.option("--n", type=int, default=1 << 15, help="Ring degree N: a power of two, 16 to 131072.")
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    help="Rows of N words of an instruction; default: as in runs, 1 on a CPU, where a call is a "
    "loop of 16 instructions, and 64 elsewhere.",
)
@click.option("--runs", type=click.IntRange(min=1), default=15, help="Runs of each kernel.")
@click.option("--operation", "operations", multiple=True, help="Only this operation, and others.")
@json_option
def tune(
    device: str | None,
    n: int,
    rows: int | None,
    runs: int,
    operations: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure every variant of every kernel and keep the fastest ones.

    Times are microseconds for a row of N words, medians of the runs, by all threads that XLA takes.
    A variant whose words differ from the first one's is never chosen. The choice is kept in
    a file of the user's cache, and holds for this device and this version of JAX."""
    if n & (n - 1) or not 16 <= n <= 1 << 17:
        raise UsageError(f"N is {n}, expected a power of two from 16 to 131072")
    from palladion.xla import enable

    enable()
    import jax

    from palladion.xla.kernels import choice
    from palladion.xla.kernels import tune as tuning

    for name in operations:
        if name not in choice.OPERATIONS:
            known = ", ".join(choice.OPERATIONS)
            raise UsageError(f"no operation {name!r}, expected one of {known}")
    try:
        found = jax.devices(device)[0]
    except RuntimeError as error:
        here = ", ".join(sorted({each.platform for each in jax.devices()}))
        raise UsageError(f"no device {device!r}, expected one of this machine's: {here}") from error
    rows = rows or (1 if found.platform == "cpu" else 64)
    wanted = operations or tuple(choice.OPERATIONS)
    total = sum(len(choice.OPERATIONS[name]) for name in wanted)
    measured = []
    with Steps(quiet=as_json) as steps:
        steps.start_run()
        for entry in tuning.measure(found, n, rows, runs, wanted):
            measured.append(entry)
            steps.count("measure", len(measured), total, f"{entry.operation} {entry.variant}")
    best = tuning.fastest(found, n, measured)
    kept = None if operations else best.save()
    rows_ = [
        {**asdict(entry), "chosen": best.kernels.get(entry.operation) == entry.variant}
        for entry in measured
    ]
    if as_json:
        for row in rows_:
            row["microseconds"] = None if row["note"] else row["microseconds"]
        fields = {"device": best.device, "jax": best.jax, "n": n, "rows": rows, "runs": runs}
        print_json({**fields, "measured": rows_, "file": kept and str(kept)})
        return
    print_table(
        [
            {
                "operation": row["operation"],
                "variant": row["variant"],
                "us per row": "-" if row["note"] else f"{row['microseconds']:.1f}",
                "compile s": f"{row['compile_seconds']:.2f}",
                "chosen": "*" if row["chosen"] else "",
            }
            for row in rows_
        ]
    )
    for note in dict.fromkeys(row["note"] for row in rows_ if row["note"]):
        names = ", ".join(
            f"{row['operation']} {row['variant']}" for row in rows_ if row["note"] == note
        )
        click.echo(click.wrap_text(f"-: {names}: {note}", 98, subsequent_indent="  "))
    if kept:
        click.echo(f"kept in {kept}")
