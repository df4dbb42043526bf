"""The examples of the documentation run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(("page", "count"), [("schemes.md", 9), ("circuits.md", 14)])
def test_the_examples_of_a_page(page: str, count: int) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == count
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
