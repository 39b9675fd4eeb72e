"""Real CoreDNS servers: one that serves a large hosts file, with its GC trace read as it runs, and others."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from labs import packages
from labs.cgroups import LabCgroup
from labs.errors import LabError
from labs.gctrace import parse_line
from labs.servers import Server, free_port

VERSION = "v1.12.0"
WIDE_NAMES = tuple(f"wide{index:02d}.lab.test" for index in range(16))
# Of a denial, in a `template`.
SOA = "{{ .Zone }} 60 IN SOA ns.dns.{{ .Zone }} hostmaster.{{ .Zone }} 1 7200 1800 86400 60"
_LATE = "late.lab.test"
_ADDRESSES_OF_A_WIDE_NAME = 150  # an answer of 2.5 KB, for which CoreDNS allocates about 25 KB


def executable() -> Path:
    """CoreDNS, built with `go install` into the cache at first use; JITTERSCOPE_COREDNS overrides it."""
    given = os.environ.get("JITTERSCOPE_COREDNS")
    if given:
        if not os.access(given, os.X_OK):
            raise LabError(f"JITTERSCOPE_COREDNS={given} is not an executable file.")
        return Path(given)
    cache = packages.cache("bin")
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
        raise LabError(f"`{' '.join(command)}` failed. Check the network.\n{done.stderr[-2000:]}")
    # Atomically, so that a concurrent lab does not see a partial file.
    (building / "coredns").replace(installed)
    building.rmdir()


def write_hosts(path: Path, records: int, addresses: int = _ADDRESSES_OF_A_WIDE_NAME) -> None:
    """A hosts file with `records` names: the 16 wide ones with `addresses` each, then names with one address each."""
    with path.open("w") as out:
        for index, name in enumerate(WIDE_NAMES):
            out.writelines(f"10.255.{index}.{last + 1} {name}\n" for last in range(addresses))
        out.writelines(
            f"10.{n >> 16 & 127}.{n >> 8 & 255}.{n & 255} host{n:07d}.lab.test\n"
            for n in range(max(0, records - len(WIDE_NAMES)))
        )


def _corefile(address: str, port: int, hosts: Path, rewrites: int) -> str:
    """A Corefile with `rewrites` rules that match no name of the hosts file."""
    rules = "".join(
        rf"    rewrite continue name regex ([a-z]+)-([0-9]+)\.region{n}\.old\.test {{1}}.r{n}.lab.test" + "\n"
        for n in range(rewrites)
    )
    return f".:{port} {{\n    bind {address}\n    errors\n{rules}    hosts {hosts} {{\n        reload 0\n    }}\n}}\n"


class CoreDns(Server):
    """A CoreDNS that serves a large hosts file on a free loopback port, with its GC trace read as it runs."""

    def __init__(
        self, folder: Path, cgroup: LabCgroup, records: int, rewrites: int, environment: Mapping[str, str]
    ) -> None:
        endpoint = ("127.0.0.1", free_port())
        write_hosts(folder / "hosts", records)
        (folder / "Corefile").write_text(_corefile(*endpoint, folder / "hosts", rewrites))
        self._own_environment = {"GODEBUG": "gctrace=1", "HOME": str(folder)}
        super().__init__(
            "CoreDNS",
            endpoint,
            [str(executable()), "-conf", str(folder / "Corefile")],
            cgroup,
            {**environment, **self._own_environment},
            reads_gc=parse_line,
        )

    def restart_with(self, environment: Mapping[str, str]) -> None:
        """Restart on the same address with these environment variables instead of the old ones."""
        self.restart(WIDE_NAMES[0], environment={**environment, **self._own_environment})


def configured(name: str, endpoint: tuple[str, int], folder: Path, cgroup: LabCgroup, corefile: str) -> Server:
    """A CoreDNS with this Corefile, its log in `folder`."""
    (folder / f"{name}.Corefile").write_text(corefile)
    return Server(
        name,
        endpoint,
        [str(executable()), "-conf", str(folder / f"{name}.Corefile")],
        cgroup,
        {"HOME": str(folder)},
        folder / f"{name}.log",
    )


def slow_corefile(endpoint: tuple[str, int], delay_ms: float, ready: str) -> str:
    """A Corefile for an upstream that knows every name, and delays all answers except for the name `ready`."""
    address, port = endpoint
    return f"""{ready}:{port} {{
    bind {address}
    erratic {{
        drop 0
    }}
}}
.:{port} {{
    bind {address}
    errors
    erratic {{
        {delay(delay_ms)}
    }}
}}
"""


def denying(endpoint: tuple[str, int], zones: Sequence[str], delay_ms: float) -> str:
    """Part of a Corefile: the names of these zones do not exist, which each answer says after the delay.

    `template` answers immediately, but first looks up the target of an alias: here in a zone whose lookups take the
    delay and find nothing.
    """
    address, port = endpoint
    return f"""{" ".join(f"{zone}:{port}" for zone in zones)} {{
    bind {address}
    template ANY ANY {{
        rcode NXDOMAIN
        answer "{{{{ .Name }}}} 60 IN CNAME {_LATE}."
        authority "{SOA}"
    }}
}}
{_LATE}:{port} {{
    bind {address}
    rewrite type A TXT
    rewrite type AAAA TXT
    erratic {{
        {delay(delay_ms)}
    }}
}}
"""


def quick_corefile(endpoint: tuple[str, int], addresses: int) -> str:
    """A Corefile for an upstream that knows every name, with this many addresses, and answers immediately."""
    address, port = endpoint
    answers = "".join(f'        answer "{{{{ .Name }}}} 3600 IN A 192.0.2.{one}"\n' for one in range(1, addresses + 1))
    return f".:{port} {{\n    bind {address}\n    errors\n    template IN A {{\n{answers}    }}\n}}\n"


def delay(delay_ms: float) -> str:
    """The `erratic` line that delays each answer by this much."""
    return f"delay 1 {delay_ms * 1e3:.0f}us" if delay_ms else "drop 0"
