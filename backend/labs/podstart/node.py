"""A node that starts pods as kubelet, container runtime, and CNI plugin do, phase by phase, and times each."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from labs import built, processes
from labs.cgroups import LabCgroup, LabRun
from labs.errors import LabError
from labs.podstart.figures import Loaded, Started
from labs.podstart.pages import KubeletPage, image_path
from labs.podstart.variants import Parameters

_OPERATIONS, _TYPE = "kubelet_runtime_operations_duration_seconds", 'operation_type="{}"'
_APP = "import sys, time; print('running', flush=True); sys.stdin.read()"


class Clock:
    """Times consecutive phases."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = time.monotonic()
        took, self._last = now - self._last, now
        return took


class Node:
    """Starts pods in cgroups of the lab; `pids` are their processes. What it starts ends with `stack`."""

    def __init__(self, names: LabRun, stack: ExitStack, folder: Path, url: str, page: KubeletPage) -> None:
        self._names, self._stack, self._folder, self._url, self._page = names, stack, folder, url, page
        self.agent, self.pids = self._cgroup("agent"), list[int]()

    def load(self, sections: int, verified: int, branches: int) -> tuple[Loaded, ...]:
        """What the agent does for a new pod, which waits for it. The programs stay until the lab ends."""
        command = [
            str(built.fault()), "load", "--hold",
            f"--sections={sections}", f"--verified={verified}", f"--branches={branches}",
        ]  # fmt: skip
        agent = self._run(command, self.agent)
        assert agent.stdout is not None
        printed = agent.stdout.readline()
        if not printed:
            raise LabError(
                "Cannot load eBPF programs: `jitterscope-fault load` in bin/ says why (root, CONFIG_BPF_SYSCALL)."
            )
        return tuple(
            Loaded(one["name"], one["start_us"], one["took_us"], one["verified_instructions"])
            for one in json.loads(printed)["programs"]
        )

    def start(self, number: int, p: Parameters) -> Started:
        """Start one pod; it runs until the lab ends."""
        at_us, clock = time.time_ns() // 1000, Clock()
        time.sleep(p.wait_s or 0.0)
        waited_s = clock.lap()
        image = self._folder / f"image-{number}"
        url = self._url + image_path(round(p.image_mib * (1 << 20)), p.image_s)
        with httpx.stream("GET", url, timeout=60) as source, image.open("wb") as copy:
            for part in source.iter_raw():
                copy.write(part)
        image_s = clock.lap()
        cgroup = self._cgroup(f"pod-{number}")
        cgroup_s = clock.lap()
        self._run(["unshare", "--net", "cat"], cgroup)
        programs = self.load(p.sections - p.unused, p.verified, p.branches)
        sandbox_s = clock.lap()
        app = self._run([sys.executable, "-I", "-S", "-c", _APP], cgroup)
        create_s = clock.lap()
        assert app.stdout is not None
        if app.stdout.readline() != b"running\n":
            raise LabError(f"Pod {number} exited during its start.")
        run_s = clock.lap()
        image.unlink()
        start_s = waited_s + cgroup_s + sandbox_s + create_s + run_s
        self._tell(image_s, cgroup_s, sandbox_s, create_s, run_s)
        self._page.observe("kubelet_pod_start_sli_duration_seconds", start_s)
        self._page.observe("kubelet_pod_start_total_duration_seconds", start_s + image_s)
        return Started(at_us, start_s, start_s + image_s, image_s, sandbox_s, programs)

    def _tell(self, image_s: float, cgroup_s: float, sandbox_s: float, create_s: float, run_s: float) -> None:
        page = self._page
        page.observe("kubelet_cgroup_manager_duration_seconds", cgroup_s, _TYPE.format("create"))
        page.observe("kubelet_run_podsandbox_duration_seconds", sandbox_s, 'runtime_handler=""')
        operations = {
            "pull_image": image_s, "run_podsandbox": sandbox_s, "create_container": create_s, "start_container": run_s
        }  # fmt: skip
        for name, seconds in operations.items():
            page.observe(_OPERATIONS, seconds, _TYPE.format(name))

    def _cgroup(self, name: str) -> LabCgroup:
        made = self._names.cgroup(name)
        self._stack.callback(made.remove)
        made.create()
        return made

    def _run(self, command: list[str], cgroup: LabCgroup) -> subprocess.Popen[bytes]:
        process = processes.spawn(
            command, cgroup_procs=cgroup.procs_files(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._stack.callback(processes.stop, process)
        self.pids.append(process.pid)
        return process
