"""A real CoreDNS that serves a large hosts file, with its GC trace read as it runs."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from jitterscope.labs import processes
from jitterscope.labs.cgroups import LabCgroup
from jitterscope.labs.errors import LabError
from jitterscope.labs.gctrace import GcCycle, parse_line

VERSION = "v1.12.0"
WIDE_NAMES = tuple(f"wide{index:02d}.lab.test" for index in range(16))
_ADDRESSES_OF_A_WIDE_NAME = 150  # an answer of 2.5 KB, for which CoreDNS allocates about 25 KB


def executable() -> Path:
    """CoreDNS, built with `go install` into the cache at first use; JITTERSCOPE_COREDNS names another one."""
    given = os.environ.get("JITTERSCOPE_COREDNS")
    if given:
        if not os.access(given, os.X_OK):
            raise LabError(f"JITTERSCOPE_COREDNS={given} is not an executable file.")
        return Path(given)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jitterscope" / "bin"
    installed = cache / f"coredns-{VERSION}"
    if not installed.exists():
        _install(cache, installed)
    return installed


def _install(cache: Path, installed: Path) -> None:
    building = cache / f"building-{os.getpid()}"
    building.mkdir(parents=True, exist_ok=True)
    command = ["go", "install", f"github.com/coredns/coredns@{VERSION}"]
    environment = {**os.environ, "GOBIN": str(building), "CGO_ENABLED": "0", "GOFLAGS": "-trimpath"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LabError("Go is missing: install Go 1.23 or newer, or point JITTERSCOPE_COREDNS to CoreDNS.") from error
    if done.returncode != 0:
        raise LabError(f"`{' '.join(command)}` failed; is the network there?\n{done.stderr[-2000:]}")
    # In one step, so that two labs at once do not see half a file.
    (building / "coredns").replace(installed)
    building.rmdir()


def write_hosts(path: Path, records: int) -> None:
    """A hosts file with `records` names: the 16 wide ones, then names with one address each."""
    with path.open("w") as out:
        for index, name in enumerate(WIDE_NAMES):
            out.writelines(f"10.255.{index}.{last + 1} {name}\n" for last in range(_ADDRESSES_OF_A_WIDE_NAME))
        out.writelines(
            f"10.{n >> 16 & 127}.{n >> 8 & 255}.{n & 255} host{n:07d}.lab.test\n"
            for n in range(max(0, records - len(WIDE_NAMES)))
        )


def _corefile(address: str, port: int, hosts: Path, rewrites: int) -> str:
    """`rewrites` rules that match no name of the hosts file."""
    rules = "".join(
        rf"    rewrite continue name regex ([a-z]+)-([0-9]+)\.region{n}\.old\.test {{1}}.r{n}.lab.test" + "\n"
        for n in range(rewrites)
    )
    return f".:{port} {{\n    bind {address}\n    errors\n{rules}    hosts {hosts} {{\n        reload 0\n    }}\n}}\n"


class CoreDns:
    """One running server on a free loopback port. It starts in `cgroup`, whose limit the caller sets later."""

    def __init__(
        self, folder: Path, cgroup: LabCgroup, records: int, rewrites: int, environment: Mapping[str, str]
    ) -> None:
        self._folder, self._cgroup, self._environment = folder, cgroup, environment
        self._gc_cycles: list[GcCycle] = []
        self._log: list[str] = []
        self.address = "127.0.0.1"
        self.port = _free_port()
        write_hosts(folder / "hosts", records)
        (folder / "Corefile").write_text(_corefile(self.address, self.port, folder / "hosts", rewrites))

    def start(self, patience_s: float = 180.0) -> None:
        """Start and wait until it answers. Raises LabError with its log where it does not."""
        command = [str(executable()), "-conf", str(self._folder / "Corefile")]
        environment = {**self._environment, "GODEBUG": "gctrace=1", "HOME": str(self._folder)}
        self._process = processes.spawn(
            command,
            cgroup_procs=self._cgroup.procs_files(),
            environment=environment,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        streams = [stream for stream in (self._process.stderr, self._process.stdout) if stream is not None]
        self._readers = [threading.Thread(target=self._read, args=(stream,), daemon=True) for stream in streams]
        for reader in self._readers:
            reader.start()
        deadline = time.monotonic() + patience_s
        while not _answers(self.address, self.port, WIDE_NAMES[0]):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise LabError("CoreDNS does not answer:\n" + "".join(self._log[-20:]))

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for raw in stream:
                now_us = time.time_ns() // 1000
                line = raw.decode(errors="replace")
                cycle = parse_line(line, now_us)
                if cycle is None:
                    self._log.append(line)
                else:
                    self._gc_cycles.append(cycle)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def gc_cycles(self) -> list[GcCycle]:
        """Every cycle so far, oldest first."""
        return list(self._gc_cycles)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        # Where it is throttled it takes its time to end.
        processes.stop(self._process, 10.0)
        for reader in self._readers:
            reader.join(5)


def _free_port() -> int:
    """A port that is free for UDP and TCP now."""
    for _ in range(100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream:
            stream.bind(("127.0.0.1", 0))
            port = int(stream.getsockname()[1])
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
                try:
                    datagram.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port
    raise LabError("No loopback port is free for UDP and TCP.")


def _answers(address: str, port: int, name: str) -> bool:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.3)
        try:
            client.connect((address, port))
            client.send(query)
            answer = client.recv(4096)
        except OSError:
            time.sleep(0.1)
            return False
    return len(answer) > 12 and answer[3] & 0x0F == 0
