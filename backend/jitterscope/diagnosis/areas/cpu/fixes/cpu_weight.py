"""Fix: a larger CPU weight for the server, so that it gets what it needs while the node is full."""

from __future__ import annotations

import os.path
from itertools import takewhile

from jitterscope.diagnosis.areas.cpu.readings.run_waits import Neighbour
from jitterscope.diagnosis.core import patches, predicted
from jitterscope.diagnosis.core.finding import Fix, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number, quota_of
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import cpu_requests

REFERENCES = [
    "https://docs.kernel.org/admin-guide/cgroup-v2.html#weights",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
]
MEASURES = ("slow_ratio", "run_delay_ms_per_min")
VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once slow answers and waiting for a "
    "CPU are gone. By hand: the second number of /proc/PID/task/TID/schedstat hardly rises."
)
MOST_WEIGHT = 10_000.0
# The share of a full node for a server whose need is not known.
HALF = 0.5
_USES = "as much as it uses when it does not wait"
UNKNOWN = "It waits nearly all the time, so how much CPU it needs is not known."
_UNDO = "Set resources.requests.cpu back to what it was."


def propose(snapshot: Snapshot, found: Found, named: list[Neighbour], need: float | None) -> Fix | None:
    """`need`: CPUs that the server is to get; None: not known.

    None where its request or its weight is large enough for that already.
    """
    if patches.manager(snapshot) == "kubernetes":
        return _request(snapshot, found, named, need)
    cpus = number(snapshot.node.fact("node.cpus")) or need or 1.0
    weights = [number(one.view.fact("cpu.weight")) for one in _siblings(snapshot, named)]
    beside = sum(weight for weight in weights if weight is not None)
    own = number(snapshot.subject.fact("cpu.weight"))
    share = HALF if need is None else min(0.8, need / cpus)
    weight = min(MOST_WEIGHT, share / (1 - share) * beside) if beside else min(MOST_WEIGHT, 10 * (own or 100.0))
    weight = max(1.0, round(weight))
    if own is not None and weight <= own:
        return None
    texts, undo = patches.cpu_weight(snapshot, need or 0.0, weight)
    if need is not None:
        summary = f"With it the server gets {need:g} CPU while all others want the rest: {_USES}."
    elif beside:
        summary = f"With it the server gets half of the node's CPU time while all others want the rest. {UNKNOWN}"
    else:
        summary = f"Ten times its weight of now. {UNKNOWN}"
    fix = _fix(found, f"Raise the CPU weight to {weight:g}", summary, need)
    return fix.model_copy(update={"patches": texts, "caveats": _caveats(snapshot, named), "undo": undo})


def _request(snapshot: Snapshot, found: Found, named: list[Neighbour], need: float | None) -> Fix | None:
    """A larger request: in Kubernetes the weight follows from it."""
    now, limit = cpu_requests.read(snapshot.subject, snapshot.node), quota_of(snapshot.subject)
    # A request above the limit is refused.
    wanted = need if need is None or limit is None else min(need, limit)
    caveats = [
        *_caveats(snapshot, named),
        "A larger request needs a node with that much free CPU: the scheduler can move the pod.",
    ]
    if wanted is None:
        shared = f"The kernel shares a full node by the requests.{_requests(snapshot)} {UNKNOWN}"
        fix = _fix(found, "Raise the CPU request", shared, None)
        return fix.model_copy(update={"caveats": caveats, "undo": _UNDO})
    if now is not None and wanted <= now.low:
        return None
    if need is not None and wanted < need:
        caveats.append(f"It needs {need:g} CPU, more than its limit of {limit:g} CPU: raise both to get all of it.")
    title = f"Raise the CPU request to {patches.millicpus(wanted)}"
    fix = _fix(
        found, title,
        f"With it the server gets {wanted:g} CPU while all others want the rest: {_USES}.{_requests(snapshot)}",
        need if wanted == need else None,
    )  # fmt: skip
    texts, undo = patches.cpu_weight(snapshot, wanted, 0.0)
    if now is None or wanted <= now.high:
        known = "not known" if now is None else f"between {now.low:.2g} and {now.high:.2g} CPU by its weight"
        return fix.model_copy(
            update={
                "caveats": caveats,
                "undo": undo,
                "precondition": f"Works only if the request is smaller now. It is {known}.",
            }
        )
    return fix.model_copy(update={"patches": texts, "caveats": caveats, "undo": undo})


def _requests(snapshot: Snapshot) -> str:
    """What it requests now, as a sentence; empty: only its weight is known."""
    now = cpu_requests.reported(snapshot.subject)
    if now is None:
        return ""
    return f" It requests {patches.millicpus(now)} now." if now > 0 else " It requests none now."


def _fix(found: Found, title: str, summary: str, need: float | None) -> Fix:
    """Without patches, caveats, and undo. What helps is only predicted for a known need."""
    left = None if need is None else predicted.remaining(found, "held_up", 0.0, 0.1, 0.5)
    return Fix(
        id="raise_cpu_weight",
        title=title,
        summary=summary,
        verdict="unknown" if need is None else "reduces",
        predicted=predictions(slow_ratio=left),
        verify=VERIFY,
        undo="",
        references=REFERENCES,
    )


def _siblings(snapshot: Snapshot, named: list[Neighbour]) -> list[Neighbour]:
    return [one for one in named if _parent(one.view.key) == _parent(snapshot.subject.key)]


def _caveats(snapshot: Snapshot, named: list[Neighbour]) -> list[str]:
    caveats = ["A weight matters only while the node is full: otherwise it takes nothing from others."]
    if len(_siblings(snapshot, named)) < len(named) or not named:
        caveats.append(
            "Weights compare cgroups of one parent: if the neighbor is in another part of the tree, raise the "
            f"weight of the ancestor next to it{_level(snapshot, named)}."
        )
    return caveats


def _parent(key: str) -> str:
    return os.path.dirname(key.rstrip("/"))


def _level(snapshot: Snapshot, named: list[Neighbour]) -> str:
    """Of the largest neighbor elsewhere: which ancestor of the subject stands beside it."""
    own = snapshot.subject.key.strip("/").split("/")
    for one in named:
        other = one.view.key.strip("/").split("/")
        depth = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(own, other, strict=False)))
        if depth < len(own) - 1:
            return f" (/{'/'.join(own[: depth + 1])} beside /{'/'.join(other[: depth + 1])})"
    return ""


def _raised(before: Facts, after: Facts) -> bool:
    new = number(after.get("cpu.weight"))
    # "idle" is no number: below every weight.
    return new is not None and "cpu.weight" in before and new > (number(before["cpu.weight"]) or 0.0)


FIXES = (
    FixKind(
        id="raise_cpu_weight",
        title="Raise the CPU request or weight",
        precondition="Neighbors that compete with the server for CPU, and a weight that is smaller than its need.",
        landing=Seen("The CPU weight of the container rises.", ("cpu.weight",), _raised),
        measures=MEASURES,
        lab="noisy-neighbour --apply raise_cpu_weight",
    ),
)
