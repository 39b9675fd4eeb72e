"""`jitterscope dns-bench` and `jitterscope analyze` as commands, against real servers on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jitterscope.analyses.bench_senders import Dnsperf, Load, OwnLoad, find
from jitterscope.analyses.schemas import BenchTarget
from jitterscope.cli import app
from jitterscope.settings import REPOSITORY

pytestmark = pytest.mark.slow

EVIDENCE = Path(__file__).resolve().parents[2] / "fixtures" / "evidence"
BIN = REPOSITORY / "bin"


class Resolver(threading.Thread):
    """A UDP server that answers after `delay_s`, one query in ten with SERVFAIL, and drops what exceeds a rate."""

    def __init__(self, delay_s: float = 0.0, most_qps: float | None = None) -> None:
        super().__init__(daemon=True)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        self.port = int(self._socket.getsockname()[1])
        self._delay_s, self._most_qps = delay_s, most_qps
        self._ends = threading.Event()
        self.asked = 0

    def run(self) -> None:
        second, in_second = 0, 0
        while not self._ends.is_set():
            try:
                query, client = self._socket.recvfrom(512)
            except TimeoutError:
                continue
            self.asked += 1
            if int(time.monotonic()) != second:
                second, in_second = int(time.monotonic()), 0
            in_second += 1
            if self._most_qps is not None and in_second > self._most_qps:
                continue
            answer = bytearray(query)
            answer[2] |= 0x80
            answer[3] = answer[3] & 0xF0 | (2 if self.asked % 10 == 0 else 0)
            if self._delay_s:
                threading.Timer(self._delay_s, self._socket.sendto, (bytes(answer), client)).start()
            else:
                self._socket.sendto(bytes(answer), client)

    def close(self) -> None:
        self._ends.set()
        self.join()
        time.sleep(self._delay_s)
        self._socket.close()


@pytest.fixture
def resolver() -> Iterator[Resolver]:
    server = Resolver()
    server.start()
    yield server
    server.close()


@pytest.fixture
def slow_resolver() -> Iterator[Resolver]:
    server = Resolver(delay_s=0.05)
    server.start()
    yield server
    server.close()


def command(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("jitterscope")), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("sender", ["dnsperf", "jitterscope-load"])
def test_both_senders_measure_what_the_server_does(slow_resolver: Resolver, sender: str) -> None:
    program = find(sender, BIN)  # type: ignore[arg-type]
    assert isinstance(program, Dnsperf if sender == "dnsperf" else OwnLoad)
    target = BenchTarget(name="server", address="127.0.0.1", port=slow_resolver.port)
    names = [("a.example", "A"), ("b.example.", "A")]
    run = program.send(Load(target, names, rate_qps=100, seconds=1.5, timeout_ms=10_000))
    # On a busy machine the sender sends less, and an answer can take more than a second.
    assert 30 <= run.sent <= 153
    assert (run.answered, run.lost) == (run.sent, 0)
    assert run.servfail == slow_resolver.asked // 10
    assert run.p50_us is not None
    assert run.max_us is not None
    assert 50_000 <= run.p50_us <= run.max_us


@pytest.mark.parametrize("sender", ["dnsperf", "jitterscope-load"])
def test_lost_queries_are_counted(sender: str) -> None:
    server = Resolver(most_qps=50)
    server.start()
    try:
        target = BenchTarget(name="server", address="127.0.0.1", port=server.port)
        run = find(sender, BIN).send(Load(target, [("a.example", "A")], 200, 2.0, 300))  # type: ignore[arg-type]
    finally:
        server.close()
    # 50 in each of the two or three clock seconds that two seconds touch; fewer in time on a busy machine.
    assert 320 <= run.sent <= 404
    assert 40 <= run.answered <= 150
    assert run.lost == run.sent - run.answered


def test_from_low_to_high_rate_as_a_table_and_as_json(resolver: Resolver, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("# from a capture\narchive.ubuntu.com A\nstorage.googleapis.com AAAA\n")
    closed = Resolver()  # bound, never read: no answers
    try:
        targets = ["--target", f"service=127.0.0.1:{resolver.port}", "--target", f"pod=127.0.0.1:{closed.port}"]
        load = ["--rates", "200,50", "--seconds", "0.5", "--timeout-ms", "200", "--pause-s", "0"]
        done = command("dns-bench", *targets, "--names", str(names), *load)
        rows = [line.split() for line in done.stdout.splitlines()[1:4]]
        # The pod fails its entire first run and is left out of the next.
        assert [(row[0], row[1]) for row in rows] == [("service", "50"), ("pod", "50"), ("service", "200")]
        assert "pod: keeps up with no tested rate, fails 100 % at 50" in done.stdout
        told = json.loads(command("dns-bench", *targets[:2], "--name", "a.example", *load, "--json").stdout)
        assert [run["rate_qps"] for run in told["runs"]] == [50, 200]
    finally:
        closed.close() if closed.is_alive() else closed._socket.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "a=127.0.0.1", "--target", "a=127.0.0.2", "--name", "x"], "different names"),
        (["--target", "a=127.0.0.1"], "no names to look up"),
        (["--target", "a=127.0.0.1:99999", "--name", "x"], "is not a port"),
        (["--target", "a=127.0.0.1", "--name", "x", "--rates", "10,zero"], "--rates"),
        (["--target", "a=127.0.0.1", "--name", "x", "--sender", "other"], "--sender"),
        (["--target", "a=127.0.0.1", "--name", "x", "--service", "http://127.0.0.1:1"], "token"),
    ],
)
def test_wrong_arguments_say_what_is_wrong(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(app, ["dns-bench", *arguments])
    assert result.exit_code == 1
    assert says in result.stderr


def test_analyze_tells_and_fails_where_a_file_cannot_be_read(tmp_path: Path) -> None:
    done = command("analyze", str(EVIDENCE / "top-0.1s.txt"), str(EVIDENCE / "cpu.stat.txt"))
    assert "CPU bursts: 32.8 CPUs in one screen" in done.stdout
    assert "not enough data:" in done.stdout
    told = [
        json.loads(line) for line in command("analyze", "--json", str(EVIDENCE / "cpu.stat.txt")).stdout.splitlines()
    ]
    assert told[0]["report"]["kind"] == "cpu_stat"
    bad = tmp_path / "noise"
    bad.write_bytes(b"\0\1\2" * 1000)
    failed = command("analyze", str(bad), str(tmp_path / "absent"), str(EVIDENCE / "cpu.stat.txt"), status=1)
    assert "Unsupported file" in failed.stderr
    assert "No such file" in failed.stderr
    assert "Throttled periods" in failed.stdout, "the others are read all the same"


def test_a_capture(tmp_path: Path) -> None:
    """The loopback capture that also checks the capture reader against tshark (collector/internal/evidence)."""
    capture = REPOSITORY / "collector" / "internal" / "evidence" / "testdata" / "loopback.pcap"
    report = json.loads(command("analyze", "--json", str(capture)).stdout)["report"]
    facts = {fact["id"]: fact["numbers"] for fact in report["facts"]}
    raw = subprocess.run([str(BIN / "jitterscope-evidence"), str(capture)], capture_output=True, text=True, check=True)
    own = json.loads(raw.stdout.splitlines()[-1])
    assert report["kind"] == "capture"
    assert facts["queries"]["queries"] == own["totals"]["queries"] == 91
    assert facts["durations"]["max_us"] == own["totals"]["latency"]["max_us"]
    assert facts["connections"]["open_max"] == own["tcp"]["open_max"]
    charts = {chart["id"]: chart for chart in report["charts"]}
    dots = [value for line in charts["queries"]["lines"] for value in line["values"] if value is not None]
    assert sorted(dots) == pytest.approx(sorted(round(value, 1) for value in own["queries"]["latency_us"]))
    assert max(value for value in charts["connections"]["lines"][0]["values"] if value) == own["tcp"]["open_max"]
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(capture.read_bytes()[:20_011])
    notes = json.loads(command("analyze", "--json", str(cut)).stdout)["report"]["notes"]
    assert any("in the middle of a packet" in note for note in notes), notes
