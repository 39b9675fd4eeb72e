"""A real dnsmasq with kube-dns's arguments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from labs import packages
from labs.cgroups import LabCgroup
from labs.errors import LabError
from labs.servers import Server

PACKAGE = "dnsmasq-base"
# MAX_PROCS of its config.h; since 2.90 --max-tcp-connections overrides it.
DEFAULT_CHILD_LIMIT = 20
# As in GKE's kube-dns Deployment, without addresses.
_KUBE_DNS = ("-k", "--cache-size=1000", "--no-negcache", "--dns-forward-max=1500", "--log-facility=-", "--max-ttl=30",
             "--max-cache-ttl=30", "--no-resolv")  # fmt: skip


def executable() -> tuple[Path, dict[str, str]]:
    """dnsmasq and its environment: the installed one or, if there is none, Debian's, unpacked into the cache.

    JITTERSCOPE_DNSMASQ overrides it. --max-tcp-connections needs 2.90 or newer.
    """
    given = os.environ.get("JITTERSCOPE_DNSMASQ")
    if given:
        if not os.access(given, os.X_OK):
            raise LabError(f"JITTERSCOPE_DNSMASQ={given} is not an executable file.")
        return Path(given), {}
    if installed := shutil.which("dnsmasq", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
        return Path(installed), {}
    folder = packages.unpacked(PACKAGE)
    return folder / "usr" / "sbin" / "dnsmasq", packages.environment(folder)


def arguments(upstream: tuple[str, int]) -> list[str]:
    """Those of kube-dns's dnsmasq: everything is forwarded to `upstream`."""
    target = f"{upstream[0]}#{upstream[1]}"
    return [
        *_KUBE_DNS,
        *(f"--server=/{zone}/{target}" for zone in ("cluster.local", "in-addr.arpa", "ip6.arpa")),
        f"--server={target}",
        "--conf-file=/dev/null", "--no-hosts", "--user=root", "--group=root", "--pid-file=",
    ]  # fmt: skip


def server(
    name: str,
    endpoint: tuple[str, int],
    folder: Path,
    cgroup: LabCgroup,
    upstream: tuple[str, int],
    child_limit: int | None = None,
    more: Sequence[str] = (),
) -> Server:
    """A server that forwards everything to `upstream`; `child_limit` None: dnsmasq's default. `more`: arguments."""
    program, environment = executable()
    command = [
        str(program),
        *arguments(upstream),
        # kube-dns's dnsmasq has its own network namespace and listens on every address; here it must not.
        f"--listen-address={endpoint[0]}", f"--port={endpoint[1]}", "--bind-interfaces",
    ]  # fmt: skip
    if child_limit is not None:
        command.append(f"--max-tcp-connections={child_limit}")
    command += more
    return Server(name, endpoint, command, cgroup, environment, folder / f"{name}.log")
