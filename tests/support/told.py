"""What a lab's product reported about the lab, without what the machine that runs both did in the meantime."""

from __future__ import annotations

from collections.abc import Iterable

from labs.report import IncidentLine

# The lab, its load, the product, and the tests share a few CPUs: that a server waited for one is true, but not part of
# the fault. A virtual machine can also be paused. Labs about this check all incidents.
OF_THE_MACHINE = ("cpu/neighbours", "cpu/steal", "kernel/node_freeze", "unexplained/slow_answers")


def causes(found: Iterable[IncidentLine]) -> list[str]:
    """Causes of incidents or risks, in their order."""
    return [one.cause for one in found if one.cause not in OF_THE_MACHINE]
