"""Decisions are numbered in order: concurrent branches can take the same number."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "decisions").glob("[0-9]*.md"))


def test_every_number_is_given_once() -> None:
    numbers = Counter(page.name[:4] for page in PAGES)
    assert [number for number, pages in numbers.items() if pages > 1] == []


def test_titles_begin_with_the_number_of_their_file() -> None:
    titles = {page.name: page.read_text().partition("\n")[0] for page in PAGES}
    assert {name: title for name, title in titles.items() if not re.match(rf"# {name[:4]} \S", title)} == {}
