"""Reads a recording from the database: cgroups with all their neighbors, in one window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.captures import service as captures
from jitterscope.errors import Problem, not_found
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.recordings.model import RecordedCapture, RecordedResource, Recording
from jitterscope.series import service as series
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US, ZOOM_STEP_US, FloatArray, StoredDistribution

MAX_WINDOW_US = 3600 * 1_000_000
MAX_RESOURCES = 2_000
# The maximum of a batch, so that an immediate replay can send them.
MAX_CAPTURES = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """What a recording covers: resources, the node first and parents before children, in [from_us, to_us).

    Measurements are not read yet: `part` does that, for as much time as fits into memory.
    """

    from_us: int
    to_us: int
    subject: int
    rows: tuple[ResourceRow, ...]
    measured: tuple[ResourceRow, ...]

    @property
    def ticks(self) -> int:
        return (self.to_us - self.from_us) // TICK_US


def capture(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int,
    labels: Mapping[str, str] | None = None,
) -> Recording:
    """Everything stored of the given resources and their neighbors, in one piece. Raises Problem."""
    planned = plan(session, resource_ids, from_us, to_us)
    return part(session, planned, planned.from_us, planned.to_us, labels)


def plan(session: Session, resource_ids: Sequence[int], from_us: int, to_us: int) -> Plan:
    """What a recording of the given resources and their neighbors covers.

    A cgroup includes its ancestors, processes, servers, and probes, and the other cgroups that used the most CPU; a
    process or server includes its cgroup; a node includes what its diagnosis reads. A DNS server includes its clients,
    its neighbors on the path with their processes and cgroups, and facts of the workloads that query DNS. All must be
    of one node. The first one's cgroup, or the node, is the subject. Raises Problem.
    """
    from_us -= from_us % TICK_US
    to_us += -to_us % TICK_US
    if not 0 < to_us - from_us <= MAX_WINDOW_US:
        raise Problem(
            422, "invalid-window", "Invalid window", "A recording covers at most 1 h.", "Choose a shorter window."
        )
    rows, facts_only, subject_id = _members(session, resource_ids, from_us, to_us)
    ordered = tuple(_parents_first(rows))
    subject = next(number for number, row in enumerate(ordered) if row.id == subject_id)
    return Plan(from_us, to_us, subject, ordered, tuple(row for row in ordered if row.id not in facts_only))


def part(
    session: Session, planned: Plan, from_us: int, to_us: int, labels: Mapping[str, str] | None = None
) -> Recording:
    """Everything stored of the plan's resources in a part of its time, with 10 ms ticks if there are any."""
    index = {row.id: number for number, row in enumerate(planned.rows)}
    ids = list(index)
    node = planned.rows[0]
    values = _series(session, planned.measured, from_us, to_us, TICK_US)
    zoomed = _series(session, planned.measured, from_us, to_us, ZOOM_STEP_US)
    names = [metric.name for metric in METRICS.values() if metric.kind == "distribution"]
    found = series.read_distributions(session, [row.id for row in planned.measured], names, from_us, to_us)
    histograms: dict[int, dict[str, StoredDistribution]] = {}
    for (resource_id, name), one in found.items():
        histograms.setdefault(resource_id, {})[name] = one
    facts = inventory.facts(session, ids, from_us, to_us)
    events = series.read_events(session, ids, from_us, to_us)
    servers = [row.id for row in planned.rows if row.kind in ("dns_server", "tcp_server", "tcp_upstream")]
    queries = series.read_queries(session, servers, from_us, to_us) if servers else {}
    return Recording(
        start_us=from_us,
        ticks=(to_us - from_us) // TICK_US,
        subject=planned.subject,
        resources=tuple(
            RecordedResource(
                kind=row.kind,
                key=row.key,
                name=row.name,
                # A parent that is not part of the recording: attach it to the node.
                parent=index.get(row.parent_id or node.id, 0),
                series=values.get(row.id, {}),
                zoomed=zoomed.get(row.id, {}),
                distributions=histograms.get(row.id, {}),
                facts=facts.get(row.id, ()),
                events=tuple(events.get(row.id, ())),
                queries=queries.get(row.id),
            )
            for row in planned.rows
        ),
        sources=tuple(inventory.sources(session, node.id)),
        captures=tuple(_captures(session, planned, index, from_us, to_us)),
        labels=labels or {},
    )


def _captures(
    session: Session, planned: Plan, index: Mapping[int, int], from_us: int, to_us: int
) -> Iterator[RecordedCapture]:
    """Captures of the plan's window that are sent in a part of it: with the data of their end."""

    def ends_here(end_us: int) -> bool:
        return from_us <= min(max(end_us, planned.from_us), planned.to_us - 1) < to_us

    found = captures.contents(session, list(index), planned.from_us, planned.to_us, MAX_CAPTURES, ends_here)
    for resource_id, content in found:
        yield RecordedCapture(index[resource_id], content)


def _members(
    session: Session, resource_ids: Sequence[int], from_us: int, to_us: int
) -> tuple[dict[int, ResourceRow], set[int], int]:
    """Recorded resources by id; which of them only have facts; the subject's id."""
    rows: dict[int, ResourceRow] = {}
    workloads: dict[int, ResourceRow] = {}
    subject_id: int | None = None
    for resource_id in resource_ids:
        resource = inventory.resource(session, resource_id)
        if resource is None:
            raise not_found("resource", resource_id)
        subject = inventory.owning_subject(session, resource_id)
        tree = None if subject is None else inventory.subject_tree(session, subject.id, from_us, to_us)
        if subject is None or tree is None:
            raise Problem(
                422,
                "no-cgroup",
                "Cannot be recorded",
                f"Resource {resource_id} is not in a cgroup. A recording covers nodes, cgroups, and what runs in them.",
                "Name nodes, cgroups, processes, or DNS servers.",
            )
        subject_id = subject_id or subject.id
        if subject.kind != "node":
            tree = inventory.with_dns_neighbours(session, tree, from_us, to_us)
            tree = inventory.with_called_servers(session, tree, from_us, to_us)
            tree = inventory.with_busiest_cgroups(session, tree, from_us, to_us)
        own = (tree.node, *tree.ancestors, tree.subject, *tree.processes, *tree.dns_servers, *tree.probes)
        others = (*tree.neighbours, *tree.cgroups, *tree.called_servers)
        around = [row for one in others for row in inventory.ancestors(session, one.id)]
        for row in (*own, *tree.tcp_servers, *tree.tcp_upstreams, *tree.dns_paths, *others, *around):
            rows[row.id] = row
        workloads |= {row.id: row for row in tree.workloads}
    if subject_id is None:
        raise Problem(422, "nothing-to-record", "Nothing to record", "No resource was given.", "Name at least one.")
    facts_only = workloads.keys() - rows.keys()
    rows = workloads | rows
    if len({row.node_id for row in rows.values()}) > 1:
        raise Problem(422, "two-nodes", "Several nodes", "A recording covers one node.", "Record each node separately.")
    if len(rows) > MAX_RESOURCES:
        raise Problem(422, "too-much", "Too much", f"{len(rows)} resources; at most {MAX_RESOURCES}.", "Name fewer.")
    return rows, facts_only, subject_id


def _parents_first(rows: Mapping[int, ResourceRow]) -> list[ResourceRow]:
    """The node first, every resource after its parent."""
    ordered: list[ResourceRow] = []
    placed: set[int] = set()

    def place(row: ResourceRow) -> None:
        if row.id in placed:
            return
        placed.add(row.id)  # before its parent: a cycle ends here
        parent = rows.get(row.parent_id or 0)
        if parent is not None:
            place(parent)
        ordered.append(row)

    for row in sorted(rows.values(), key=lambda one: (one.kind != "node", one.id)):
        place(row)
    return ordered


def _series(
    session: Session, rows: Sequence[ResourceRow], from_us: int, to_us: int, step_us: int
) -> dict[int, dict[str, FloatArray]]:
    result: dict[int, dict[str, FloatArray]] = {}
    for kind in {row.kind for row in rows}:
        ids = [row.id for row in rows if row.kind == kind]
        names = [one.name for one in METRICS.values() if kind in one.resources and one.kind != "distribution"]
        for (resource_id, name), array in series.read_series(session, ids, names, from_us, to_us, step_us).items():
            result.setdefault(resource_id, {})[name] = array
    return result
