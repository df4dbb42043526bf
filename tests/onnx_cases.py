"""ONNX's own backend tests: models with inputs and the outputs that they must give."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import onnx
from onnx import TensorProto, ValueInfoProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator
from palladion.errors import NetworkError
from palladion.nn.importer import from_model

KINDS: Final = ("node", "simple", "pytorch-converted", "pytorch-operator")
LARGEST: Final = 1e30
"""Inputs beyond, and NaN, are taken as 0: the float network is evaluated in single precision."""

BFLOAT: Final = 2.0**-8
"""Precision of models that compute in bfloat16, where the network computes in more."""

Fate = Literal["right", "wrong", "refused"]


@dataclass(frozen=True)
class Case:
    """One model. ``bound`` says that all inputs but the first have become constants."""

    kind: str
    name: str
    bound: bool
    model: onnx.ModelProto
    data: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators of the model, each once."""
        return tuple(sorted({node.op_type for node in self.model.graph.node}))


@dataclass(frozen=True)
class Outcome:
    """The fate of a case, and its reason."""

    case: Case
    fate: Fate
    reason: str = ""


def cases(kind: str) -> Iterator[Case]:
    """All cases of a kind. Cases with several inputs occur twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are made of divisions by 0
        loaded = load_model_tests(kind=kind)
    for entry in loaded:
        model, data = content(entry)
        case = Case(kind, entry.name, False, model, data, entry.rtol, max(entry.atol, 1e-6))
        yield case
        bound = with_constants(case)
        if bound is not None:
            yield bound


def content(entry: TestCase) -> tuple[onnx.ModelProto, list[tuple[list[Any], list[Any]]]]:
    """The model of a case and its data, as arrays where they are tensors."""
    if entry.model is not None:
        made = entry.data_sets or []
        return entry.model, [([array(x) for x in xs], [array(y) for y in ys]) for xs, ys in made]
    folder = Path(entry.model_dir or "")
    model = onnx.load(str(folder / "model.onnx"))
    data = []
    for place in sorted(folder.glob("test_data_set_*")):
        given = stored(place, "input", model.graph.input)
        data.append((given, stored(place, "output", model.graph.output)))
    return model, data


def stored(place: Path, word: str, entries: Sequence[ValueInfoProto]) -> list[Any]:
    """Tensors in files; nothing in place of what is no tensor."""
    found: list[Any] = []
    for index, entry in enumerate(entries):
        path = place / f"{word}_{index}.pb"
        if not path.exists() or not entry.type.HasField("tensor_type"):
            found.append(None)
            continue
        tensor = TensorProto()
        tensor.ParseFromString(path.read_bytes())
        found.append(array(tensor))
    return found


def array(found: Any) -> Any:
    """A tensor as an array; what is none as it is."""
    return numpy_helper.to_array(found) if isinstance(found, TensorProto) else found


def plain(found: Any) -> Any:
    """Numbers of a kind that numpy lacks as single precision."""
    found = np.asarray(found)
    return found.astype(np.float32) if found.dtype.kind == "V" else found


def with_constants(case: Case) -> Case | None:
    """The case with all inputs but the first as constants, where it has others, all tensors."""
    held = {tensor.name for tensor in case.model.graph.initializer}
    free = [(entry, place) for place, entry in enumerate(case.model.graph.input)
            if entry.name not in held]  # fmt: skip
    if len(free) < 2 or not case.data:
        return None
    given = case.data[0][0]
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for entry, place in free[1:]:
        if place >= len(given) or not isinstance(given[place], np.ndarray | np.generic):
            return None
        try:
            tensor = numpy_helper.from_array(np.asarray(given[place]), entry.name)
            model.graph.initializer.append(tensor)
        except (TypeError, ValueError):  # text, and numbers that numpy lacks
            return None
    first = free[0][1]
    data = [([xs[first]], ys) for xs, ys in case.data[:1]]
    return Case(case.kind, case.name, True, model, data, case.rtol, case.atol)


def outcome(case: Case) -> Outcome:
    """Import a case and evaluate it in floats; what is no :class:`NetworkError` passes through."""
    try:
        graph = from_model(case.model)
    except NetworkError as error:
        return Outcome(case, "refused", str(error))
    first = case.model.graph.input[0].type.tensor_type.elem_type
    step = BFLOAT if first == TensorProto.BFLOAT16 else 0.0
    names = [entry.name for entry in case.model.graph.output]
    for inputs, outputs in case.data:
        given, expected = plain(inputs[0]), outputs
        if not given.size:
            return Outcome(case, "refused", "no images")
        usual = np.abs(given.astype(np.float64)) < LARGEST
        if not usual.all():
            given = np.where(usual, given, 0).astype(given.dtype)
            feeds = {case.model.graph.input[0].name: given}
            expected = [plain(found) for found in ReferenceEvaluator(case.model).run(None, feeds)]
        alone = given.ndim == len(graph.ends.takes.shape)  # a model without a batch axis
        found = graph.outputs(given[None] if alone else given)
        if alone:
            found = {name: values[0] for name, values in found.items()}
        for name, wanted in zip(names, expected, strict=False):
            difference = apart(found[name], wanted, (max(case.rtol, step), case.atol))
            if difference:
                return Outcome(case, "wrong", f"{name}: {difference}")
    return Outcome(case, "right")


def apart(found: Any, wanted: Any, tolerance: tuple[float, float]) -> str:
    """How an output differs from the expected one; nothing if it does not.

    Where the model's own result is NaN or beyond single precision, there is nothing to compare.
    """
    found, wanted = np.asarray(found), plain(wanted)
    if found.shape != wanted.shape:
        return f"shape {found.shape}, expected {wanted.shape}"
    if wanted.dtype.kind in "OSU":
        return "" if np.array_equal(found.astype(str), wanted.astype(str)) else "other words"
    given, right = found.astype(np.float64), wanted.astype(np.float64)
    known = np.isfinite(right) & (np.abs(right) < LARGEST)
    if np.allclose(given[known], right[known], rtol=tolerance[0], atol=tolerance[1]):
        return ""
    return f"differs by {np.max(np.abs(given[known] - right[known])):.3g}"
