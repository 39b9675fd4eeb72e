#!/usr/bin/env python3
"""Writes docs/sources.md from the last stored runs of three labs; --check fails on a difference."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Mapping, Sequence

from jitterscope.settings import REPOSITORY
from labs.kubernetes import capabilities
from labs.vm import node_report, sources

PAGE = REPOSITORY / "docs" / "sources.md"
HEAD = """# Sources on cgroup v1 and v2, and without capabilities

What each source of the collector said on Linux {kernel}: `jitterscope-collector check` as root, once with the
hierarchies of v1 mounted and once with v2. Generated from [the lab](labs.md#cgroup-v2-vm) by `make gen`; a test
compares every run with it. The machine has no containers, no DNS server, and no Kubernetes, so "works" means that what
the source reads is there and can be read. What each source needs, and what is missing without it, is in
[privileges.md](privileges.md).

The last two columns are from Linux {newest}, which Debian had in {suite} when the lab last ran with it.

| source | cgroup v1 | cgroup v2 | {short}: cgroup v1 | {short}: cgroup v2 |
| --- | --- | --- | --- | --- |
"""
IN_PODS = """
## In a pod without a capability

What the sources of the chart's collector said on Linux {kernel}, in a pod of
[the cluster](labs.md#without-a-capability) with CoreDNS and its clients in other pods: first with all of
`collector.capabilities`, then without each of them. Holders of `CAP_SYS_ADMIN` can do what {included} allow, so these
are also left out together with it. An empty cell: no less than with all of them, as for sources that are not in the
table.

"""
ON_A_NODE = """
## On a node with cgroup v2

What the product had of [static pods](labs.md#kubernetes-v2) of Kubernetes {kubernetes} on Linux {kernel} with systemd
{systemd}, where containers are in scopes of systemd. Exactly what the kernel counted since each cgroup was created, in
{files}.{absent}
{sources}
"""

EXCEPT = "All sources worked, except:\n\n| source | there |\n| --- | --- |"


def page() -> str:
    found, newest = sources.stored(), sources.stored(sources.NEWEST)
    columns = (found.v1, found.v2, newest.v1, newest.v2)
    names = sorted({name for column in columns for name in column})
    rows = ["| " + " | ".join([f"`{name}`", *_cells(columns, name)]) + " |\n" for name in names]
    short = "Linux " + ".".join(newest.kernel.split(".")[:2])
    head = HEAD.format(kernel=found.kernel, newest=newest.kernel, suite=sources.NEWEST, short=short)
    return head + "".join(rows) + _on_a_node() + _in_pods(capabilities.stored())


def _cells(columns: Sequence[Mapping[str, str]], name: str) -> list[str]:
    """A text that stands to the left is not repeated."""
    said = [column.get(name, "–") for column in columns]
    return [said[0], *("the same" if text == before != "works" else text for before, text in itertools.pairwise(said))]


def _on_a_node() -> str:
    found = node_report.stored()
    absent = f" Not in this kernel: {_code(found.absent)}." if found.absent else ""
    less = "".join(f"\n| `{name}` | {text} |" for name, text in sorted(found.sources.items()))
    return ON_A_NODE.format(
        kernel=found.kernel,
        systemd=found.systemd,
        kubernetes=found.kubernetes,
        files=_code(found.files),
        absent=absent,
        sources=f"{EXCEPT}{less}" if less else "All sources worked.",
    )


def _code(names: Sequence[str]) -> str:
    return ", ".join(f"`{one}`" for one in names)


def _in_pods(found: capabilities.Capabilities) -> str:
    columns = ["source", "with all", *(_without(missing) for missing in found.without)]
    names = sorted({name for less in found.without.values() for name in less})
    rows = [
        [f"`{name}`", found.whole.get(name, "–"), *(less.get(name, "") for less in found.without.values())]
        for name in names
    ]
    included = " and ".join(f"`CAP_{one}`" for one in capabilities.INCLUDED)
    lines = ["| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *rows)]
    return IN_PODS.format(kernel=found.kernel, included=included) + "\n".join(lines) + "\n"


def _without(missing: str) -> str:
    return "without " + " and ".join(f"`{one}`" for one in missing.split())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    if not parser.parse_args().check:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        print("docs/sources.md differs from what the labs stored: run `make gen`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
