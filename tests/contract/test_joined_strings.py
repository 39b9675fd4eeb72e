"""A text is one string: a formatter that wraps lines leaves no scraps of a sentence in it (docs/style.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

BACKEND = Path(__file__).parents[2] / "backend"
FILES = sorted(path for root in ("jitterscope", "labs") for path in (BACKEND / root).rglob("*.py"))
# A line between others that is shorter than this is a scrap, unless it ends a line of its text.
SCRAP = 30


def scraps(source: str) -> Iterator[str]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Constant | ast.JoinedStr) or node.end_lineno is None:
            continue
        rows = [line.strip() for line in lines[node.lineno - 1 : node.end_lineno]]
        if len(rows) < 3 or '"""' in rows[0] or not all(row.startswith(('"', 'f"')) for row in rows[1:]):
            continue
        yield from (row for row in rows[1:-1] if len(row) < SCRAP and not row.endswith('\\n"'))


def test_scraps_are_found() -> None:
    assert set(scraps('x = (\n    "One half of a sentence that is long "\n    "of it "\n    "and the rest."\n)\n')) == {
        '"of it "'
    }
    assert not list(scraps('x = (\n    "node --version\\n"\n    "Node 19\\n"\n    "and the rest"\n)\n'))


def test_no_text_has_scraps() -> None:
    found = {str(path.relative_to(BACKEND)): list(scraps(path.read_text("utf-8"))) for path in FILES}
    assert {name: rows for name, rows in found.items() if rows} == {}
    assert len(found) > 500
