"""Workloads that were scaled, from the pods that collectors saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from jitterscope.changes import scaling
from jitterscope.changes.scaling import Pod
from jitterscope.changes.types import Seen
from jitterscope.diagnosis.core.answers import REVISION
from jitterscope.diagnosis.core.settings import changed
from jitterscope.diagnosis.verification.changes import Step
from jitterscope.inventory.types import FactRow, ResourceRow
from jitterscope.kit.instant import us_of

NAME, TITLE = "workload.replicas", "Replicas"
CREATED = "workload.created_at"

Facts = Mapping[str, str]
_Container = tuple[ResourceRow, str | None]  # with its pod's revision


def seen(
    rows: Sequence[ResourceRow],
    history: Mapping[int, Sequence[FactRow]],
    nodes: Mapping[int, ResourceRow],
    from_us: int,
    to_us: int,
) -> Iterator[Seen]:
    """Changes of the number of pods of each workload; `rows` are all of its containers seen since `from_us`."""
    workloads: dict[tuple[str, str], dict[tuple[str, str], list[_Container]]] = {}
    for row in rows:
        facts = {one.name: one.value for one in history[row.id]}
        owner, created = facts.get("workload.owner", ""), facts.get(CREATED)
        is_container = row.kind == "cgroup" and bool(facts.get("workload.container"))
        if is_container and created is not None and scaling.is_scaled(owner) and row.node_id in nodes:
            # A StatefulSet gives a new pod the name of the one before it.
            pods = workloads.setdefault((facts.get("workload.namespace", ""), owner), {})
            pods.setdefault((facts.get("workload.pod", ""), created), []).append((row, facts.get(REVISION.fact)))
    for (namespace, owner), pods in workloads.items():
        name = f"{namespace}/{owner.rpartition('/')[2]}"
        rows_of = [row for found in pods.values() for row, _ in found]
        by_time = sorted(rows_of, key=lambda row: (row.first_seen_us, row.id))
        told = [_pod(at, found, nodes) for (_, at), found in pods.items()]
        for one in scaling.scalings(told, from_us, scaling.created_at_once(owner)):
            if one.at_us <= to_us:
                subject = by_time[-1]
                old, new = str(one.before), str(one.after)
                step = Step(NAME, TITLE, old, new, changed(TITLE, old, new))
                yield Seen(one.at_us, subject, nodes[subject.node_id], name, False, 1, (step,))


def _pod(created: str, containers: Sequence[_Container], nodes: Mapping[int, ResourceRow]) -> Pod:
    last_us = max(row.last_seen_us for row, _ in containers)
    row, revision = containers[0]
    return Pod(us_of(datetime.fromisoformat(created)), last_us, nodes[row.node_id].last_seen_us, revision)
