"""The tables of docs/privileges.md."""

from __future__ import annotations

import re

from jitterscope.settings import REPOSITORY

_FILE = REPOSITORY / "docs" / "privileges.md"


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose first column has this title: the text of each cell."""
    found: list[list[str]] = []
    inside = False
    for line in _FILE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif inside and not set("".join(cells)) <= set("- |"):
            found.append(cells)
        elif cells[0] == first:
            inside = True
    return found


def words(cell: str) -> list[str]:
    """What is in code font in a cell."""
    return re.findall(r"`([^`]+)`", cell)
