"""Independent judges: other libraries' results for the same inputs, and the definitions."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .inputs import words
from .programs import DEFINITIONS, Line

# One check of one program: the program, what was checked, whether it held.
Verdict = tuple[str, str, bool]

# Points at which a transform is recomputed from its definition, in plain integers.
_SPOT_CHECKS = 3


def judge(group: str, results: dict[str, list[Line]]) -> Iterator[Verdict]:
    """Compares what the programs printed, in pairs and with the definition."""
    return {"ntt": _judge_ntt, "bfv": _judge_bfv}[group](results)


def _judge_ntt(results: dict[str, list[Line]]) -> Iterator[Verdict]:
    first: dict[tuple[int, int], tuple[dict[int, int], list[int]]] = {}
    for program, lines in results.items():
        for line in lines:
            log_n, q = line["parameters"]["log_n"], line["parameters"]["q"]
            case = f"ntt 2^{log_n}, {q.bit_length()} bits"
            points, values, product = line["points"], line["values"], line["product"]
            # Libraries differ in the root and in the order of the values. The transform of the
            # polynomial X tells both, so a transform is compared as a map from point to value.
            transform = dict(zip(points, values, strict=True))
            yield program, f"{case}: at the odd powers of a root", _are_odd_powers(points, q)
            yield program, f"{case}: values by definition", _spot_checks(points, values, q)
            known = first.setdefault((log_n, q), (transform, product))
            yield program, f"{case}: all values agree", transform == known[0]
            yield program, f"{case}: products agree", product == known[1]


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


def _judge_bfv(results: dict[str, list[Line]]) -> Iterator[Verdict]:
    expected = _expected_slots()
    for program, lines in results.items():
        for line in lines:
            name = line["name"]
            yield program, f"{name}, all slots", line["slots"] == expected[name]


def _expected_slots() -> dict[str, list[int]]:
    """What the operations mean for slots: two rows of `N/2`."""
    definition = json.loads(DEFINITIONS.read_text(encoding="utf-8"))["bfv"]
    t, n = definition["t"], 1 << definition["log_n"]
    a, b = words(1, n, t), words(2, n, t)
    rows = a[: n // 2], a[n // 2 :]
    product = [x * y % t for x, y in zip(a, b, strict=True)]
    return {
        "bfv sum": [(x + y) % t for x, y in zip(a, b, strict=True)],
        "bfv product": product,
        "bfv product, relin.": product,
        "bfv residual product": product,
        "bfv plaintext product": product,
        "bfv rotation": [slot for row in rows for slot in (*row[1:], row[0])],
        "bfv row swap": [*rows[1], *rows[0]],
    }
