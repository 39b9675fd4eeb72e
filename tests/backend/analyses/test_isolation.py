"""Hostile files are rejected with a clear error, whatever they do to their reader, and leave nothing behind."""

from __future__ import annotations

import gzip
import os
import random
import resource
import sys
import zlib
from pathlib import Path

import psutil
import pytest

from jitterscope.analyses.isolate import Limits, analyse
from jitterscope.analyses.order import Refused

pytestmark = pytest.mark.slow

CAPTURE_PROGRAM = Path("/nowhere/jitterscope-evidence")
LOOP = "Wed Oct 11 14:51:00 UTC 2023 Try: {} DnsmasqProcess: 21\n"
WALL_S = 600  # on a busy machine a few seconds of CPU time take minutes
SMALL = Limits(unpacked_bytes=20_000_000, memory_bytes=600_000_000, cpu_s=20, wall_s=WALL_S)


def refusal(path: Path, limits: Limits = SMALL) -> dict[str, str]:
    before = set(psutil.Process().children())  # servers of other tests, which start processes of their own
    with pytest.raises(Refused) as refused:
        analyse(path, 2026, CAPTURE_PROGRAM, limits)
    assert set(psutil.Process().children()) <= before
    return refused.value.problem


def test_a_good_file_with_progress_from_gzip(tmp_path: Path) -> None:
    path = tmp_path / "loop.txt.gz"
    path.write_bytes(gzip.compress("".join(LOOP.format(number) for number in range(150_000)).encode()))
    steps: list[float] = []
    report = analyse(path, 2026, CAPTURE_PROGRAM, SMALL, steps.append)
    assert report.kind == "process_count"
    assert {fact.id: fact.numbers for fact in report.facts}["processes"] == {
        "samples": 150_000,
        "least": 21,
        "most": 21,
    }
    assert steps == sorted(steps)
    assert all(0 <= step <= 1 for step in steps)
    assert steps
    assert max(len(chart.x) for chart in report.charts) <= 1200


def test_several_gzip_members_and_a_cut_end(tmp_path: Path) -> None:
    whole = gzip.compress(LOOP.format(1).encode()) + gzip.compress(LOOP.format(2).encode())
    (tmp_path / "two.gz").write_bytes(whole)
    assert {f.id: f.numbers for f in analyse(tmp_path / "two.gz", 2026, CAPTURE_PROGRAM, SMALL).facts}["processes"][
        "samples"
    ] == 2
    noisy = "".join(LOOP.format(random.Random(7).randrange(10**9)) for _ in range(20_000)).encode()
    (tmp_path / "cut.gz").write_bytes(gzip.compress(noisy)[:-2000])
    report = analyse(tmp_path / "cut.gz", 2026, CAPTURE_PROGRAM, SMALL)
    assert any("cut off or damaged" in note for note in report.notes)


def test_a_zip_bomb(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    packer = zlib.compressobj(9, wbits=31)
    with bomb.open("wb") as file:
        file.write(packer.compress(LOOP.format(1).encode()))
        for _ in range(200):
            file.write(packer.compress(b"a" * 1_000_000 + b"\n"))
        file.write(packer.flush())
    assert bomb.stat().st_size < 300_000
    assert refusal(bomb)["type"] == "unpacks-to-too-much"


def test_a_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "line.txt"
    with path.open("wb") as file:
        file.write(LOOP.format(1).encode())
        file.truncate(0)
        file.seek(0)
        for _ in range(300):
            file.write(b"x" * 1_000_000)
    problem = refusal(path, Limits(unpacked_bytes=10**9, memory_bytes=600_000_000, cpu_s=20, wall_s=WALL_S))
    assert problem["type"] == "unknown-file-kind"
    assert len(problem["detail"]) < 400
    with path.open("ab") as file:
        file.write(b"\n" + LOOP.format(2).encode())
    report = analyse(path, 2026, CAPTURE_PROGRAM, Limits(10**9, 600_000_000, 20, WALL_S))
    assert any("very long lines" in note for note in report.notes)


@pytest.mark.parametrize("seed", range(6))
def test_garbage(tmp_path: Path, seed: int) -> None:
    randomness = random.Random(seed)
    content = [
        randomness.randbytes(100_000),
        b"",
        b"\x1f\x8b" + randomness.randbytes(50_000),
        b"\0" * 1_000_000,
        "\n".join("ÿ" * 40 for _ in range(1000)).encode("latin-1"),
        b"{" * 60_000 + b"\n" + b'{"log":' * 5000,
    ][seed]
    (tmp_path / "garbage").write_bytes(content)
    problem = refusal(tmp_path / "garbage")
    assert problem["type"] in ("unknown-file-kind", "damaged-file")
    assert problem["what_to_do"]


def test_garbage_between_good_lines_is_passed_over(tmp_path: Path) -> None:
    randomness = random.Random(3)
    lines = []
    for number in range(2000):
        lines.append(LOOP.format(number).encode())
        lines.append(bytes(randomness.choice(b"abc{}[]\"'<>%\\#.: 0123456789") for _ in range(60)) + b"\n")
    (tmp_path / "mixed.txt").write_bytes(b"".join(lines))
    report = analyse(tmp_path / "mixed.txt", 2026, CAPTURE_PROGRAM, SMALL)
    assert {fact.id: fact.numbers for fact in report.facts}["processes"]["samples"] == 2000


def test_memory_cpu_and_wall_limits_hold(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(LOOP.format(number) for number in range(1_500_000)))
    least = refusal(path, Limits(unpacked_bytes=10**9, memory_bytes=40_000_000, cpu_s=20, wall_s=WALL_S))
    assert least["type"] in ("takes-too-much-memory", "analysis-failed")
    assert (
        refusal(path, Limits(unpacked_bytes=10**9, memory_bytes=10**9, cpu_s=1, wall_s=WALL_S))["type"]
        == "takes-too-much-cpu"
    )
    assert (
        refusal(path, Limits(unpacked_bytes=10**9, memory_bytes=10**9, cpu_s=60, wall_s=1))["type"] == "takes-too-long"
    )
    # The limits are the child's, not this process's.
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_the_reader_gets_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile file can reach at most what the child's environment holds."""
    seen = tmp_path / "environment"
    spy = tmp_path / "reader"
    answer = '{"kind":"error","type":"unreadable","what_to_do":"","detail":"'
    environment = "$(env | tr -c 'A-Za-z0-9_=/' ' ')"
    spy.write_text(f"#!/bin/sh\nprintf '%s%s\"}}\\n' '{answer}' \"{environment}\"\n")
    spy.chmod(0o755)
    seen.write_bytes(b"\xa1\xb2\xc3\xd4" + os.urandom(20))
    monkeypatch.setenv("JITTERSCOPE_DATABASE_URL", "postgresql://secret")
    with pytest.raises(Refused) as refused:
        analyse(seen, 2026, spy, SMALL)
    assert "PATH=" in refused.value.problem["detail"]
    assert "secret" not in refused.value.problem["detail"]


def test_the_reader_leaves_no_compiled_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file size limit would cut them short, and then no program could import them any more."""
    compiled, python, path = tmp_path / "compiled", tmp_path / "python", tmp_path / "loop.txt"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -X pycache_prefix={compiled} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    path.write_text(LOOP.format(1), encoding="utf-8")
    monkeypatch.setattr(sys, "executable", str(python))
    assert analyse(path, 2026, CAPTURE_PROGRAM, SMALL).kind == "process_count"
    assert not list(compiled.rglob("*.pyc"))
