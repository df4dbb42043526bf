"""The tables: one line per operation, one column per program, in 100 columns of a terminal."""

from __future__ import annotations

from typing import Any

from .programs import Program
from .rounds import Measured, Outcome, Plan

_LABEL = 24
_CELL = 15
_GROUP_TITLES = {
    "ntt": "Negacyclic NTT of one limb, microseconds",
    "bfv": "BFV operations on fresh ciphertexts, milliseconds",
    "bgv": "BGV operations on fresh ciphertexts, milliseconds",
    "ckks": "CKKS operations on fresh ciphertexts, milliseconds",
    "bootstrap": "CKKS bootstrapping of one ciphertext, seconds",
    "lookup": "A table of 8 bits on 2^16 values, seconds",
    "tfhe": "TFHE gates and tables with their probability of failure, milliseconds",
}
_ORDER = (
    *("keygen", "encode", "decode", "encrypt", "decrypt, decode"),
    *("product, relin.", "square, relin.", "product", "residual product"),
    *("rescaling", "modulus switch"),
    *("rotation", "hoisted rotation", "row swap", "conjugation"),
    *("plaintext product", "sum"),
)
# Largest number of cores used by others on a machine that counts as idle.
_IDLE = 0.1
_SCALE = {"ntt": 1e6, "bootstrap": 1, "lookup": 1}
_MILLI = 1e3


def render(outcome: Outcome, programs: list[Program], plan: Plan) -> str:
    """All tables, with the programs that were not run, and notes."""
    parts = []
    for group in plan.groups:
        columns = [program for program in programs if group in program.groups]
        of_group = [row for row in outcome.rows if row.name.split()[0] == group]
        for threads in sorted(plan.threads):
            rows = [row for row in of_group if row.threads == threads]
            many = f"{threads} threads" if threads > 1 else "one thread"
            lines = [f"{_GROUP_TITLES[group]}, {many}", *_table(group, rows, columns)]
            parts.append("\n".join([*lines, *_not_run(group, columns, outcome)]))
    notes = ["(x): a peer's time over ours; above 1 ours is faster. Compare within one run only."]
    if outcome.pinned_to is None:
        notes.append("The programs were not bound to cores: this system cannot.")
    return "\n\n".join([*parts, "\n".join(notes + idle_note(outcome.others))])


def idle_note(others: float | None) -> list[str]:
    """A note if other processes used the machine, or may have used it."""
    if others is not None and others <= _IDLE:
        return []
    used = "unknown" if others is None else f"{others:.2f} cores"
    return [f"The machine was not idle: other processes used {used}."]


def _table(group: str, rows: list[Measured], columns: list[Program]) -> list[str]:
    lines = [" " * _LABEL + "".join(f"{p.name:>{_CELL}}" for p in columns)]
    by_label: dict[str, dict[str, Measured]] = {}
    for row in sorted(rows, key=_place):
        by_label.setdefault(_label(group, row), {})[row.program] = row
    for label, cells in by_label.items():
        texts = [_cell(cells, p.name, _SCALE.get(group, _MILLI)) for p in columns]
        lines.append(f"{label:<{_LABEL}}" + "".join(f"{text:>{_CELL}}" for text in texts))
    if group != "ntt":
        for program in columns:
            own = [row for row in rows if row.program == program.name]
            # Rows with findings each have their own parameters.
            for row in [row for row in own if row.found] or own[:1]:
                lines += _with_what(row)
    return lines


def _not_run(group: str, columns: list[Program], outcome: Outcome) -> list[str]:
    return [
        f"{program.name}: not run: {outcome.not_run[group, program.name]}"
        for program in columns
        if (group, program.name) in outcome.not_run
    ]


def _operation(row: Measured) -> str:
    return " ".join(row.name.split()[1:]) or row.name


def _place(row: Measured) -> int:
    """The position of an operation in the order of README.md, for all programs."""
    return _ORDER.index(_operation(row)) if _operation(row) in _ORDER else 0


def _label(group: str, row: Measured) -> str:
    if group == "ntt":
        bits = row.parameters["q"].bit_length()
        return f"{_operation(row)} 2^{row.parameters['log_n']}, {bits} bits"
    return _operation(row)


def _cell(cells: dict[str, Measured], program: str, scale: float) -> str:
    if program not in cells:
        return "-"
    seconds = cells[program].seconds
    text = f"{seconds * scale:.0f}" if seconds * scale >= 100 else f"{seconds * scale:#.3g}"
    if program == "ours" or "ours" not in cells:
        return text
    return f"{text} ({seconds / cells['ours'].seconds:.2f})"


def _with_what(row: Measured) -> list[str]:
    """The actual parameters of a library, whose chain is its own, and its findings."""
    chosen = row.parameters
    special = f" + {chosen['log_p']} special" if chosen.get("log_p") else ""
    limbs = f" ({chosen['moduli']} moduli)" if "moduli" in chosen else ""
    texts = [f"N = 2^{chosen['log_n']}", f"log2 Q = {chosen['log_q']}{special}{limbs}"]
    texts += [f"{key} = {chosen[key]}" for key in ("t", "log_scale") if key in chosen]
    texts += [chosen["key_switching"]]
    texts += [f"secret {chosen['secret']}"] if "secret" in chosen else []
    if row.at_once > 1:
        texts.append(f"{row.at_once} at once, a share of their time")
    return [f"{row.program}: {'; '.join(texts)}", f"    {_costs(row)}"]


def _costs(row: Measured) -> str:
    found: dict[str, Any] = row.found
    texts = [f"peak memory {row.peak_memory / 1e9:.2f} GB"]
    if "keygen_seconds" in found:
        texts.append(f"keys made in {found['keygen_seconds']:.0f} s")
    if "key_bytes" in found:
        texts.append(f"keys {found['key_bytes'] / 1e9:.2f} GB")
    if "precision_bits" in found:
        bits = found["precision_bits"]
        texts.append(f"precision {bits['mean']:.1f} bits (mean), {bits['worst']:.1f} (worst)")
    if "levels" in found:
        texts.append(f"{found['levels']} levels left")
    if "wrong" in found:
        texts.append(f"{found['wrong']} of {found['values']} values wrong")
    return "; ".join(texts)
