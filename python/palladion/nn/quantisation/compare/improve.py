"""Improves answers at no cost in a run, and advises the user by trying other settings.

The last layer has no table, so that the width of the values that it reads costs nothing in an
encrypted run. Models whose outputs are small differences of large values need more bits there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from palladion.errors import NetworkError
from palladion.nn.quantisation.compare.answers import Answers
from palladion.nn.quantisation.plan.planner import Planned
from palladion.nn.quantisation.settings import LIMIT, TABLE_ENTRIES, Settings
from palladion.nn.quantisation.values import IntegerLayer

WIDTHS: Final = (8, 9, 10, 11)
"""Widths to try for values before the last layer. At the largest, the rounding noise of a run is
about a tenth of a step."""

LEAST_GAIN: Final = 0.003
"""A change of the settings helps if it gains at least this share of equal classes or of error."""

Compute = Callable[[Sequence[Planned], Sequence[IntegerLayer]], list[IntegerLayer]]
"""Quantises all layers. The first ones are quantised already."""


def find_before_last(layers: Sequence[Planned]) -> list[int]:
    """Indices of the layers with calibrated tables that only the last layer reads."""
    last = len(layers) - 1
    if layers[last].product is not None:
        return []
    read = {s - 1 for layer in layers[:last] for s in layer.sources}
    return [
        place
        for place in sorted({s - 1 for s in layers[last].sources} - read - {-1})
        if (function := layers[place].function) is not None
        and function.grid() is None
        and not (layers[place].grid or layers[place].exact or layers[place].softmax)
    ]


def widen_last_inputs(
    layers: list[Planned],
    computed: list[IntegerLayer],
    compute: Compute,
    compare: Callable[[list[IntegerLayer]], Answers],
) -> tuple[list[Planned], list[IntegerLayer], Answers]:
    """Tries larger widths of the values before the last layer. Returns the layers with the best
    answers, in floats and in integers, and these answers."""
    best = layers, computed, compare(computed)
    places = find_before_last(layers)
    for bits in WIDTHS if places else ():
        if best[2].good:
            break
        wide = [replace(layer, bits=max(bits, layer.bits or 0)) if place in places else layer
                for place, layer in enumerate(layers)]  # fmt: skip
        try:
            widened = compute(wide, computed[: places[0]])
        except NetworkError:
            break
        answers = compare(widened)
        if answers.quality > best[2].quality:
            best = wide, widened, answers
    return best


def advise(settings: Settings, try_settings: Callable[[Settings], Answers]) -> str:
    """Names the single change of the settings that improves the answers most, with its result."""
    changes: dict[str, Settings] = {}
    if settings.activations < 8:
        changes["--activations 8"] = replace(settings, activations=8)
    if settings.weights < 8:
        changes["--weights 8"] = replace(settings, weights=8)
    if settings.weights > 5:
        fewer = settings.weights - 1
        changes[f"--weights {fewer}"] = replace(settings, weights=fewer)
    other = 7 if settings.inputs == 8 else 8
    changes[f"--inputs {other}"] = replace(settings, inputs=other)
    if not settings.per_channel:
        changes["--per-channel"] = replace(settings, per_channel=True)
    if settings.limit < LIMIT:
        changes[f"--limit {LIMIT}"] = replace(settings, limit=LIMIT)
    if settings.table_entries < TABLE_ENTRIES:
        changes[f"--table-entries {TABLE_ENTRIES}"] = replace(settings, table_entries=TABLE_ENTRIES)
    if settings.method != "max":
        changes["--method max"] = replace(settings, method="max")
    now = try_settings(settings)
    best, words = now, ""
    for name, changed in changes.items():
        try:
            answers = try_settings(changed)
        except NetworkError:
            continue
        if answers.quality[0] > best.quality[0] + LEAST_GAIN:
            best, words = answers, name
    if not words:
        return ("none of " + ", ".join(changes) + " helps: train with values of alike sizes, as "
                "after a StandardScaler, or with quantisation")  # fmt: skip
    gain = f"{format_answers(now)} become {format_answers(best)}"
    return f"{words} helps: {gain}, on {now.inputs} inputs"


def format_answers(answers: Answers) -> str:
    """The share of equal classes and the error, in words."""
    words = [] if answers.agreement is None else [f"{answers.agreement:.1%} equal classes"]
    words += [] if answers.limit is None else [f"an error of {answers.error or 0:.1%}"]
    return " and ".join(words)
