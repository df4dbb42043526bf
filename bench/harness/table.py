"""The tables: one line per operation, one column per program, in 100 columns of a terminal."""

from __future__ import annotations

from .programs import Program
from .rounds import Measured, Outcome

_LABEL = 24
_CELL = 15
_GROUP_TITLES = {
    "ntt": "Negacyclic NTT of one limb, microseconds",
    "bfv": "BFV operations on fresh ciphertexts, milliseconds",
}
_BFV_ORDER = (
    "bfv product, relin.",
    "bfv product",
    "bfv residual product",
    "bfv rotation",
    "bfv row swap",
    "bfv plaintext product",
    "bfv sum",
)
# Cores used by others, at most, on a machine called idle.
_IDLE = 0.1
_SCALE = {"ntt": 1e6, "bfv": 1e3}


def render(outcome: Outcome, programs: list[Program], groups: list[str]) -> str:
    """All tables, with what was not run and what to keep in mind."""
    parts = []
    for group in groups:
        rows = [row for row in outcome.rows if row.name.split()[0] == group]
        columns = [program for program in programs if group in program.groups]
        parts.append("\n".join(_table(group, rows, columns, outcome)))
    notes = ["(x): a peer's time over ours; above 1 ours is faster. Compare within one run only."]
    if outcome.pinned_to is None:
        notes.append("The programs were not bound to one core: this system cannot.")
    return "\n\n".join([*parts, "\n".join(notes + idle_note(outcome.others))])


def idle_note(others: float | None) -> list[str]:
    """A line where other processes used the machine, or may have."""
    if others is not None and others <= _IDLE:
        return []
    used = "unknown" if others is None else f"{others:.2f} cores"
    return [f"The machine was not idle: other processes used {used}."]


def _table(group: str, rows: list[Measured], columns: list[Program], outcome: Outcome) -> list[str]:
    lines = [f"{_GROUP_TITLES[group]}, one thread"]
    lines.append(" " * _LABEL + "".join(f"{p.name:>{_CELL}}" for p in columns))
    by_label: dict[str, dict[str, Measured]] = {}
    for row in sorted(rows, key=_place):
        by_label.setdefault(_label(group, row), {})[row.program] = row
    for label, cells in by_label.items():
        texts = [_cell(cells, p.name, _SCALE[group]) for p in columns]
        lines.append(f"{label:<{_LABEL}}" + "".join(f"{text:>{_CELL}}" for text in texts))
    if group == "bfv":
        lines += _chains(rows, columns)
    lines += [
        f"{program.name}: not run: {outcome.not_run[group, program.name]}"
        for program in columns
        if (group, program.name) in outcome.not_run
    ]
    return lines


def _place(row: Measured) -> int:
    """Operations in the order of README.md, whichever program had them first."""
    return _BFV_ORDER.index(row.name) if row.name in _BFV_ORDER else 0


def _label(group: str, row: Measured) -> str:
    name = row.name.removeprefix(f"{group} ")
    if group == "ntt":
        return f"{name} 2^{row.parameters['log_n']}, {row.parameters['q'].bit_length()} bits"
    return name


def _cell(cells: dict[str, Measured], program: str, scale: float) -> str:
    if program not in cells:
        return "-"
    seconds = cells[program].seconds
    text = f"{seconds * scale:.0f}" if seconds * scale >= 100 else f"{seconds * scale:#.3g}"
    if program == "ours" or "ours" not in cells:
        return text
    return f"{text} ({seconds / cells['ours'].seconds:.2f})"


def _chains(rows: list[Measured], columns: list[Program]) -> list[str]:
    """What each library really ran with: its chain is its own."""
    lines = []
    for program in columns:
        chosen = next((row.parameters for row in rows if row.program == program.name), None)
        if chosen:
            special = f" + {chosen['log_p']} special" if chosen.get("log_p") else ""
            lines.append(
                f"{program.name}: N = 2^{chosen['log_n']}, t = {chosen['t']}, "
                f"log2 Q = {chosen['log_q']}{special}; {chosen['key_switching']}"
            )
    return lines
