"""Independent judges: results of other libraries for the same inputs, and the definitions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .environments import NotRunError
from .inputs import complexes, words
from .programs import Line, definition

JUDGED = ("ntt", "bfv", "bgv", "ckks")


@dataclass(frozen=True)
class Verdict:
    """One check of one program."""

    program: str
    check: str
    held: bool
    # The accuracy of the result, if there is a measure for it.
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.program} {'ok' if self.held else 'WRONG'}{self.detail}"


# Points at which a transform is recomputed from its definition, in plain integers.
_SPOT_CHECKS = 3


def judge(group: str, results: dict[str, list[Line]]) -> Iterator[Verdict]:
    """Compares the programs' results in pairs and with the definition."""
    if group == "ntt":
        return _judge_ntt(results)
    return _judge_slots(group, results)


def refuse_wrong(group: str, line: Line) -> None:
    """Raises NotRunError if a program that checks its own result found it wrong."""
    found = line.get("found", {})
    if found.get("wrong"):
        raise NotRunError(f"{found['wrong']} of {found['values']} values were wrong")
    if "precision_bits" in found:
        worst, least = found["precision_bits"]["worst"], definition(group)["precision_bits"]
        if not worst >= least:
            raise NotRunError(f"the precision was {worst:.1f} bits, below {least}")


def _judge_ntt(results: dict[str, list[Line]]) -> Iterator[Verdict]:
    first: dict[tuple[int, int], tuple[dict[int, int], list[int]]] = {}
    for program, lines in results.items():
        for line in lines:
            log_n, q = line["parameters"]["log_n"], line["parameters"]["q"]
            case = f"ntt 2^{log_n}, {q.bit_length()} bits"
            points, values, product = line["points"], line["values"], line["product"]
            # Libraries differ in the root and in the order of the values. The transform of the
            # polynomial X shows both, so a transform is compared as a map from point to value.
            transform = dict(zip(points, values, strict=True))
            yield Verdict(
                program, f"{case}: at the odd powers of a root", _are_odd_powers(points, q)
            )
            yield Verdict(program, f"{case}: values by definition", _spot_checks(points, values, q))
            known = first.setdefault((log_n, q), (transform, product))
            yield Verdict(program, f"{case}: all values agree", transform == known[0])
            yield Verdict(program, f"{case}: products agree", product == known[1])


def _are_odd_powers(points: list[int], q: int) -> bool:
    """Whether the points are all primitive `2N`-th roots of unity modulo `q`."""
    n, psi = len(points), points[0]
    power, square, powers = psi, psi * psi % q, set()
    for _ in range(n):
        powers.add(power)
        power = power * square % q
    return pow(psi, n, q) == q - 1 and powers == set(points)


def _spot_checks(points: list[int], values: list[int], q: int) -> bool:
    n = len(points)
    a = words(1, n, q)
    for index in words(3, _SPOT_CHECKS, n):
        value = 0
        for coefficient in reversed(a):
            value = (value * points[index] + coefficient) % q
        if value != values[index]:
            return False
    return True


def _judge_slots(group: str, results: dict[str, list[Line]]) -> Iterator[Verdict]:
    expected = _expected_slots(group)
    for program, lines in results.items():
        for line in lines:
            name, check = line["name"], f"{line['name']}, all slots"
            right = expected[name.removeprefix(f"{group} ")]
            if group == "ckks":
                yield _approximately(program, check, line["slots"], right)
            else:
                yield Verdict(program, check, line["slots"] == right)


def _approximately(
    program: str, check: str, slots: list[list[float]], expected: list[complex]
) -> Verdict:
    if len(slots) != len(expected):
        return Verdict(program, check, False, f" ({len(slots)} slots)")
    errors = [abs(complex(*s) - e) for s, e in zip(slots, expected, strict=True)]
    # An exact slot counts as one whose last bit as a float is wrong.
    worst, mean = (-math.log2(max(e, 2**-53)) for e in (max(errors), sum(errors) / len(errors)))
    held = worst >= definition("ckks")["precision_bits"]
    return Verdict(program, check, held, f" ({mean:.1f} bits mean, {worst:.1f} worst)")


def _expected_slots(group: str) -> dict[str, list[Any]]:
    """The meaning of the operations for slots: two rows of `N/2` integers, or one of complex
    numbers."""
    defined = definition(group)
    n, steps = 1 << defined["log_n"], defined.get("rotations", 0)
    a: list[Any]
    b: list[Any]
    if group == "ckks":
        a, b = complexes(1, n // 2), complexes(2, n // 2)
        rows: list[list[Any]] = [a]

        def reduced(value: Any) -> Any:
            return value
    else:
        t = defined["t"]
        a, b = words(1, n, t), words(2, n, t)
        rows = [a[: n // 2], a[n // 2 :]]

        def reduced(value: Any) -> Any:
            return value % t

    product = [reduced(x * y) for x, y in zip(a, b, strict=True)]
    same = dict.fromkeys(("encode", "decode", "encrypt", "decrypt, decode"), a)
    products = ("product", "product, relin.", "residual product", "plaintext product")
    return {
        **same,
        **dict.fromkeys((*products, "rescaling", "modulus switch"), product),
        "sum": [reduced(x + y) for x, y in zip(a, b, strict=True)],
        "square, relin.": [reduced(x * x) for x in a],
        "rotation": _rotated(rows, 1),
        "hoisted rotation": _rotated(rows, steps),
        "row swap": [slot for row in reversed(rows) for slot in row],
        "conjugation": [slot.conjugate() for slot in a],
    }


def _rotated(rows: list[list[Any]], steps: int) -> list[Any]:
    return [slot for row in rows for slot in (*row[steps:], *row[:steps])]
