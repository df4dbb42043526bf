"""Sweeps over the sizes of a machine: the costs of each point, and the points worth it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from palladion.errors import FormatError, UsageError
from palladion.machines import Machine
from palladion.simulation import simulate
from palladion.support.records import Json
from palladion.traces import Trace

MOST_POINTS: Final = 1024
"""Points of a grid at most."""

LARGEST: Final = 2**63 - 1
"""The largest integer of a machine's file."""

FIGURES: Final = ("cycles", "seconds", "joules", "edp", "edap", "area_mm2")
"""The figures that are kept of a point's report."""

GOALS: Final = ("seconds", "joules", "area_mm2")
"""The figures that are compared: less is better."""

EXPECTED: Final = "KEY=A:B, which doubles from A to B, or KEY=A,B,C, with whole numbers"


@dataclass(frozen=True)
class Sweep:
    """Values of one key of a machine's file."""

    key: str
    values: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Sweep:
        """Read ``lanes=256:2048``, which doubles, or ``memory.latency=50,100``.

        Raises
        ------
        UsageError
            If it is neither.
        """
        wrong = UsageError(f"the sweep is {text!r}, expected {EXPECTED}")
        key, equals, values = text.partition("=")
        if not (key and equals):
            raise wrong
        if found := re.fullmatch(r"(\d+):(\d+)", values, re.ASCII):
            first, last = map(_number, found.groups())
            if not 1 <= first <= last:
                raise UsageError(
                    f"the sweep of {key} goes from {first} to {last}, expected A:B with A at least "
                    "1 and B at least A"
                )
            doubled = itertools.takewhile(
                lambda value: value <= last, (first << power for power in itertools.count())
            )
            return cls(key, tuple(doubled))
        if re.fullmatch(r"-?\d+(,-?\d+)*", values, re.ASCII):
            listed = tuple(map(_number, values.split(",")))
            if len(set(listed)) < len(listed):
                raise UsageError(f"the sweep of {key} has a value twice: {values}")
            return cls(key, listed)
        raise wrong


def _number(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > LARGEST:
        raise UsageError(f"a value of the sweep is {text}, expected at most {LARGEST}")
    return int(text)


@dataclass(frozen=True)
class Point:
    """The costs of a program on a machine with these values."""

    values: dict[str, int]
    figures: dict[str, float] | None
    """:data:`FIGURES`; ``None`` where the program does not fit."""
    refused: str | None
    """Why it does not fit."""

    def goals(self) -> tuple[float, ...] | None:
        """The figures to minimise, rounded to four digits. Later digits of energies depend on the
        rounding to whole cycles and must not decide."""
        figures = self.figures
        return None if figures is None else tuple(float(f"{figures[goal]:.4g}") for goal in GOALS)


def grid(sweeps: Sequence[Sweep]) -> list[dict[str, int]]:
    """All combinations of values.

    Raises
    ------
    UsageError
        If a key comes twice, or there are more than :data:`MOST_POINTS`.
    """
    keys = [sweep.key for sweep in sweeps]
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(f"two sweeps are of {key}, expected one of each key")
    count = 1
    for sweep in sweeps:
        count *= len(sweep.values)
    if count > MOST_POINTS:
        raise UsageError(f"the grid has {count} points, expected at most {MOST_POINTS}")
    product = itertools.product(*(sweep.values for sweep in sweeps))
    return [dict(zip(keys, values, strict=True)) for values in product]


def run(
    machine: Machine,
    work: Trace,
    sweeps: Sequence[Sweep],
    progress: Callable[[str, float, float], None] | None = None,
    *,
    order: str = "hints",
    eviction: str = "belady",
) -> list[Point]:
    """Simulate every point of the grid, in its order.

    ``progress`` is called with words, how many points are done, and how many there are. All
    machines are checked before the first one is simulated. A point on which the program does not
    fit is a point with a reason.

    Raises
    ------
    FormatError
        If a key is none of the machine's, or a value is out of range.
    UsageError
        As :func:`grid`, or if the program fits no point.
    """
    points = grid(sweeps)
    machines = [_varied(machine, values) for values in points]
    found: list[Point] = []
    for place, (values, one) in enumerate(zip(points, machines, strict=True)):
        words = f"point {place + 1} of {len(points)}"

        def hear(_: str, done: float, total: float, place: int = place, words: str = words) -> None:
            if progress is not None:
                progress(words, place + (done / total if total else 0.0), len(points))

        try:
            report = simulate(work, one, hear, order=order, eviction=eviction).report
        except UsageError as error:
            found.append(Point(values, None, str(error)))
            continue
        found.append(Point(values, {name: float(getattr(report, name)) for name in FIGURES}, None))
    if all(point.figures is None for point in found):
        raise UsageError(f"the program fits no point of the sweep: {found[0].refused}")
    return found


def _varied(machine: Machine, values: Mapping[str, int]) -> Machine:
    try:
        return machine.varied(values)
    except FormatError as error:
        if len(values) == 0 or "no integer of its file" in str(error):
            raise
        words = ", ".join(f"{key}={value}" for key, value in values.items())
        raise FormatError(f"at {words}: {error}") from error


def pareto(points: Sequence[Point]) -> list[bool]:
    """Of each point, whether no other is as good in all of :data:`GOALS` and better in one."""
    goals = [point.goals() for point in points]

    def beaten(own: tuple[float, ...]) -> bool:
        return any(
            other is not None
            and other != own
            and all(b <= a for a, b in zip(own, other, strict=True))
            for other in goals
        )

    return [own is not None and not beaten(own) for own in goals]


def to_json(point: Point, best: bool) -> Json:
    """A point as ``simulate sweep --json`` has it."""
    figures: Mapping[str, float | None] = point.figures or dict.fromkeys(FIGURES)
    return {"values": point.values, **figures, "pareto": best, "refused": point.refused}
