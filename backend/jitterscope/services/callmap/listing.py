"""The map of a window: its calls with their figures, and what is known about the places at their ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.incidents.api import queries
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.services import figures as served
from jitterscope.services.callmap import figures, graph, paths, places
from jitterscope.services.callmap.figures import Call
from jitterscope.services.callmap.paths import Path
from jitterscope.services.callmap.places import Cgroups, Place
from jitterscope.services.figures import Figures, Watched

# More than that is no picture: the calls with the most slow ones come first, then the most frequent.
MAX_CALLS, MAX_PLACES = 150, 60

Quantiles = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`span`: whole minutes, µs. `text` is ignored around a place."""

    span: tuple[int, int]
    text: str
    around: ResourceRow | None
    hops: int


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about a place. `members`: containers that call or are called, or addresses of clients.

    `workloads`: what is behind a Service.

    `slow_ratio`: of the requests to its own servers. `throttled_ms_per_min`: of the container that is throttled most.
    """

    place: Place
    opens: ResourceRow | None
    node: ResourceRow | None
    members: int
    workloads: list[str]
    slow_ratio: float | None
    throttled_ms_per_min: float | None
    incidents: list[IncidentRef]


@dataclass(frozen=True, slots=True)
class CallMap:
    """Of `places_found` places and `calls_found` calls, those that are shown; of `seen` paths, `read` were compared."""

    center: Place | None
    places: list[Known]
    calls: list[tuple[Call, Quantiles]]
    places_found: int
    calls_found: int
    read: int
    seen: int


def read(session: Session, wanted: Wanted) -> CallMap:
    """The calls of a window, of an organization or around a place."""
    found = paths.read(session, *wanted.span)
    center = None if wanted.around is None else _center(session, wanted.around)
    if wanted.around is None:
        calls = figures.read(session, _containing(session, found.paths, wanted.text), *wanted.span)
    elif center is None:
        calls = []
    else:
        # Twice: paths without calls lead nowhere, but only their series show which those are.
        centers = {center.id} | {path.called.id for path in found.paths if center in path.behind}
        near = graph.around(found.paths, centers, wanted.hops)
        calls = graph.around(figures.read(session, near, *wanted.span), centers, wanted.hops)
    calls.sort(key=lambda call: (-(call.slow or 0.0), -call.calls, call.caller.id, call.called.id, call.protocol))
    shown = graph.shown(calls, MAX_CALLS, MAX_PLACES)
    return CallMap(
        center=center,
        places=_places(session, shown, wanted.span),
        calls=[(call, figures.quantiles(session, call, *wanted.span)) for call in shown],
        places_found=len(graph.places_of(calls)),
        calls_found=len(calls),
        read=found.read,
        seen=found.seen,
    )


def _center(session: Session, row: ResourceRow) -> Place | None:
    home = inventory.owning_cgroup(session, row.id)
    if home is not None:
        return Cgroups.read(session, [home.id]).place(home.id)
    return places.of_server(row) if row.kind == "dns_server" else None


def _containing(session: Session, found: Sequence[Path], text: str) -> Sequence[Path]:
    """Paths whose ends, or node, contain a text."""
    if not text:
        return found
    nodes = inventory.resources_to_show(session, sorted({path.row.node_id for path in found}))

    def said(path: Path) -> Iterable[str]:
        for place in (path.caller, path.called):
            yield f"{place.namespace or ''}/{place.name}"
        yield path.row.key
        yield "" if path.server is None else path.server.name
        yield path.service or ""
        yield from (place.name for place in path.behind)
        yield nodes[path.row.node_id].name if path.row.node_id in nodes else ""

    return [path for path in found if any(text.lower() in one.lower() for one in said(path))]


def _places(session: Session, shown: Sequence[Call], span: tuple[int, int]) -> list[Known]:
    homes = _homes(shown)
    of_cgroup = {cgroup: place for place, cgroups in homes.items() for cgroup in cgroups}
    cgroups = inventory.resources(session, sorted(of_cgroup))
    watched = _watched(session, shown, sorted(of_cgroup), span)
    measured = dict(served.read(session, [one for _, one in watched.values()], *span))
    incidents = queries.active_on(session, sorted(of_cgroup))
    nodes = inventory.resources_to_show(session, sorted({row.node_id for row in cgroups.values()}))
    elsewhere = {call.called.id: call.opens for call in shown}
    result: list[Known] = []
    for place in graph.places_of(shown).values():
        containers = [cgroups[one] for one in sorted(homes[place.id]) if one in cgroups]
        own = [(row, measured[row.id]) for row, one in watched.values() if _place_of(one, of_cgroup) == place.id]
        on = {row.node_id for row in containers}
        result.append(
            Known(
                place=place,
                opens=_opens(own, containers) or elsewhere.get(place.id),
                node=nodes.get(next(iter(on))) if len(on) == 1 else None,
                members=len(containers) or _clients(shown, place),
                workloads=_behind(shown, place),
                slow_ratio=_slow_ratio([one for _, one in own]),
                throttled_ms_per_min=max(
                    (one.throttled_ms_per_min for _, one in own if one.throttled_ms_per_min is not None), default=None
                ),
                incidents=list({one.id: one for row in containers for one in incidents.get(row.id, ())}.values()),
            )
        )
    return result


def _homes(shown: Sequence[Call]) -> dict[str, set[int]]:
    """The containers of each place that call or are called."""
    homes: dict[str, set[int]] = {one: set() for one in graph.places_of(shown)}
    for path in (path for call in shown for path in call.paths):
        homes[path.called.id].update(path.called_cgroups)
        if path.caller_cgroup is not None:
            homes[path.caller.id].add(path.caller_cgroup)
    return homes


def _watched(
    session: Session, shown: Sequence[Call], cgroup_ids: Sequence[int], span: tuple[int, int]
) -> dict[int, tuple[ResourceRow, Watched]]:
    """The servers of the places, by id."""
    alone = (path.server for call in shown for path in call.paths if not path.called_cgroups)
    rows: dict[int, tuple[ResourceRow, int | None]] = {row.id: (row, None) for row in alone if row is not None}
    rows.update({row.id: (row, home) for home, row in inventory.servers_within(session, cgroup_ids, *span)})
    return {one: (row, Watched(one, row.kind, row.node_id, home)) for one, (row, home) in rows.items()}


def _place_of(server: Watched, of_cgroup: Mapping[int, str]) -> str:
    return f"server:{server.id}" if server.cgroup_id is None else of_cgroup[server.cgroup_id]


def _opens(own: Sequence[tuple[ResourceRow, Figures]], containers: Sequence[ResourceRow]) -> ResourceRow | None:
    """Its busiest server, or the container seen last."""
    if own:
        return max(own, key=lambda one: (one[1].requests_per_s or 0.0, one[0].last_seen_us, -one[0].id))[0]
    return max(containers, key=lambda row: (row.last_seen_us, -row.id), default=None)


def _slow_ratio(own: Sequence[Figures]) -> float | None:
    known = [(one.requests_per_s, one.slow_ratio) for one in own if one.requests_per_s and one.slow_ratio is not None]
    total = sum(rate for rate, _ in known)
    return sum(rate * ratio for rate, ratio in known) / total if total else None


def _behind(shown: Sequence[Call], place: Place) -> list[str]:
    found = {one.name for call in shown if call.called == place for path in call.paths for one in path.behind}
    return sorted(found) if place.kind == "service" else []


def _clients(shown: Sequence[Call], place: Place) -> int:
    addresses = {paths.client(path.row) for call in shown if call.caller == place for path in call.paths}
    return len(addresses) if place.kind == "clients" else 0
