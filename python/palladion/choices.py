"""The candidates that the compiler compared. Seconds are predicted, on one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from palladion.support import records


@dataclass(frozen=True)
class Candidate:
    """A candidate that was compared, or refused."""

    seconds: float | None
    """``None`` if it was refused."""
    refused: str | None
    """Why it was refused."""
    chosen: bool


@dataclass(frozen=True)
class Form(Candidate):
    """A form of a layer's values."""

    form: str
    """``slots`` or ``coefficients``."""
    values: int
    """Values of a ciphertext."""
    ciphertexts: int
    zeros: tuple[int, ...]
    """Zeros between values."""
    products: int
    table_seconds: float | None
    reading_seconds: float | None
    marks: tuple[str, ...] = ()
    """The counts of which the candidate has the fewest: ``ciphertexts``, ``products``."""


@dataclass(frozen=True)
class Table(Candidate):
    """A shape of a layer's table."""

    segments: int
    digits: tuple[int, ...]
    start_level: int | None
    products: int | None


@dataclass(frozen=True)
class Cut(Candidate):
    """A way to cut a chain of limbs into digits of key switching."""

    limbs: int
    special_limbs: int
    digit_limbs: int
    log_qp: float


@dataclass(frozen=True)
class LayerChoices:
    """The candidates that were compared for a layer."""

    name: str
    forms: tuple[Form, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Choices:
    """The candidates that were compared for a program."""

    trial_limbs: int
    """Limbs of the chain on which forms and tables are compared."""
    layers: tuple[LayerChoices, ...]
    cuts: tuple[Cut, ...]

    @classmethod
    def of(cls, data: Mapping[str, object]) -> Choices:
        """From the data of the core, with the marks of forms."""
        choices = records.read(cls, data)
        layers = (replace(layer, forms=marked(layer.forms)) for layer in choices.layers)
        return replace(choices, layers=tuple(layers))


Kind = TypeVar("Kind", bound=Candidate)


def cost(candidate: Candidate) -> float:
    """Seconds of a candidate, infinite if it was refused."""
    return float("inf") if candidate.seconds is None else candidate.seconds


def ranked(candidates: Sequence[Kind]) -> list[Kind]:
    """The candidates that were not refused, cheapest first, as the planner ranks them."""
    return sorted((each for each in candidates if each.refused is None), key=cost)


def marked(forms: Sequence[Form]) -> tuple[Form, ...]:
    """Forms, with marks at the form with the fewest ciphertexts and at the one with the fewest
    products. If there are several, the mark is at the cheapest."""
    good = ranked(forms)
    if not good:
        return tuple(forms)
    fewest = {
        "ciphertexts": min(good, key=lambda form: form.ciphertexts),
        "products": min(good, key=lambda form: form.products),
    }
    return tuple(
        replace(form, marks=tuple(name for name, least in fewest.items() if least is form))
        for form in forms
    )
