"""`jitterscope dns-bench`: how DNS answers from a low rate to a high one, at up to three places of its path."""

from __future__ import annotations

import json
import re
import socket
import sys
import time
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from jitterscope.analyses import bench_report, remote, terminal
from jitterscope.analyses.bench_senders import BenchFailed, Load, Sender, find
from jitterscope.analyses.schemas import BenchResult, BenchRun, BenchTarget
from jitterscope.settings import settings

app = typer.Typer()
_TYPES = re.compile(r"[A-Z][A-Z0-9]{0,9}")
_MOST_NAMES = 1_000_000


@app.command("dns-bench")
def dns_bench(
    target: Annotated[
        list[str],
        typer.Option(help="NAME=ADDRESS[:PORT], up to three: service=…, upstream=…, pod=…; repeatable"),
    ],
    names: Annotated[Path | None, typer.Option(help="File with `NAME TYPE` lines, as for dnsperf")] = None,
    name: Annotated[list[str] | None, typer.Option(help="Name to look up, type A; repeatable")] = None,
    rates: Annotated[str, typer.Option(help="Queries/s of the runs, separated by commas")] = "100,200,500,1000,1500",
    seconds: Annotated[float, typer.Option(min=0.5, max=3600, help="Length of a run")] = 10.0,
    timeout_ms: Annotated[float, typer.Option(min=10, max=6000, help="Timeout of a query in ms")] = 2000.0,
    pause_s: Annotated[
        float, typer.Option(min=0, max=600, help="Pause between runs in seconds, for queues to drain")
    ] = 1.0,
    stop_percent: Annotated[float, typer.Option(help="Stop raising the rate above this failure rate, in %")] = 50.0,
    sender: Annotated[
        str | None, typer.Option(help="dnsperf or jitterscope-load; default: dnsperf if installed")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Name of the result")] = None,
    service: Annotated[str | None, typer.Option(help="URL of the service that stores and charts the result")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with an API token (default: JITTERSCOPE_TOKEN)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
) -> None:
    """Query each target at rising rates and report which ones it keeps up with.

    The usual three are the DNS Service (what pods query, node-local if used), the Service of its upstream, and one
    server alone. This is real load: the higher rates can slow down DNS for everyone.
    """
    try:
        targets = [_target(text) for text in target]
        if not 1 <= len(targets) <= 3 or len({one.name for one in targets}) < len(targets):
            _fail("give one to three targets with different names: --target service=10.0.0.10")
        asked = _names(names, name or [])
        if sender not in (None, "dnsperf", "jitterscope-load"):
            _fail(f"--sender {sender}: want dnsperf or jitterscope-load")
        program = find(sender, settings().collector_folder)  # type: ignore[arg-type]
        client = None if service is None else remote.connect(service, token_file)
        started_us = time.time_ns() // 1000
        runs = _runs(program, targets, asked, _rates(rates), seconds, timeout_ms, pause_s, stop_percent, as_json)
        result = BenchResult(
            name=label or f"dns-bench {time.strftime('%Y-%m-%d %H:%M')}", sender=program.title, started_us=started_us,
            timeout_ms=timeout_ms, names=len(asked), targets=targets, runs=runs,
        )  # fmt: skip
        if as_json:
            print(json.dumps(result.model_dump(mode="json")))
        else:
            print()
            for line in terminal.facts(bench_report.report_of(result)):
                print(line)
        if client is not None:
            print(
                f"kept: {client.keep_bench(result.model_dump(mode='json'))}", file=sys.stderr if as_json else sys.stdout
            )
    except (BenchFailed, remote.NoService) as error:
        _fail(str(error))


def _runs(
    program: Sender, targets: list[BenchTarget], names: list[tuple[str, str]], rates: list[float], seconds: float,
    timeout_ms: float, pause_s: float, stop_percent: float, quiet: bool,
) -> list[BenchRun]:  # fmt: skip
    if not quiet:
        print(f"{'target':14} {'queries/s':>9} {'sent':>8} {'lost':>7} {'SERVFAIL':>8}", end=" ")
        print(f"{'p50 ms':>9} {'p99 ms':>9} {'max ms':>9}")
    done: list[BenchRun] = []
    given_up: set[str] = set()
    for rate in rates:
        for target in targets:
            if target.name in given_up:
                continue
            if done and pause_s:
                time.sleep(pause_s)
            run = program.send(Load(target, names, rate, seconds, timeout_ms))
            done.append(run)
            if not quiet:
                print(_row(run), flush=True)
            if 100 * bench_report.failed_ratio(run) >= stop_percent:
                given_up.add(target.name)
                print(f"{target.name}: higher rates skipped", file=sys.stderr)
    return done


def _row(run: BenchRun) -> str:
    figures = " ".join(
        "        –" if us is None else f"{us / 1000:9.3f}" for us in (run.p50_us, run.p99_us, run.max_us)
    )
    return f"{run.target:14} {run.rate_qps:9g} {run.sent:8} {run.lost:7} {run.servfail:8} {figures}"


def _target(text: str) -> BenchTarget:
    """NAME=ADDRESS[:PORT]; a host name is resolved, so that every run queries the same address."""
    name, separator, place = text.partition("=")
    if not separator:
        name, place = "server", text
    match = re.fullmatch(
        r"\[(?P<six>[^\]]+)\](?::(?P<p6>\d+))?|(?P<host>[^:]+)(?::(?P<port>\d+))?|(?P<bare>[0-9a-fA-F:]+)", place
    )
    if match is None or not 1 <= len(name) <= 60:
        _fail(f"--target {text}: want NAME=ADDRESS[:PORT]")
    host, port = match["six"] or match["host"] or match["bare"], int(match["p6"] or match["port"] or 53)
    if not 1 <= port <= 65535:
        _fail(f"--target {text}: {port} is not a port")
    try:
        address = str(socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][4][0])
    except OSError as error:
        _fail(f"--target {text}: {host} cannot be resolved ({error.strerror or error})")
    return BenchTarget(name=name, address=address, port=port)


def _names(path: Path | None, single: list[str]) -> list[tuple[str, str]]:
    found = [(name, "A") for name in single if name.strip()]
    if path is not None:
        try:
            text = path.read_text(errors="replace")
        except OSError as error:
            _fail(f"{path} cannot be read: {error.strerror}")
        for line in text.splitlines()[:_MOST_NAMES]:
            words = line.split()
            if words and not words[0].startswith(("#", ";")):
                type = words[1].upper() if len(words) > 1 else "A"
                found.append((words[0], type if _TYPES.fullmatch(type) else "A"))
    if not found:
        _fail("no names to look up: --names FILE with `NAME TYPE` lines, or --name NAME")
    bad = next((name for name, _ in found if len(name) > 255 or not name.isprintable() or "," in name), None)
    if bad is not None:
        _fail(f"{bad[:80]!r} is not a DNS name")
    return found


def _rates(text: str) -> list[float]:
    try:
        found = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        found = []
    if not found or found[0] <= 0 or found[-1] > 200_000 or len(found) > 100:
        _fail(f"--rates {text}: want up to 100 numbers above 0, at most 200000, separated by commas")
    return found


def _fail(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(1)
