#!/usr/bin/env python3
"""Writes docs/sources.md from what the sources said in the last run of cgroup-v2-vm; --check fails on a difference."""

from __future__ import annotations

import argparse
import sys

from jitterscope.settings import REPOSITORY
from labs.vm import sources

PAGE = REPOSITORY / "docs" / "sources.md"
HEAD = """# Sources on cgroup v1 and v2

What each source of the collector said on Linux {kernel}: `jitterscope-collector check` as root, once with the
hierarchies of v1 mounted and once with v2. Generated from [the lab](labs.md#cgroup-v2-vm) by `make gen`; a test
compares every run with it. The machine has no containers, no DNS server, and no Kubernetes, so "works" means that what
the source reads is there and can be read. What each source needs, and what is missing without it, is in
[privileges.md](privileges.md).

| source | cgroup v1 | cgroup v2 |
| --- | --- | --- |
"""


def page() -> str:
    found = sources.stored()
    names = sorted({*found.v1, *found.v2})
    rows = [f"| `{name}` | {found.v1.get(name, '–')} | {_beside(found, name)} |" for name in names]
    return HEAD.format(kernel=found.kernel) + "\n".join(rows) + "\n"


def _beside(found: sources.Sources, name: str) -> str:
    text = found.v2.get(name, "–")
    return "the same" if text == found.v1.get(name) and text != "works" else text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    if not parser.parse_args().check:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        print("docs/sources.md differs from backend/labs/vm/sources.json: run `make gen`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
