"""The examples of the documentation run, and its tables are what commands print."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import docs_tables

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(("page", "count"), [("schemes.md", 13), ("circuits.md", 15)])
def test_the_examples_of_a_page(page: str, count: int) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == count
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


def test_the_page_of_the_levelled_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    test_the_examples_of_a_page("levelled.md", 1)


@pytest.mark.long
@pytest.mark.usefixtures("quick_to_compile")
def test_the_page_of_the_whole_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test_the_examples_of_a_page("python.md", 11)


@pytest.mark.parametrize("page", docs_tables.pages(), ids=lambda page: page.name)
def test_tables_are_what_their_commands_print(page: Path) -> None:
    """Tables whose commands take minutes are compared by the workflow `nightly`."""
    text = page.read_text(encoding="utf-8")
    docs_tables.commands(text)
    assert docs_tables.rewritten(text, nightly=False, data=None) == text, (
        "run: python scripts/docs_tables.py"
    )


def test_a_table_that_differs_is_found_and_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    slow = "<!-- nightly table of: palladion nothing -->\nas it was\n<!-- end -->\n"
    page.write_text(
        "Before.\n\n<!-- table of: palladion reproduce cross table8 -->\n\n"
        "    with Barrett           2,016       3     1.55  9.999  1.29\n\n<!-- end -->\n\n" + slow
    )
    before = page.read_text()
    assert docs_tables.main(["--check", str(page)]) == 1
    assert page.read_text() == before
    assert docs_tables.main([str(page)]) == 0
    found = page.read_text()
    assert "    with Barrett           2,016       3     1.55  1.556  1.29\n" in found
    assert found.startswith("Before.\n\n<!-- table of")
    assert found.endswith(slow)
    assert docs_tables.main(["--check", str(page)]) == 0
    page.write_text(found.replace("cross table8 -->", "cross table9 -->"))
    with pytest.raises(SystemExit, match="cross table9"):
        docs_tables.main([str(page)])
    with pytest.raises(ValueError, match="1 comments begin a table and 0 are whole"):
        docs_tables.commands("<!-- table of: palladion info -->\n\nno end\n")


def test_the_main_rows_of_reproduction_are_those_of_its_pages() -> None:
    """Each of our figures with a decimal point stands in the page that the row links to."""
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    page, figures = "", 0
    for line in text.split("## Main rows")[1].splitlines():
        cells = line.strip("|").split("|")
        if link := re.search(r"\]\(([\w/-]+\.md)", cells[0]):
            page = (DOCS / link[1]).read_text(encoding="utf-8")
        for figure in re.findall(r"\d+\.\d+", cells[-1]):
            figures += 1
            assert re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", page), line
    assert figures > 10
