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
from palladion.levelled.affine_stages import Floats, Stage, Stages, is_square

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
        polynomials = stage.polynomials
        made: list[Value | None] = [None] * len(stage.bias)  # None: a number, not encrypted
        for row, total in write_sums(stage, variables):
            if polynomials is None:
                c.output(output_name(row), total)
            elif is_square(polynomials):
                made[row] = total * total
            else:
                made[row] = write_polynomial(total, polynomials[row])
        variables += made
    return c


def memory_bytes(stages: Stages, params: Params) -> int:
    """A bound of the memory that a run takes for one ciphertext of each value."""
    lengths = np.cumsum([len(moduli) for moduli in params.moduli])
    sizes = 16 * params.n * lengths  # of a ciphertext at each level
    level = params.max_level
    last_use = np.zeros(stages.inputs + sum(len(s.bias) for s in stages.stages), dtype=np.int64)
    for number, stage in enumerate(stages.stages):
        last_use[np.flatnonzero(stage.weights.any(axis=0))] = number
    inputs = 2 * len(read(stages)) * sizes[level]  # those of the caller, and their copy
    held: list[tuple[int, int]] = []  # last use, and bytes
    first, most = stages.inputs, 0
    for number, stage in enumerate(stages.stages):
        largest = max((len(rows) for rows, _ in groups(stage.weights)), default=0)
        sums = 3 * largest * sizes[level]  # with their parts and products
        level -= stage.levels
        uses = last_use[first : first + len(stage.bias)]
        held += [(int(use), int(sizes[level])) for use in uses]
        live = sum(own for use, own in held if use >= number)
        most = max(most, int(sums) + live)
        first += len(stage.bias)
    return int(inputs) + most


def read(stages: Stages) -> set[int]:
    """The inputs that a weight reads."""
    inputs: set[int] = set()
    for stage in stages.stages:
        inputs |= set(np.flatnonzero(stage.weights[:, : stages.inputs].any(axis=0)).tolist())
    return inputs


def fixed_outputs(stages: Stages) -> Floats:
    """The results of the last stage that are numbers, and NaN for those that depend on inputs."""
    last = stages.stages[-1]
    return np.where(last.weights.any(axis=1), np.nan, last.bias)


def write_sums(stage: Stage, variables: Sequence[Value | None]) -> Iterator[tuple[int, Value]]:
    """The sums of a stage that have weights, each with its row."""
    parts: dict[int, Value] = {}
    for rows, columns in groups(stage.weights):
        for start in range(0, len(columns), COLUMNS):
            chosen = columns[start : start + COLUMNS]
            values = [variables[column] for column in chosen]
            for row in rows:
                weights = stage.weights[row, chosen].tolist()
                part = circuit.dot(values, weights)  # type: ignore[arg-type]
                parts[row] = parts[row] + part if row in parts else part
        for row in rows:
            total, bias = parts.pop(row), float(stage.bias[row])
            yield row, total + bias if bias else total


def groups(weights: Floats) -> Iterator[tuple[list[int], list[int]]]:
    """Rows that read about the same columns, and these columns."""
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
        yield rows, np.flatnonzero(union).tolist()


def write_polynomial(z: Value, coefficients: Floats) -> Value:
    """The polynomial of a value, without the constant term: its powers, and one sum of them."""
    degrees = np.flatnonzero(coefficients).tolist()
    return circuit.dot([z**k for k in degrees], [float(coefficients[k]) for k in degrees])
