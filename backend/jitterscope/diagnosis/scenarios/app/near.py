"""A server that waits for another one, as a near miss for other causes of late answers."""

from __future__ import annotations

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.app.simulate import asking
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.unexplained.simulate import Hold, Service, simulate

_HOLDS = tuple(Hold(11.02 + 7 * i, 0.12 + 0.1 * i, "peer") for i in range(5))


def near_miss(of: str) -> Scenario:
    """`of`: the prefix of the names of a cause's scenarios."""
    return Scenario(f"{of}/near miss: a server that it asks stands still", "app/lock_or_dependency", _waits)


def _waits() -> Snapshot:
    return asking(simulate(Service(holds=_HOLDS, seed=20)), True)
