"""The agent of case 5 and its CNI plugin, without a cluster: which waits for which, and what is passed on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labs import processes
from labs.kubernetes import cni_agent, cni_plugin

RESULT = {"cniVersion": "1.0.0", "ips": [{"address": "10.112.0.7/24"}]}
# Reports that it has loaded, and holds until its input ends; both are recorded.
_LOADER = '#!/bin/sh\necho "$*" >> "$0.log"\necho loaded\ncat > /dev/null\necho freed >> "$0.log"\n'


def call(command: str, socket: Path, pod: str = "abc") -> subprocess.CompletedProcess[str]:
    network = {"cniVersion": "1.0.0", "type": "network-agent", "socket": str(socket), "prevResult": RESULT}
    return subprocess.run(
        [sys.executable, "-IS", cni_plugin.__file__],
        input=json.dumps(network),
        env={"CNI_COMMAND": command, "CNI_CONTAINERID": pod},
        capture_output=True,
        text=True,
        check=True,
    )


@contextmanager
def agent(socket: Path, loader: Path) -> Iterator[None]:
    command = [sys.executable, "-IS", cni_agent.__file__, str(socket), str(loader), "load"]
    running = processes.spawn(command, environment={**os.environ, "PROGRAMS": "3"})
    try:
        while not socket.exists():
            assert running.poll() is None
            time.sleep(0.01)
        yield
    finally:
        processes.stop(running)


def test_a_sandbox_waits_for_its_programs_and_frees_them(tmp_path: Path) -> None:
    socket, loader = tmp_path / "socket", tmp_path / "loader"
    loader.write_text(_LOADER)
    loader.chmod(0o755)
    log = tmp_path / "loader.log"
    with agent(socket, loader):
        assert json.loads(call("ADD", socket).stdout) == RESULT
        assert log.read_text() == "load --sections=3\n"
        call("ADD", socket)  # the runtime asks again for a pod that it has
        assert log.read_text() == "load --sections=3\n"
        assert call("DEL", socket).stdout == ""
        assert log.read_text() == "load --sections=3\nfreed\n"
        call("DEL", socket, "unknown")


def test_without_an_agent_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    assert json.loads(call("ADD", tmp_path / "none").stdout) == RESULT
    assert call("DEL", tmp_path / "none").stdout == ""
    assert "1.0.0" in json.loads(call("VERSION", tmp_path / "none").stdout)["supportedVersions"]
