"""The part of a whole snapshot that is read for signs: see core/signs.py of the diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jitterscope.diagnosis.core.snapshot import Event, ResourceView, Snapshot


def narrow(snapshot: Snapshot, reads: Iterable[str]) -> Snapshot:
    """The part of a whole snapshot that is read for signs."""
    names = set(reads)

    def view(one: ResourceView, *, whole: bool = True) -> ResourceView:
        return replace(
            one,
            series={name: values for name, values in one.series.items() if name in names},
            distributions={name: found for name, found in one.distributions.items() if name in names and whole},
            facts=one.facts if whole else (),
            events=(),
            queries=None,
        )

    of_node = snapshot.subject.kind == "node"
    views = (snapshot.node, *snapshot.cgroups, *snapshot.processes) if of_node else ()
    kinds = {event.kind: event.start_us for one in views for event in one.events if event.kind in names}
    node = replace(view(snapshot.node), events=tuple(Event(kind, at_us) for kind, at_us in kinds.items()))
    return Snapshot(
        start_us=snapshot.start_us,
        ticks=snapshot.ticks,
        step_us=snapshot.step_us,
        subject=node if of_node else view(snapshot.subject),
        node=node,
        ancestors=tuple(map(view, snapshot.ancestors)),
        processes=() if of_node else tuple(view(one, whole=False) for one in snapshot.processes),
        dns_servers=() if of_node else tuple(map(view, snapshot.dns_servers)),
        tcp_servers=() if of_node else tuple(map(view, snapshot.tcp_servers)),
        neighbours=() if of_node else tuple(view(one, whole=False) for one in snapshot.neighbours),
    )
