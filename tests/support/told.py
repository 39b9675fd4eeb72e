"""What a lab's product told of the lab, without what the machine that runs both did meanwhile."""

from __future__ import annotations

from collections.abc import Iterable

from labs.report import IncidentLine

# The lab, its load, the product and the tests share a few CPUs: that a server waited for one is true, but no part of
# the fault. Labs about this look at all incidents.
OF_THE_MACHINE = ("cpu/neighbours", "cpu/steal", "unexplained/slow_answers")


def causes(found: Iterable[IncidentLine]) -> list[str]:
    """Of incidents or risks, in their order."""
    return [one.cause for one in found if one.cause not in OF_THE_MACHINE]
