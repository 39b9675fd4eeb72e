"""`jitterscope demo` as a user runs it: it explains how to try a fix, and what the product says about the fix."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from labs.cgroups import PREFIX, Hierarchies
from tests.support.lab_plan import live

PROGRAM = str(Path(sys.executable).with_name("jitterscope"))


def jitterscope(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120, check=False)


class Demo:
    """A running demo; its output is in a file, as with `make demo > file`."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.file = folder / "said"
        self.state = folder / "state"
        with self.file.open("w") as out:
            command = [PROGRAM, "demo", "--state-dir", str(self.state), *words]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)

    def wait_for(self, pattern: str, patience_s: float) -> re.Match[str]:
        deadline = time.monotonic() + patience_s
        while (found := re.search(pattern, self.file.read_text())) is None:
            assert time.monotonic() < deadline, f"no {pattern}:\n{self.file.read_text()}"
            assert self.process.poll() is None or re.search(pattern, self.file.read_text()), self.file.read_text()
            time.sleep(0.2)
        return found

    def end(self, ask: Callable[[subprocess.Popen[bytes]], None] = lambda process: process.terminate()) -> int:
        if self.process.poll() is None:
            ask(self.process)
        return self.process.wait(60)

    def down(self) -> None:
        self.end()
        done = jitterscope("down", "--state-dir", str(self.state))
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches packets: needs root")
@live(85, "cpu/gc_throttling")
@pytest.mark.timeout(900)
def test_a_fix_can_be_tried_on_the_demo_until_ctrl_c(tmp_path: Path) -> None:
    demo = Demo(tmp_path)
    try:
        key = demo.wait_for(rf"/{PREFIX}\d+/coredns-\d+", 120)[0]
        address = demo.wait_for(r"http://127\.0\.0\.1:\d+/incidents/\d+", 90)[0]
        said = demo.file.read_text()
        assert "uses up the CPU limit" in said
        assert "Copy patch" in said
        assert "go on for 10 min, or until Ctrl-C" in said
        assert re.search(r"Sign in as admin@localhost  \S+", said)
        time.sleep(25)  # "give the fault a minute": a change right after the start has nothing to be compared with
        quota = next(path for path in folders(key) if path.name in ("cpu.cfs_quota_us", "cpu.max"))
        quota.write_text("200000")
        number = address.rpartition("/")[2]
        told = demo.wait_for(rf"Incident {number}: fix applied, measuring whether it helps\. .*", 60)[0]
        assert "0.5" in told
        # As a terminal does: to the demo and to what it started.
        assert demo.end(lambda process: os.killpg(process.pid, signal.SIGINT)) == 0, demo.file.read_text()
        assert "Jitterscope keeps running" in demo.file.read_text()
        assert not any(folder.exists() for folder in Hierarchies.of_this_machine().folders(key.split("/")[1]))
        assert httpx.get(f"{address.partition('/incidents')[0]}/readyz", timeout=60).status_code == 200
    finally:
        demo.down()


def folders(key: str) -> list[Path]:
    """Files of the cgroup, in every hierarchy."""
    return [path for root in Hierarchies.of_this_machine().folders(key[1:]) for path in root.iterdir()]


@pytest.mark.timeout(240)
def test_the_recording_for_those_who_may_not_make_cgroups(tmp_path: Path) -> None:
    demo = Demo(tmp_path, "--replay")
    try:
        assert demo.process.wait(200) == 0, demo.file.read_text()
        said = demo.file.read_text()
        assert "This is a recording of a real stall, not one on this machine" in said
        assert re.search(r"http://127\.0\.0\.1:\d+/incidents/\d+", said)
        assert "Sign in as admin@localhost" in said
    finally:
        demo.down()
