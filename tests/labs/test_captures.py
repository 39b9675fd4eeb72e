"""Captures of the nodelocal-dnsmasq lab, by tcpdump and by tshark: the evidence program says what tshark says.

Every answered query's time to the nanosecond, every TCP stream, and the durations of the connections in the report.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jitterscope.settings import settings
from labs.nodelocal.bench import Run, bench, run
from labs.nodelocal.variants import Variant, parameters_of
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("tcpdump", "tshark"))),
    reason="makes cgroups and captures packets: needs root, tcpdump and tshark",
)


@dataclass(frozen=True, slots=True)
class Capture:
    """A file, and the ports of the DNS servers in it."""

    path: Path
    ports: tuple[int, ...]


@contextmanager
def capturing(*command: str) -> Iterator[None]:
    """A capture runs; its file is complete at the end."""
    path = Path(command[-1])
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while not path.exists() or not path.stat().st_size:
                assert process.poll() is None, command
                time.sleep(0.1)
            time.sleep(1)
            yield
            time.sleep(1.5)  # tshark checks its buffer now and then
        finally:
            process.send_signal(2)
            process.wait(20)


def tshark(capture: Capture, shown: str, *fields: str) -> Iterator[list[str]]:
    """The fields of the packets that a filter shows; for several messages in a packet, all values."""
    command = ["tshark", "-n", "-r", str(capture.path), "-Y", shown, "-T", "fields"]
    for port in capture.ports:
        command += ["-d", f"udp.port=={port},dns", "-d", f"tcp.port=={port},dns"]
    for field in fields:
        command += ["-e", field]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield line.rstrip("\n").split("\t")
    assert process.returncode == 0


def queries_of_tshark(capture: Capture) -> Counter[tuple[str, int, int]]:
    """(TCP stream or nothing, id, ns) of each answered query."""
    found: Counter[tuple[str, int, int]] = Counter()
    for stream, ids, seconds in tshark(capture, "dns.time", "tcp.stream", "dns.id", "dns.time"):
        for id_, took in zip(ids.split(","), seconds.split(","), strict=True):
            found[stream, int(id_, 16), nanoseconds(took)] += 1
    return found


def nanoseconds(seconds: str) -> int:
    whole, fraction = seconds.split(".")
    return int(whole) * 10**9 + int(fraction.ljust(9, "0"))


def evidence(path: Path) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The report, and every query."""
    rows = path.with_suffix(".csv")
    program = settings().collector_folder / "jitterscope-evidence"
    out = subprocess.run([program, "--queries-csv", rows, path], check=True, capture_output=True, text=True).stdout
    with rows.open(newline="") as file:
        return json.loads(out.splitlines()[-1]), list(csv.DictReader(file))


@live(45)
@pytest.mark.timeout(400)
def test_tshark_agrees() -> None:
    parameters = parameters_of(Variant.FAULT, {"seconds": 8.0, "calm_seconds": 2})
    with (
        tempfile.TemporaryDirectory(prefix="jitterscope-captures-") as name,
        bench(parameters, Path(name), say) as made,
    ):
        # tcpdump drops root and must still write.
        folder = Path(name) / "captures"
        folder.mkdir(mode=0o777)
        Path(name).chmod(0o755)
        shown = f"net {made.addresses.address(0, 0)}/16"
        pcap, pcapng = folder / "lab.pcap", folder / "lab.pcapng"
        with (
            capturing("tcpdump", "-i", "lo", "-B", "32768", "-U", shown, "-Z", "root", "-w", str(pcap)),
            capturing("tshark", "-q", "-i", "any", "-B", "32", "-f", shown, "-w", str(pcapng)),
        ):
            done = run(made, say)
        for path in (pcap, pcapng):
            report, rows = evidence(path)
            _agrees(Capture(path, tuple({server.port for server in made.servers})), report, rows)
            _tells_the_fault(report, done, made.node_local.address, made.dnsmasqs[0].address)


def _agrees(capture: Capture, report: dict[str, Any], rows: Sequence[dict[str, str]]) -> None:
    ours = Counter(
        (row["stream"], int(row["id"]), int(row["latency_us"].replace(".", ""))) for row in rows if row["latency_us"]
    )
    assert sum(ours.values()) > 1000
    assert ours == queries_of_tshark(capture)
    times: dict[int, list[int]] = {}
    for stream, at in tshark(capture, "tcp", "tcp.stream", "frame.time_epoch"):
        times.setdefault(int(stream), []).append(nanoseconds(at))
    assert report["tcp"]["streams"] == len(times)
    assert report["file"]["packets"] == sum(1 for _ in tshark(capture, "frame", "frame.number"))
    sessions = [session for kind in report["tcp"]["sessions"].values() for session in kind]
    assert len(sessions) > 100
    for session in sessions:
        seen = times[session["stream"]]
        assert session["duration_us"] * 1000 == pytest.approx(seen[-1] - seen[0], abs=1000)


def _tells_the_fault(report: dict[str, Any], done: Run, node_local: str, dnsmasq: str) -> None:
    """By the driver's own measurements, and by what is known about the fault: only a connection's first query waits."""
    servers = {server["address"]: server for server in report["servers"]}
    assert servers[node_local]["queries"] == len(done.load.sent_us)
    waiting = servers[dnsmasq]
    assert waiting["tcp"]["open_max"] > 20
    assert waiting["tcp_first_latency"]["p50_us"] > 3 * waiting["tcp_later_latency"]["p50_us"]
    ends = report["endpoints"]
    pairs = [(ends[pair["server"]], ends[pair["upstream"]]) for pair in report["forwarding"]]
    assert (node_local, dnsmasq) in [(server.split(":")[0], upstream.split(":")[0]) for server, upstream in pairs]
