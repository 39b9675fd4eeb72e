#!/usr/bin/env python3
"""Writes docs/fixes.md from what each area declares about its fixes; --check fails on a difference."""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

from jitterscope.diagnosis.core.area import Area
from jitterscope.diagnosis.core.landing import FixKind, Seen
from jitterscope.diagnosis.core.registry import AREAS, all_areas, all_causes, fixes_of
from jitterscope.diagnosis.verification.plan import plan

PAGE = Path(__file__).parent.parent / "docs" / "fixes.md"
INTRODUCTION = """# Fixes

Generated from the fixes' own declarations by `make gen`.

Each fix says when it applies, how Jitterscope sees that it was applied, and which figures tell whether it helped;
[verification](verification.md) says how before is compared with after. A fix whose landing cannot be seen is declared
by hand (**I applied this fix** on the incident, or `POST /api/v1/incidents/{id}/verify`) and measured all the same.
"""


def section(area: Area) -> list[str]:
    titles = Counter(kind.title for one in all_areas() for kind in fixes_of(one))
    lines = [f"## {area.title}", ""]
    for kind in fixes_of(area.id):
        # Areas can declare fixes of one title: the causes tell them apart.
        of = f" ({', '.join(causes_of(area.id, kind.id))})" if titles[kind.title] > 1 else ""
        lines += [f"### {kind.title}{of}", "", *item(area, kind), ""]
    return lines


def causes_of(area: str, fix_id: str) -> list[str]:
    """The causes that use the module which declares a fix."""
    return [
        cause
        for cause in all_causes()
        if cause.startswith(f"{area}/")
        for module in imported(f"{AREAS}.{cause.replace('/', '.causes.')}")
        if module.startswith(f"{AREAS}.{area}.fixes.")
        and fix_id in {kind.id for kind in getattr(import_module(module), "FIXES", ())}
    ]


def imported(module: str) -> set[str]:
    """Names of what a module imports from other modules."""
    source = Path(str(import_module(module).__file__)).read_text("utf-8")
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    return {f"{node.module}.{one.name}" for node in nodes for one in node.names}


def item(area: Area, kind: FixKind) -> list[str]:
    how = plan(area.id, kind.id)
    titles = {one.id: one.title for one in how.measures}
    landing = kind.landing
    seen = f"- Seen: {landing.how}" if isinstance(landing, Seen) else f"- Not seen: {landing.why}"
    facts = [f"  By {', '.join(f'`{name}`' for name in landing.facts)}."] if isinstance(landing, Seen) else []
    return [
        f"`{kind.id}`",
        "",
        f"- Precondition: {kind.precondition}",
        seen,
        *facts,
        f"- Measured: {'; '.join(titles[name] for name in how.deciding)}.",
        f"- Lab: `jitterscope lab {kind.lab}`" if kind.lab else "- Lab: none.",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    check: bool = parser.parse_args().check
    sections = [line for area in all_areas().values() for line in section(area)]
    wanted = "\n".join([INTRODUCTION, *sections]).rstrip("\n") + "\n"
    if PAGE.exists() and PAGE.read_text("utf-8") == wanted:
        return 0
    if check:
        sys.stderr.write("docs/fixes.md is out of date: run make gen\n")
        return 1
    PAGE.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
