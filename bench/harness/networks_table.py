"""The table of networks: a line for each system, followed by the differences between them."""

from __future__ import annotations

from statistics import median

from .networks import Row
from .table import idle_note

_HEADER = (
    f"{'':<28}{'s/image':>9}{'right':>8}{'as clear':>10}{'clear model':>14}"
    f"{'peak GB':>9}{'keys GB':>9}{'bits':>6}"
)


def render(rows: list[Row], threads: int, others: float | None) -> str:
    """All measurements, the systems that were not run, and notes."""
    parts = []
    for network in dict.fromkeys(row["network"] for row in rows):
        lines = [f"{network}, {threads} thread{'s' * (threads != 1)}", _HEADER]
        for row in rows:
            if row["network"] == network:
                lines += _lines(row)
        parts.append("\n".join(lines))
    notes = [
        "s/image: the server's part, median over the images; ours their mean.",
        "right, as clear: of the encrypted images, the label and the class of the system's own",
        "clear model; clear model: its right answers. keys: for evaluation. bits: security.",
    ]
    return "\n\n".join([*parts, "\n".join(notes + idle_note(others))])


def _lines(row: Row) -> list[str]:
    name = f"{row['system']} {row['variant']}".rstrip()
    if "not_run" in row:
        return [f"{name}: not run: {row['not_run']}"]
    count = row["images"]
    figures = (
        f"{name:<28}{median(row['seconds']):>9.3g}{row['correct']:>6}/{count}"
        f"{row['as_clear']:>8}/{count}{row['clear_correct']:>9}/{row['clear_images']}"
        f"{row['peak_memory_bytes'] / 1e9:>9.2f}{row['key_bytes'] / 1e9:>9.2f}"
        f"{row['security_bits']:>6}"
    )
    return [figures, f"    {row['differs']}"]
