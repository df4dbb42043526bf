"""Every case of ONNX's backend tests is computed as ONNX says, or refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping

import onnx
import pytest

from tests.onnx_cases import KINDS, Outcome, cases, outcome
from tests.operators_page import OPERATORS, PAGE, before_cases, with_cases

WANTED = {
    "Relu", "Celu", "Selu", "Mish", "Softsign", "ThresholdedRelu", "HardSwish", "Shrink", "Floor",
    "Ceil", "Round", "Sign", "Sqrt", "Reciprocal", "Log", "Clip", "Softplus", "Sigmoid", "Tanh",
    "Elu", "LeakyRelu", "Gelu", "Swish", "HardSigmoid", "Dropout", "Identity", "BatchNormalization",
    "DepthToSpace", "SpaceToDepth", "GlobalAveragePool", "GlobalMaxPool",
}  # fmt: skip
"""Operators of usual networks of which no case is refused."""


@pytest.fixture(scope="module")
def outcomes() -> Mapping[str, list[Outcome]]:
    """By kind. Any error that is not ours fails here."""
    return {kind: [outcome(case) for case in cases(kind)] for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_imported_is_right(outcomes: Mapping[str, list[Outcome]], kind: str) -> None:
    wrong = [f"{o.case.name} (bound {o.case.bound}): {o.reason}" for o in outcomes[kind]
             if o.fate == "wrong"]  # fmt: skip
    assert not wrong, "\n".join(wrong)
    assert any(o.fate == "right" for o in outcomes[kind])


def test_usual_operators_are_read(outcomes: Mapping[str, list[Outcome]]) -> None:
    last = {(o.case.kind, o.case.name): o for found in outcomes.values() for o in found}
    refused = [f"{o.case.name}: {o.reason}" for o in last.values()
               if o.fate == "refused" and set(o.case.operators) <= WANTED
               and not re.search("training|sequence|opt", o.case.name)]  # fmt: skip
    assert not refused, "\n".join(refused)


def test_the_page_lists_what_is_read() -> None:
    """To write it anew: python -m tests.operators_page."""
    kinds = [entry.kind for entry in OPERATORS]
    assert len(kinds) == len(set(kinds))
    assert PAGE.read_text("utf-8").startswith(before_cases())


def test_the_page_lists_the_cases(outcomes: Mapping[str, list[Outcome]]) -> None:
    text = PAGE.read_text("utf-8")
    made = re.search(r"With onnx (\S+):", text)
    assert made is not None
    if made[1] != onnx.__version__:
        pytest.skip(f"the page counts the cases of onnx {made[1]}")
    assert text.endswith(with_cases([o for found in outcomes.values() for o in found]))
