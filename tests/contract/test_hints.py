"""Examples in the UI's forms name causes that exist."""

from __future__ import annotations

import re

from jitterscope.diagnosis.core.registry import all_areas, all_causes
from jitterscope.settings import REPOSITORY

HINT = re.compile(r'hint="([^"]*)"')


def test_hints_name_causes_that_exist() -> None:
    of_areas = re.compile(rf"\b(?:{'|'.join(all_areas())})/[a-z_]+")
    named = {
        cause
        for file in (REPOSITORY / "frontend" / "src" / "features").rglob("*.tsx")
        for hint in HINT.findall(file.read_text())
        for cause in of_areas.findall(hint)
    }
    assert named
    assert named <= set(all_causes())
