"""The circuit of a network in stages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from palladion import circuit
from palladion.circuit.value import Value
from palladion.ckks import Params
from palladion.levelled.stages import Floats, Stage, Stages, is_square

COLUMNS: Final = 512
"""Most values of one sum: sums of the same values are computed together, up to so many."""


DENSE: Final = 0.9
"""Smallest share of weights other than 0 in the matrix of sums that are computed together."""


def input_name(index: int) -> str:
    """The name of the circuit's input for value ``index`` of the network's input."""
    return f"x{index}"


def output_name(index: int) -> str:
    """The name of the circuit's output for output ``index`` of the network."""
    return f"y{index}"


def write(stages: Stages, params: Params, name: str, slots: int | None = None) -> circuit.Circuit:
    """The circuit whose slots are the inputs of a batch, by default all slots of a ciphertext.
    Inputs that no weight reads, and outputs that are constant, are left out."""
    c = circuit.Circuit(params, slots, name)
    used = read(stages)
    variables: list[Value | None] = [
        c.input(input_name(i)) if i in used else None for i in range(stages.inputs)
    ]
    for stage in stages.stages:
        sums = write_sums(stage, variables)
        if stage.polynomials is None:
            for index, total in enumerate(sums):
                if total is not None:
                    c.output(output_name(index), total)
            break
        square = is_square(stage.polynomials)
        made: list[Value | None] = []
        for total, own in zip(sums, stage.polynomials, strict=True):
            if total is None:  # a number, not encrypted
                made.append(None)
            else:
                made.append(total * total if square else write_polynomial(total, own))
        variables += made
    return c


def read(stages: Stages) -> set[int]:
    """The inputs that a weight reads."""
    found: set[int] = set()
    for stage in stages.stages:
        found |= set(np.flatnonzero(stage.weights[:, : stages.inputs].any(axis=0)).tolist())
    return found


def fixed_outputs(stages: Stages) -> Floats:
    """The results of the last stage that are numbers, and NaN for those that depend on inputs."""
    last = stages.stages[-1]
    return np.where(last.weights.any(axis=1), np.nan, last.bias)


def write_sums(stage: Stage, variables: Sequence[Value | None]) -> list[Value | None]:
    """The sums of a stage. ``None`` for a sum without weights."""
    found: list[Value | None] = [None] * len(stage.bias)
    for rows, columns in groups(stage.weights):
        for row in rows:
            values = [variables[column] for column in columns]
            part = circuit.dot(values, stage.weights[row, columns].tolist())  # type: ignore[arg-type]
            before = found[row]
            found[row] = part if before is None else before + part
    return [
        total if total is None or not bias else total + float(bias)
        for total, bias in zip(found, stage.bias, strict=True)
    ]


def groups(weights: Floats) -> Iterator[tuple[list[int], list[int]]]:
    """Rows that read about the same columns, and these columns, at most :data:`COLUMNS` at a
    time."""
    alike: dict[bytes, list[int]] = defaultdict(list)
    reads = weights != 0
    for row, own in enumerate(reads):
        if own.any():
            alike[np.packbits(own).tobytes()].append(row)
    merged: list[tuple[list[int], npt.NDArray[np.bool_], int]] = []
    for rows in alike.values():
        own, count = reads[rows[0]], len(rows) * int(reads[rows[0]].sum())
        if merged:
            others, union, before = merged[-1]
            both = union | own
            if before + count >= DENSE * (len(others) + len(rows)) * both.sum():
                merged[-1] = (others + rows, both, before + count)
                continue
        merged.append((rows, own, count))
    for rows, union, _ in merged:
        columns = np.flatnonzero(union).tolist()
        for start in range(0, len(columns), COLUMNS):
            yield rows, columns[start : start + COLUMNS]


def write_polynomial(z: Value, coefficients: Floats) -> Value:
    """The polynomial of a value, without the constant term: its powers, and one sum of them."""
    degrees = np.flatnonzero(coefficients).tolist()
    return circuit.dot([z**k for k in degrees], [float(coefficients[k]) for k in degrees])
