"""The collector as a service of a Linux machine."""

from __future__ import annotations

import shlex

from jitterscope.tenancy.setups.setup import TOKEN, Setup


def setup(server: str) -> Setup:
    return Setup(
        name="linux", title="Linux", sends="ticks", file="Run this on the node, as root",
        text=install_command(server, TOKEN),
        next="With systemd it becomes the service jitterscope-collector.",
    )  # fmt: skip


def install_command(server: str, secret: str) -> str:
    """One line for a root shell on Linux: fetches the installer of this service and runs it."""
    return (
        f"curl -fsSL {shlex.quote(server + '/api/v1/collectors/install.sh')} | "
        f"sudo env JITTERSCOPE_SERVER={shlex.quote(server)} JITTERSCOPE_TOKEN={shlex.quote(secret)} sh"
    )
