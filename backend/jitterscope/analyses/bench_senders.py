"""Sends DNS queries at one rate and measures the answers: with dnsperf if it is installed, else jitterscope-load."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import tempfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from jitterscope.analyses.load_file import read as read_file
from jitterscope.analyses.schemas import BenchRun, BenchTarget
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.snapshot import FloatArray

Name = Literal["dnsperf", "jitterscope-load"]
_GRACE_S = 30.0
# dnsperf -v: "> NOERROR example.com A 0.000312", "> T example.com A" for a timeout.
_ANSWER = re.compile(rb"> (?P<code>[A-Z]+) \S+ \S+ (?P<seconds>\d+\.\d+)")
_LOST = b"> T "
_SENT = re.compile(rb"\s*Queries sent:\s+(\d+)")
_QUERY_IDS = 60_000
# Argument lists are limited; this many names are representative of a cache.
_MOST_NAMES_BYTES = 100_000


class BenchFailed(Exception):
    """A run failed; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Load:
    """One run. `names` are (name, type)."""

    target: BenchTarget
    names: Sequence[tuple[str, str]]
    rate_qps: float
    seconds: float
    timeout_ms: float


class Sender(Protocol):
    """`title` names program and version."""

    title: str

    def send(self, load: Load) -> BenchRun:
        """Carry out one run. Raises BenchFailed."""


class Dnsperf:
    """Runs dnsperf (github.com/DNS-OARC/dnsperf).

    It stops sending while too many queries are in flight, so its limit of them is raised.
    """

    def __init__(self, program: str) -> None:
        self._program = program
        version = subprocess.run([program, "-h"], capture_output=True, text=True, check=False)  # noqa: S603
        found = re.search(r"Version (\S+)", version.stdout + version.stderr)
        self.title = "dnsperf" + (f" {found[1]}" if found else "")

    def send(self, load: Load) -> BenchRun:
        outstanding = min(_QUERY_IDS, math.ceil(load.rate_qps * load.timeout_ms / 1000) + 100)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as names, tempfile.TemporaryFile() as complaint:
            names.writelines(f"{name} {type}\n" for name, type in load.names)
            names.flush()
            command = [
                self._program, "-v", "-W", "-s", load.target.address, "-p", str(load.target.port), "-d", names.name,
                "-l", f"{load.seconds:g}", "-Q", f"{max(1, round(load.rate_qps))}", "-t", f"{load.timeout_ms / 1000:g}",
                "-q", str(outstanding), "-T", "1", "-c", "1",
            ]  # fmt: skip
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaint) as program:  # noqa: S603
                assert program.stdout is not None
                try:
                    run = _read_dnsperf(program.stdout, load)
                except BaseException:
                    program.kill()
                    raise
            complaint.seek(0)
            if program.returncode != 0 or run is None:
                said = complaint.read(500).decode(errors="replace").strip()
                raise BenchFailed(f"dnsperf exited with status {program.returncode}: {said or 'no statistics'}")
            return run


class OwnLoad:
    """collector/cmd/jitterscope-load: evenly paced, asks for type A."""

    title = "jitterscope-load"

    def __init__(self, program: Path) -> None:
        self._program = program

    def send(self, load: Load) -> BenchRun:
        names = list(dict.fromkeys(name.rstrip(".") or "." for name, _ in load.names))
        while len(",".join(names)) > _MOST_NAMES_BYTES:
            names = names[: len(names) * 3 // 4]
        sockets = min(64, max(1, math.ceil(load.rate_qps * load.timeout_ms / 1000 / _QUERY_IDS)))
        address = load.target.address
        server = f"[{address}]:{load.target.port}" if ":" in address else f"{address}:{load.target.port}"
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "result"
            command = [
                str(self._program), f"--server={server}", f"--names={','.join(names)}", f"--seconds={load.seconds:g}",
                f"--qps={load.rate_qps:g}", f"--timeout-ms={load.timeout_ms:g}", f"--sockets={sockets}", f"--out={out}",
            ]  # fmt: skip
            wait_s = load.seconds + load.timeout_ms / 1000 + _GRACE_S
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=wait_s, check=False)  # noqa: S603
            except (OSError, subprocess.TimeoutExpired) as error:
                raise BenchFailed(f"jitterscope-load did not finish: {error}") from None
            if done.returncode != 0:
                raise BenchFailed(f"jitterscope-load: {done.stderr.strip()[:500]}")
            result = read_file(out, json.loads(done.stdout))
            answered = result.result != TIMEOUT
            return _run(
                load, len(result.sent_us), result.latency_us[answered].astype(np.float64),
                nxdomain=int((result.result == 1).sum()), servfail=int((result.result == 2).sum()),
            )  # fmt: skip


def find(wanted: Name | None, collector_folder: Path) -> Sender:
    """The requested sender, or the best available one. Raises BenchFailed if there is none."""
    program = shutil.which("dnsperf")
    if program is not None and wanted in (None, "dnsperf"):
        return Dnsperf(program)
    if wanted == "dnsperf":
        raise BenchFailed("dnsperf is not installed: apt install dnsperf, or --sender jitterscope-load.")
    own = collector_folder / "jitterscope-load"
    if not own.is_file():
        raise BenchFailed(f"neither dnsperf is installed nor {own} built: apt install dnsperf, or run `make build`.")
    return OwnLoad(own)


def _read_dnsperf(output: object, load: Load) -> BenchRun | None:
    """Every answer's time, as printed; None if the statistics at the end are missing."""
    latencies = array("d")
    codes: dict[bytes, int] = {}
    sent: int | None = None
    for line in output:  # type: ignore[attr-defined]
        if match := _ANSWER.match(line):
            latencies.append(float(match["seconds"]) * 1e6)
            codes[match["code"]] = codes.get(match["code"], 0) + 1
        elif not line.startswith(_LOST) and (match := _SENT.match(line)):
            sent = int(match[1])
    if sent is None:
        return None
    latency_us = np.frombuffer(latencies, dtype=np.float64) if latencies else np.zeros(0)
    return _run(load, sent, latency_us, nxdomain=codes.get(b"NXDOMAIN", 0), servfail=codes.get(b"SERVFAIL", 0))


def _run(load: Load, sent: int, latency_us: FloatArray, *, nxdomain: int, servfail: int) -> BenchRun:
    p50, p99, most = (
        (round(float(value), 1) for value in np.quantile(latency_us, [0.5, 0.99, 1.0]))
        if len(latency_us)
        else (None, None, None)
    )
    return BenchRun(
        target=load.target.name, rate_qps=load.rate_qps, seconds=load.seconds, sent=sent, answered=len(latency_us),
        lost=max(0, sent - len(latency_us)), nxdomain=nxdomain, servfail=servfail, p50_us=p50, p99_us=p99, max_us=most,
    )  # fmt: skip
