"""This machine's side of the network to the nodes: a bridge, with a port for each node."""

from __future__ import annotations

import subprocess

from labs import packages
from labs.kubernetes.layout import HOST_ADDRESS, HOST_LINK, LINK_BITS, MOST_NODES, Node


def create() -> None:
    """Create the bridge, with this machine's address."""
    for words in (
        ["link", "add", HOST_LINK, "type", "bridge"],
        ["address", "add", f"{HOST_ADDRESS}/{LINK_BITS}", "dev", HOST_LINK],
        ["link", "set", HOST_LINK, "up"],
    ):
        packages.run(["ip", *words])


def attach(node: Node, pid: int) -> None:
    """Give the network namespace of a process an `eth0` that leads to the bridge."""
    for words in (
        ["link", "add", node.host_link, "type", "veth", "peer", "name", "eth0", "netns", str(pid)],
        ["link", "set", node.host_link, "master", HOST_LINK, "up"],
    ):
        packages.run(["ip", *words])


def remove() -> None:
    """Remove all of it; a port also ends with its network namespace, but only some time after the last process."""
    for name in (*(Node(number).host_link for number in range(1, MOST_NODES + 1)), HOST_LINK):
        subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)
