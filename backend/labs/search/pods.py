"""The lab's pods: each has a cgroup, a network, a resolv.conf, and a program that looks up names."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs import processes
from labs.cgroups import LabCgroup
from labs.errors import LabError
from labs.links import Network
from labs.search.variants import Parameters, names_of, search_list

PROGRAM = Path(__file__).with_name("pod.py")


@dataclass(frozen=True, slots=True)
class Lookups:
    """What one pod did; `sent` and `received` are its network's UDP datagrams: queries and answers.

    `looked` has a row for each lookup: when it was due (µs since the epoch), how long it took (µs), found or not.
    """

    looked: list[tuple[int, int, bool]]
    sent: int
    received: int


def plan_of(parameters: Parameters, number: int, files: dict[str, str]) -> dict[str, Any]:
    """The plan for a pod's program; see pod.py for `files`."""
    rate = parameters.qps / parameters.pods
    return {
        "files": files,
        "names": names_of(parameters, number),
        "rate": rate,
        "phase": number / parameters.pods,
        "seconds": parameters.seconds,
        # Enough that none waits for another if a lookup takes a little longer than its four turns at the upstream.
        "workers": min(64, 2 + math.ceil(rate * (0.05 + 5 * parameters.delay_ms / 1e3))),
    }


class Pod:
    """One pod, connected to `network` and waiting for its start time."""

    def __init__(self, number: int, parameters: Parameters, network: Network, cgroup: LabCgroup, folder: Path) -> None:
        self.number, self.cgroup, self.address = number, cgroup, network.pod(number)
        self.resolv_conf, nsswitch = folder / f"pod-{number}.resolv.conf", folder / "nsswitch.conf"
        self.resolv_conf.write_text(
            f"search {' '.join(search_list(number))}\nnameserver {network.host(0)}\noptions ndots:{parameters.ndots}\n"
        )
        nsswitch.write_text("hosts: dns\n")
        self._plan = plan = folder / f"pod-{number}.json"
        files = {str(self.resolv_conf): "/etc/resolv.conf", str(nsswitch): "/etc/nsswitch.conf"}
        plan.write_text(json.dumps(plan_of(parameters, number, files)))
        self._process = processes.spawn(
            [sys.executable, "-I", str(PROGRAM), str(plan)],
            cgroup_procs=cgroup.procs_files(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            self._wait_ready()
            network.connect(number, self._process.pid)
        except BaseException:
            self.stop()
            raise

    def _wait_ready(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            _, complaint = self._process.communicate()
            raise LabError(f"Cannot make a pod: {complaint.decode(errors='replace').strip()}")

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, start_us: int) -> None:
        """Let it look up names from `start_us` (µs since the epoch) on."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start_us}\n".encode())
        self._process.stdin.flush()

    def ask_for(self, names: list[str]) -> None:
        """Let it look up other names from now on."""
        self._plan.write_text(json.dumps({**json.loads(self._plan.read_text()), "names": names}))
        os.kill(self.pid, signal.SIGHUP)

    def finish(self, patience_s: float) -> Lookups:
        """Wait for its last lookup. Raises LabError if it failed."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], patience_s)[0]:
            raise LabError(f"Pod {self.number} did not finish its lookups in time.")
        printed = self._process.stdout.readline()
        if not printed:
            _, complaint = self._process.communicate()
            raise LabError(f"Pod {self.number} failed: {complaint.decode(errors='replace').strip()}")
        content = json.loads(printed)
        looked = [(due, took, found) for due, took, found in content["looked"]]
        return Lookups(looked, content["sent"], content["received"])

    def stop(self) -> None:
        """End it; its network ends with it."""
        processes.stop(self._process)
