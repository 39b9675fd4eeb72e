"""What the QoS class of a pod allows: a pod gets it when it is created, and a running one keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jitterscope.diagnosis.core.snapshot import Snapshot

FACT = "workload.qos_class"
REPLACED_TOO = (
    "The pod is Guaranteed: if its request is declared, raise it too, or new pods are Burstable. The command for the "
    "running pod sets both."
)


def of(snapshot: Snapshot) -> str | None:
    """Guaranteed, Burstable, or BestEffort; None: not known."""
    return snapshot.subject.fact(FACT)


def resized(snapshot: Snapshot, content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What to set in the subject's running pod for this change of `resources`; None: nothing is allowed.

    Kubernetes refuses whatever would change the class. Limits and requests of a Guaranteed pod are equal, and one of
    class BestEffort has none.
    """
    qos = of(snapshot)
    if qos == "BestEffort":
        return None
    if qos != "Guaranteed":
        return content
    amounts = {name: amount for part in content["resources"].values() for name, amount in part.items()}
    return {"resources": {"limits": amounts, "requests": amounts}}
