# ruff: noqa: T201
"""make bench-nodes: many nodes at once, half of them faulty: CPU of each program, and the time to incident.

The product runs as `make up` runs it, without a collector; `jitterscope replay --loop` sends recordings as nodes. CPU
is in percent of one core over the measured time, which begins when every node has been sending for a while. Time to
incident is from the onset, in the data, to the incident's opening. `--replay-from` is the replayer's backend folder,
for when another version of the product (by PYTHONPATH) is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.devstack.stack import Stack

RECORDINGS = Path(__file__).resolve().parents[1] / "fixtures" / "recordings"
FAULTY = ("coredns-gc-fault", "search-domains-fault", "nodelocal-dnsmasq-fault", "coredns-gc-overload")
CALM = ("coredns-gc-healthy", "coredns-oom-healthy", "search-domains-ndots", "coredns-gc-limit")
PROGRAMS = ("api", "worker", "beat", "postgres", "valkey")


def cpu_s(pid: int) -> float:
    """User and system time of a process, the children it reaped, and its living children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(cpu_s(int(child)) for child in children)


def incidents(stack: Stack, token: str) -> list[dict[str, Any]]:
    """All incidents."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    with httpx.Client(base_url=stack.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        while True:
            parameters = {"limit": 100} | ({"cursor": cursor} if cursor else {})
            page = client.get("/api/v1/incidents", params=parameters).raise_for_status().json()
            found += page["items"]
            cursor = page["next_cursor"]
            if not cursor:
                return found


def looks(stack: Stack) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Diagnoses so far, looks in which no sign shows, and at how many subjects these were, from the worker's log."""
    log = stack.log("worker").read_text(errors="replace")
    calm = re.findall(r'"subject_ids": \[([^]]*)\], "event": "nothing_shows"', log)
    return np.array([log.count('"event": "diagnosed"'), len(calm), sum(len(one.split(",")) for one in calm)])


def files(nodes: int, faulty: float) -> list[Path]:
    """A recording for each node, with faulty and calm ones spread evenly."""
    wanted = round(nodes * faulty)
    sick = [number * wanted // nodes != (number + 1) * wanted // nodes for number in range(nodes)]
    names, turn = [], {True: 0, False: 0}
    for one in sick:
        pool = FAULTY if one else CALM
        names.append(pool[turn[one] % len(pool)])
        turn[one] += 1
    return [RECORDINGS / f"{name}.jitterscope" for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20, help="0: what the programs cost without any")
    parser.add_argument("--faulty", type=float, default=0.5, help="share of the nodes")
    parser.add_argument("--warm-up", type=float, default=160.0, help="seconds before measuring: longer than a window")
    parser.add_argument("--seconds", type=float, default=80.0, help="seconds to measure")
    parser.add_argument("--replay-from", type=Path, default=Path(__file__).resolve().parents[2] / "backend")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with ExitStack() as closing:
        folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="jitterscope-nodes-"))
        stack = Stack(Path(folder), collector=False, durable=False, owner_pid=os.getpid())
        closing.enter_context(stack)
        token_file = Path(folder) / "ingest-token"
        token_file.write_text(stack.create_ingest_token())
        api_token = stack.create_api_token()
        command = [sys.executable, "-c", "from jitterscope.cli import app; app()", "replay"]
        command += [*map(str, files(arguments.nodes, arguments.faulty)), "--loop", "--nodes", str(arguments.nodes)]
        command += ["--to-service", stack.url, "--token-file", str(token_file)]
        environment = os.environ | {"PYTHONPATH": str(arguments.replay_from)}
        if not arguments.nodes:
            command = ["sleep", "infinity"]
        replayer = subprocess.Popen(
            command, cwd=arguments.replay_from, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            time.sleep(arguments.warm_up)
            pids = stack.pids()
            before, began = {name: cpu_s(pids[name]) for name in PROGRAMS if name in pids}, time.monotonic()
            looked = looks(stack)
            time.sleep(arguments.seconds)
            if replayer.poll() is not None:
                raise SystemExit("the replay ended")
            took = time.monotonic() - began
            cpu = {name: 100 * (cpu_s(pids[name]) - spent) / took for name, spent in before.items()}
            looked = looks(stack) - looked
            found = incidents(stack, api_token)
        finally:
            if replayer.poll() is None:
                os.killpg(replayer.pid, signal.SIGTERM)
            replayer.wait(timeout=30)
    waits = sorted(
        (datetime.fromisoformat(one["opened_at"]) - datetime.fromisoformat(one["onset_at"])).total_seconds()
        for one in found
    )
    print(f"{arguments.nodes} nodes, {arguments.faulty:.0%} faulty, {took:.0f} s; % of a core:")
    for name, percent in cpu.items():
        print(f"  {name:<10}{percent:>8.1f}")
    print(f"  {'all':<10}{sum(cpu.values()):>8.1f}")
    whole, short, subjects = 60 * looked / took / max(1, arguments.nodes)
    print(f"A minute and node: {whole:.1f} diagnoses; {short:.1f} looks without a sign, at {subjects:.1f} subjects")
    hurt = {one["subject"]["resource_id"] for one in found}
    print(f"{len(found)} incidents of {len(hurt)} subjects; onset to incident in s:")
    if waits:
        p50, p95 = np.percentile(waits, (50, 95))
        print(f"  p50 {p50:.1f}  p95 {p95:.1f}  max {waits[-1]:.1f}   {' '.join(f'{one:.1f}' for one in waits)}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"cpu": cpu, "waits": waits, "incidents": len(found)}))


if __name__ == "__main__":
    main()
