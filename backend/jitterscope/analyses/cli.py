"""`jitterscope analyze`: evidence files on this machine, or at a service."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from jitterscope.analyses import remote, terminal
from jitterscope.analyses.isolate import Limits, analyse
from jitterscope.analyses.order import Refused
from jitterscope.analyses.report import Report
from jitterscope.settings import settings

app = typer.Typer()


@app.command()
def analyze(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Captures, dnsmasq or CoreDNS logs, metrics pages, cpu.stat, `top -b`, process counts; can be gzipped",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per file and line")] = False,
    service: Annotated[str | None, typer.Option(help="Upload to this service instead of analyzing here")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with an API token (default: JITTERSCOPE_TOKEN)")] = None,
) -> None:
    """Report what evidence files show. Needs no service and no database; exit status 1 if a file could not be read."""
    failed = False
    try:
        client = None if service is None else remote.connect(service, token_file)
        for number, path in enumerate(files):
            tell = _progress(path.name)
            try:
                if client is None:
                    report = _here(path, lambda ratio, tell=tell: tell("read", ratio))  # type: ignore[misc]
                else:
                    report = client.analyse(path, tell)
            except OSError as error:
                problem = {"type": "unreadable", "title": "The file cannot be read", "detail": error.strerror or ""}
                failed = _problem(path, problem, as_json)
                continue
            except Refused as refused:
                failed = _problem(path, refused.problem, as_json)
                continue
            finally:
                tell("", 1.0)
            _print(path, report, as_json, blank=number > 0)
    except remote.NoService as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
    if failed:
        raise typer.Exit(1)


def _here(path: Path, tell: Callable[[float], None]) -> Report:
    given = settings()
    changed = path.stat().st_mtime  # a log without years is most likely from the year in which it was written
    limits = Limits(
        unpacked_bytes=given.evidence_max_unpacked_bytes,
        memory_bytes=given.evidence_max_memory_bytes,
        cpu_s=given.evidence_max_cpu_s,
        wall_s=given.evidence_max_wall_s,
    )
    with path.open("rb"):  # raises the reason if it cannot be read
        pass
    if path.is_dir() or not path.is_file():
        raise OSError(None, "it is not a regular file")
    year = datetime.fromtimestamp(changed, UTC).year
    return analyse(path, year, given.collector_folder / "jitterscope-evidence", limits, tell)


def _print(path: Path, report: Report, as_json: bool, *, blank: bool) -> None:
    if as_json:
        print(json.dumps({"file": str(path), "report": report.model_dump(mode="json")}, ensure_ascii=False), flush=True)
        return
    if blank:
        print()
    print(f"=== {path}")
    for line in terminal.lines(report):
        print(line)


def _problem(path: Path, problem: dict[str, str], as_json: bool) -> bool:
    if as_json:
        print(json.dumps({"file": str(path), "problem": problem}, ensure_ascii=False), flush=True)
    else:
        print(
            f"{path}: {problem['title']}. {problem['detail']} {problem.get('what_to_do', '')}".strip(), file=sys.stderr
        )
    return True


def _progress(name: str) -> Callable[[str, float], None]:
    """A progress line that updates in place, on terminals only."""
    shown = [False]

    def tell(what: str, ratio: float) -> None:
        if not os.isatty(2):
            return
        if what:
            shown[0] = True
            print(f"\r{name}: {100 * ratio:3.0f} % {what} ", end="", file=sys.stderr, flush=True)
        elif shown[0]:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    return tell
