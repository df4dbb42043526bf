"""Every case of ONNX's backend tests is computed as ONNX says, or refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.onnx_cases import KINDS, Outcome, cases, outcome


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
