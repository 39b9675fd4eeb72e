"""Every fix that a cause may propose is declared, with how its landing is seen, and is in docs/fixes.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.landing import Seen
from jitterscope.diagnosis.core.registry import all_causes, all_fixes, fix_of, fixes_of
from jitterscope.diagnosis.verification.plan import plan, sightings, watched
from jitterscope.recordings import file
from jitterscope.recordings.snapshots import snapshot_of
from tests.diagnosis.scenarios import SCENARIOS, built

ROOT = Path(__file__).parents[2]
AREAS = ROOT / "backend" / "jitterscope" / "diagnosis" / "areas"
RECORDINGS = sorted((ROOT / "tests" / "fixtures" / "recordings").glob("*.jitterscope"))
PAGE = (ROOT / "docs" / "fixes.md").read_text("utf-8")
LABS = ROOT / "backend" / "labs"


def written() -> set[tuple[str, str]]:
    """(area, id) of every `Fix(id="…")` below areas/*/fixes."""
    found = set()
    for path in AREAS.glob("*/fixes/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fix"):
                continue
            value = next((one.value for one in node.keywords if one.arg == "id"), None)
            if isinstance(value, ast.Constant):
                found.add((path.relative_to(AREAS).parts[0], str(value.value)))
    return found


def declared(cause_id: str, fix_id: str) -> None:
    kind = fix_of(cause_id, fix_id)
    assert kind is not None, f"{cause_id} proposes {fix_id}, which no module below fixes/ declares in FIXES"
    assert f"`{fix_id}`" in PAGE, f"{fix_id} is missing in docs/fixes.md: run make gen"
    how = plan(cause_id, fix_id)
    assert how.deciding, f"nothing that {cause_id} measures can decide on {fix_id}"
    if isinstance(kind.landing, Seen):
        names = {one.fact for one in watched(cause_id, [fix_id])} | {one.id for one in sightings(cause_id, [fix_id])}
        assert set(kind.landing.facts) <= names, f"{fix_id} lands by facts that nobody watches"


def test_every_fix_in_the_code_is_declared() -> None:
    found = written()
    assert len(found) > 30
    for area, fix_id in found:
        declared(f"{area}/any", fix_id)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_fix_of_a_scenario_is_declared(name: str) -> None:
    for finding in diagnose(built(name)).findings:
        if isinstance(finding, Found):
            for fix in finding.fixes:
                declared(finding.cause, fix.id)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_fix_of_a_recording_is_declared(path: Path) -> None:
    for finding in diagnose(snapshot_of(file.load(path))).findings:
        if isinstance(finding, Found):
            for fix in finding.fixes:
                declared(finding.cause, fix.id)


def test_fixes_of_one_title_are_told_apart_on_the_page_by_their_causes() -> None:
    titles = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert len(set(titles)) == len(titles)
    for title, causes in re.findall(r"^### (.+?) \(((?:\w+/\w+(?:, )?)+)\)$", PAGE, re.MULTILINE):
        for cause in causes.split(", "):
            assert title in {kind.title for kind in fixes_of(cause.partition("/")[0])}
            assert cause in all_causes()


def test_the_page_names_labs_that_there_are() -> None:
    names = {path.stem.replace("_", "-") for path in (LABS / "commands").glob("*.py")}
    for kind in all_fixes().values():
        if kind.lab is not None:
            command = re.match(r"[a-z-]+", kind.lab)
            assert command is not None, kind.id
            assert command[0] in names, f"{kind.id} names the lab {command[0]!r}"
            assert f"--apply {kind.id}" in kind.lab, kind.id
