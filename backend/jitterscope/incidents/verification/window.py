"""What a verification reads of one window: for any subject, only what the measures of its area need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.snapshot import Distribution, Event, FactValue, FloatArray, ResourceView, Snapshot
from jitterscope.incidents import lives
from jitterscope.incidents.scheduling import snapshots
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow, SubjectTree
from jitterscope.objectives import service as objectives
from jitterscope.series import service as series
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US

# Limits what one look reads, whatever the cgroup or the node contains.
_MOST_OF_A_KIND = 32


def read(session: Session, subject_id: int, from_us: int, to_us: int, needs: Iterable[str]) -> Snapshot | None:
    """One side of a comparison, in 100 ms ticks. `needs` are metrics, distributions, and kinds of events.

    None if the subject no longer exists or the window is empty.
    """
    tree = inventory.subject_tree(session, subject_id, from_us, to_us)
    start_us, end_us = from_us - from_us % TICK_US, to_us - to_us % TICK_US
    if tree is None or end_us <= start_us:
        return None
    wanted = frozenset(needs)
    metrics = [METRICS[name] for name in wanted if name in METRICS]
    of_node = tree.subject.id == tree.node.id
    if not of_node and any("dns_path" in metric.resources for metric in metrics):
        tree = inventory.with_dns_neighbours(session, tree, start_us, end_us)
    groups = {
        "cgroup": [
            row for row in (tree.subject, *tree.lives, *tree.ancestors, *_newest(tree.cgroups)) if row.kind == "cgroup"
        ],
        "node": [tree.node],
        "process": _newest(tree.processes),
        "dns_server": _newest(tree.dns_servers),
        "tcp_server": _newest(tree.tcp_servers),
        "tcp_upstream": _newest(tree.tcp_upstreams),
        "dns_path": _newest(tree.dns_paths),
        "probe": _newest(tree.probes),
    }
    values: dict[int, dict[str, FloatArray]] = {}
    histograms: dict[int, dict[str, Distribution]] = {}
    for kind, rows in groups.items():
        ids = [row.id for row in rows]
        plain = [one.name for one in metrics if kind in one.resources and one.kind != "distribution"]
        spread = [one.name for one in metrics if kind in one.resources and one.kind == "distribution"]
        if ids and plain:
            for (resource_id, name), array in series.read_series(session, ids, plain, start_us, end_us).items():
                values.setdefault(resource_id, {})[name] = array
        if ids and spread:
            for (resource_id, name), one in series.read_distributions(session, ids, spread, start_us, end_us).items():
                histograms.setdefault(resource_id, {})[name] = Distribution(one.tick, one.bucket, one.count)
    measured = [row.id for rows in groups.values() for row in rows]
    # Of the resources around the subject, only settings are read.
    around = [row.id for row in (*tree.neighbours, *tree.workloads)]
    facts = inventory.facts(session, [*measured, *around], start_us, end_us)
    kinds = sorted(wanted - METRICS.keys())
    events = series.read_events(session, measured, start_us, end_us, kinds) if kinds else {}

    known = objectives.in_effect(session, [row.id for kind in ("dns_server", "tcp_server") for row in groups[kind]])

    def view(row: ResourceRow) -> ResourceView:
        return ResourceView(
            id=row.id,
            kind=row.kind,
            key=row.key,
            name=row.name,
            series=values.get(row.id, {}),
            distributions=histograms.get(row.id, {}),
            facts=tuple(FactValue(fact.name, fact.value, fact.since_us) for fact in facts[row.id]),
            events=tuple(
                Event(one.kind, one.start_us, one.duration_us, one.attributes) for one in events.get(row.id, ())
            ),
            objective=known.get(row.id),
        )

    node = view(tree.node)
    return Snapshot(
        start_us=start_us,
        ticks=(end_us - start_us) // TICK_US,
        subject=node if of_node else lives.joined(view(tree.subject), map(view, tree.lives)),
        node=node,
        ancestors=tuple(map(view, tree.ancestors)),
        processes=tuple(map(view, groups["process"])),
        dns_servers=tuple(map(view, groups["dns_server"])),
        tcp_servers=tuple(map(view, groups["tcp_server"])),
        tcp_upstreams=tuple(map(view, groups["tcp_upstream"])),
        probes=tuple(map(view, groups["probe"])),
        dns_paths=tuple(map(view, groups["dns_path"])),
        neighbours=tuple(map(view, tree.neighbours)),
        workloads=tuple(map(view, tree.workloads)),
        cgroups=tuple(view(row) for row in groups["cgroup"] if row in tree.cgroups),
    )


def whole(session: Session, subject_id: int, from_us: int, to_us: int, as_of_us: int) -> Snapshot | None:
    """Everything about the workload as it was at `as_of_us`; None if the subject no longer exists.

    Of processes and servers that replaced one another, it contains the one of that time.
    """
    tree = inventory.subject_tree(session, subject_id, from_us, to_us)
    if tree is None:
        return None
    tree = replace(
        tree,
        processes=_of_time(tree.processes, as_of_us),
        dns_servers=_of_time(tree.dns_servers, as_of_us),
        tcp_servers=_of_time(tree.tcp_servers, as_of_us),
    )
    start_us, end_us = from_us - from_us % TICK_US, to_us - to_us % TICK_US
    return snapshots.read(session, tree, start_us, end_us) if end_us > start_us else None


def members(tree: SubjectTree) -> tuple[int, ...]:
    """Everything that a comparison reads."""
    rows = (
        tree.subject,
        *tree.lives,
        tree.node,
        *tree.ancestors,
        *tree.processes,
        *tree.dns_servers,
        *tree.tcp_servers,
        *tree.tcp_upstreams,
        *tree.cgroups,
    )
    return tuple(dict.fromkeys(row.id for row in rows))


def _newest(rows: tuple[ResourceRow, ...]) -> list[ResourceRow]:
    kept = {row.id for row in sorted(rows, key=lambda row: row.last_seen_us, reverse=True)[:_MOST_OF_A_KIND]}
    return [row for row in rows if row.id in kept]


def _of_time(rows: tuple[ResourceRow, ...], as_of_us: int) -> tuple[ResourceRow, ...]:
    """Excludes what came later, and what something of the same name had replaced by then."""
    there = [row for row in rows if row.first_seen_us <= as_of_us] or list(rows)
    latest: dict[str, ResourceRow] = {}
    for row in sorted(there, key=lambda row: (row.first_seen_us, row.id)):
        latest[row.name.partition(" (pid ")[0] if row.kind == "process" else row.key] = row
    return tuple(row for row in there if row in latest.values())
