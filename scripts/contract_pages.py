"""Generates docs/metrics.md from the metric catalogue."""

from __future__ import annotations

from typing import Any


def metrics_page(catalogue: dict[str, dict[str, dict[str, Any]]], note: str) -> str:
    lines = [
        "# Metrics, facts and events",
        "",
        f"<!-- {note} -->",
        "",
        "Ticks are 100 ms, aligned to UTC. A *delta* counts what happened in the tick, a *gauge* is the value at its",
        "end, a *distribution* is a log-bucket histogram of the tick. A missing tick is missing, never 0.",
        "",
        "## Metrics",
        "",
        "| id | metric | unit | kind | of | source | meaning |",
        "| ---: | --- | --- | --- | --- | --- | --- |",
    ]
    for name, m in catalogue["metrics"].items():
        of = m["resource"].replace(",", ", ")
        lines.append(f"| {m['id']} | `{name}` | {m['unit']} | {m['kind']} | {of} | `{m['source']}` | {m['meaning']} |")
    lines += ["", "## Constants", "", "| name | value | meaning |", "| --- | ---: | --- |"]
    lines += [f"| `{name}` | {one['value']:,} | {one['meaning']} |" for name, one in catalogue["constants"].items()]
    for section, title in (("facts", "Facts"), ("events", "Events")):
        lines += ["", f"## {title}", "", "| name | of | source | meaning |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{name}` | {entry['resource']} | `{entry['source']}` | {entry['meaning']} |"
            for name, entry in catalogue[section].items()
        ]
    return "\n".join([*lines, ""])
