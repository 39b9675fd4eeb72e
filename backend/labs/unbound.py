"""A real unbound that answers zones from its configuration."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from labs import packages
from labs.cgroups import LabCgroup
from labs.errors import LabError
from labs.servers import Server


def executable() -> tuple[Path, dict[str, str]]:
    """unbound and its environment: the installed one or, if there is none, Debian's, unpacked into the cache.

    JITTERSCOPE_UNBOUND overrides it.
    """
    given = os.environ.get("JITTERSCOPE_UNBOUND")
    if given:
        if not os.access(given, os.X_OK):
            raise LabError(f"JITTERSCOPE_UNBOUND={given} is not an executable file.")
        return Path(given), {}
    if installed := shutil.which("unbound", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
        return Path(installed), {}
    folder = packages.unpacked("unbound")
    return folder / "usr" / "sbin" / "unbound", packages.environment(folder)


def server(
    name: str,
    endpoint: tuple[str, int],
    folder: Path,
    cgroup: LabCgroup,
    zones: Sequence[str],
    limit_qps: int = 0,
    inside: Sequence[str] = (),
) -> Server:
    """A server that drops a client address's queries over `limit_qps` (unbound.conf(5), ip-ratelimit); 0: no limit.

    `inside`: a command that enters a namespace.
    """
    program, environment = executable()
    address, port = endpoint
    answers = "".join(
        f'    local-zone: "{zone}." redirect\n    local-data: "{zone}. 60 IN A 192.0.2.1"\n' for zone in zones
    )
    configuration = folder / f"{name}.conf"
    configuration.write_text(
        f"""server:
    interface: {address}
    port: {port}
    access-control: 0.0.0.0/0 allow
    do-daemonize: no
    chroot: ""
    username: ""
    directory: "{folder}"
    pidfile: ""
    use-syslog: no
    logfile: ""
    module-config: "iterator"
    ip-ratelimit: {limit_qps}
    ip-ratelimit-factor: 0
{answers}remote-control:
    control-enable: no
"""
    )
    command = [*inside, str(program), "-d", "-c", str(configuration)]
    return Server(name, endpoint, command, cgroup, environment, folder / f"{name}.log")
