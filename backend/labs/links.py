"""Network links between this machine and a lab's pods, as a cluster's network plugin makes them: one veth pair each.

A pair ends with the pod's network namespace, which ends with its last process.
"""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass

from labs import packages
from labs.errors import LabError

_runs = itertools.count()


@dataclass(frozen=True, slots=True)
class Network:
    """198.18.`third`.0/24, from a range reserved for benchmarks (RFC 2544), with four addresses per pod."""

    third: int

    @classmethod
    def unused(cls) -> Network:
        """A network that no interface here uses, different for each run. Raises LabError if `ip` is missing."""
        shown = json.loads(packages.run(["ip", "-json", "-4", "address"]))
        taken = {one["local"].rsplit(".", 1)[0] for interface in shown for one in interface.get("addr_info", ())}
        begin = os.getpid() + next(_runs)
        for attempt in range(256):
            third = (begin + attempt) % 256
            if f"198.18.{third}" not in taken:
                return cls(third)
        raise LabError("No network of 198.18.0.0/16 is unused on this machine.")

    def host(self, pod: int) -> str:
        """The machine's address on the link to a pod."""
        return f"198.18.{self.third}.{4 * pod + 1}"

    def pod(self, pod: int) -> str:
        return f"198.18.{self.third}.{4 * pod + 2}"

    def connect(self, pod: int, pid: int) -> None:
        """Link the network namespace of process `pid` to this machine; its default route leads here."""
        here, inside = f"jsl{os.getpid()}-{pod}", ["nsenter", f"--net=/proc/{pid}/ns/net", "ip"]
        pair = ["ip", "link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", str(pid)]
        for command in (
            pair,
            ["ip", "address", "add", f"{self.host(pod)}/30", "dev", here],
            ["ip", "link", "set", here, "up"],
            [*inside, "address", "add", f"{self.pod(pod)}/30", "dev", "eth0"],
            [*inside, "link", "set", "lo", "up"],
            [*inside, "link", "set", "eth0", "up"],
            [*inside, "route", "add", "default", "via", self.host(pod)],
        ):
            packages.run(command)
