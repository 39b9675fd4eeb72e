"""Packet captures: `jitterscope-evidence` (collector/cmd) reads them; its report becomes facts, charts, and findings.

The format of its output, jitterscope-evidence/1: collector/internal/evidence/README.md.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

from jitterscope.analyses import capture_facts, capture_figures, capture_snapshots
from jitterscope.analyses.judge import report_of
from jitterscope.analyses.order import Order, Refused
from jitterscope.analyses.parser import Parsed
from jitterscope.analyses.report import Report

KIND = "capture"
SCHEMA = "jitterscope-evidence/1"
_MOST_LINE_BYTES = 48 * 1024 * 1024
Content = dict[str, Any]


def read(order: Order, tell: Callable[[float], None]) -> Report:
    """The report of a capture. Raises Refused."""
    command = [str(order.capture_program), f"--max-inflated-bytes={order.most_unpacked_bytes}", str(order.path)]
    try:
        program = subprocess.Popen(  # noqa: S603 - our own program, and a path that we made
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
    except OSError as error:
        raise Refused(
            "capture-reader-missing", "Captures cannot be read here",
            f"{order.capture_program.name} cannot be started ({error.strerror}).", "Run `make build`.",
        ) from None  # fmt: skip
    assert program.stdout is not None
    last: Content = {}
    with program:
        while line := program.stdout.readline(_MOST_LINE_BYTES):
            message = json.loads(line)
            if message.get("kind") != "progress":
                last = message
            elif message.get("bytes_total"):
                tell(min(1.0, message["bytes_read"] / message["bytes_total"]))
    if last.get("kind") == "error":
        raise Refused(str(last["type"]), "The capture cannot be read", str(last["detail"]), str(last["what_to_do"]))
    if last.get("kind") != "report" or last.get("schema") != SCHEMA:
        raise Refused(
            "analysis-failed", "The analysis failed", f"The capture reader exited with status {program.returncode}.",
            "Use a shorter capture. If the error stays, report it with the file if you can share it.",
        )  # fmt: skip
    return report_of(KIND, "Packet capture", parsed(last))


def parsed(content: Content) -> Parsed:
    """A capture's report (see above) in the shape that all kinds share."""
    file, totals = content["file"], content["totals"]
    return Parsed(
        summary=capture_facts.summary(content),
        facts=capture_facts.facts(content),
        charts=capture_figures.charts(content),
        tables=capture_figures.tables(content),
        notes=[str(item["because"]) for item in content["cannot_tell"]],
        snapshots=capture_snapshots.snapshots(content) if totals["queries"] else (),
        areas=("dns",),
        from_us=None if file["first_at_us"] is None else int(file["first_at_us"]),
        to_us=None if file["last_at_us"] is None else int(file["last_at_us"]),
    )
