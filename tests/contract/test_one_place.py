"""What several modules need is written in one of them."""

from __future__ import annotations

import re
from pathlib import Path

BACKEND = Path(__file__).parents[2] / "backend"
SOURCES = {
    str(path.relative_to(BACKEND)): path.read_text("utf-8")
    for root in ("jitterscope", "labs")
    for path in (BACKEND / root).rglob("*.py")
}


def with_line(pattern: str) -> set[str]:
    return {name for name, text in SOURCES.items() if re.search(pattern, text, re.MULTILINE)}


def test_thresholds_come_from_the_contract() -> None:
    """Limits of other things have names of their own."""
    contract, core = "jitterscope/series/catalogue.py", "jitterscope/diagnosis/core"
    assert with_line(r"^_?SLOW_US\b.*=") == {contract, f"{core}/severity.py"}
    assert with_line(r"^_?(DNS_)?(GIVEN_UP|FAILS_AFTER|TIMEOUT)_US\b.*=") == {contract, f"{core}/query_results.py"}


def test_references_to_series_are_built_in_one_place() -> None:
    assert with_line(r"in \w+(\.\w+)*\.series or \w+ in \w+(\.\w+)*\.distributions") == set()


def test_old_words_do_not_live_on_as_aliases() -> None:
    assert with_line(r"^from .* import \w+ as (asked|residue|spread|pins)$") == set()
