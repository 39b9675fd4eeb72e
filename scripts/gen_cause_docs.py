#!/usr/bin/env python3
"""Writes docs/causes/<area>/<cause>.md and its index from the fields of each CAUSE; --check fails on a difference."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.registry import all_causes

FOLDER = Path(__file__).parent.parent / "docs" / "causes"


def page(cause: Cause, causes: dict[str, Cause]) -> str:
    up = "../" * cause.id.count("/")
    lines = [
        f"# {cause.title}",
        "",
        f"`{cause.id}` · generated from the rule by `make gen`",
        "",
        cause.summary,
        "",
        "## How it works",
        "",
        cause.mechanism,
        "",
        "## What the rule needs",
        "",
        *(f"- `{name}`" for name in cause.needs),
        "",
        "Without one of these it says *not enough data* and names the source that would deliver it.",
        "",
        "## What can look the same",
        "",
        *(f"- [{causes[rival].title}]({up}{rival}.md) (`{rival}`)" for rival in cause.rivals),
        "",
        "## When it would be wrong",
        "",
        *(f"- {text}" for text in cause.false_positives),
        "",
        "## References",
        "",
        *(f"- <{url}>" for url in cause.references),
        "",
    ]
    return "\n".join(lines)


def index(causes: dict[str, Cause]) -> str:
    rows = [f"| [{cause.title}]({cause.id}.md) | `{cause.id}` | {cause.summary} |" for cause in causes.values()]
    return "\n".join(["# Causes", "", "| cause | id | in one sentence |", "| --- | --- | --- |", *rows, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a page differs")
    check: bool = parser.parse_args().check
    causes = dict(all_causes())
    wanted = {FOLDER / f"{cause.id}.md": page(cause, causes) for cause in causes.values()}
    wanted[FOLDER / "README.md"] = index(causes)
    stale = [path for path in FOLDER.rglob("*.md") if path not in wanted]
    changed = [path for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
    if check:
        for path in [*changed, *stale]:
            sys.stderr.write(f"{path.relative_to(FOLDER.parent.parent)} is out of date: run make gen\n")
        return 1 if changed or stale else 0
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], "utf-8")
    for path in stale:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
