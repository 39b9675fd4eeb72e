"""How each version of Cilium handles the programs that it loads for a pod, each with its source."""

from __future__ import annotations

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs.versions import Gate, parse_version

_PULL = "https://github.com/cilium/cilium/pull/{}"

NO_NODEPORT_NAT = Gate(
    "Cilium", (1, 13), "no longer loads the NodePort NAT tail calls for pods, which never run there (backported to a "
    "later 1.12 release, too)",
    _PULL.format(21505),
)  # fmt: skip
PRUNES = Gate(
    "Cilium", (1, 16), "its loader leaves out tail calls that no program reaches (backported to a later 1.15 release, "
    "too)",
    _PULL.format(30467),
)  # fmt: skip
PRUNES_BY_SETTING = Gate(
    "Cilium", (1, 19), "also leaves out tail calls of features that are switched off at load time", _PULL.format(41421)
)  # fmt: skip

GATES = (NO_NODEPORT_NAT, PRUNES, PRUNES_BY_SETTING)
# tail_nodeport_nat_{ingress,egress}_ipv{4,6}: the kernel keeps 15 characters of a name.
_NODEPORT_NAT = "tail_nodeport_nat_"


def version(snapshot: Snapshot) -> tuple[int, ...] | None:
    """The version of the agent on this node; None if unknown."""
    return parse_version(snapshot.node.fact("node.cilium"))


def is_cilium(snapshot: Snapshot, command: str) -> bool:
    """Whether programs that this command loads are Cilium's. Old agents had tc(8) load them."""
    return command.startswith("cilium") or (command == "tc" and snapshot.node.fact("node.cilium") is not None)


def unused_for_pods(name: str) -> bool:
    """Whether pods never run this program, although versions before 1.13 load it for them."""
    return len(name) >= 15 and (name.startswith(_NODEPORT_NAT) or _NODEPORT_NAT.startswith(name))
