"""Every container of a window by its worst 100 ms, and how many of them have their answers timed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.containers import figures, listing
from jitterscope.containers.listing import Entry, Wanted
from jitterscope.diagnosis.core.served import METRICS
from jitterscope.inventory import service as inventory
from jitterscope.series import service as series

# Servers that are checked for timed answers.
_MAX_SERVERS = 2000
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Glance:
    """`shown`: those with the worst tick first, of all `compared`; `worst_ticks` by container, if ticks are kept."""

    shown: list[Entry]
    worst_ticks: dict[int, int]
    found: int
    compared: int
    throttled: int
    unmeasured: int
    timed: int
    timed_is_least: bool


def read(session: Session, span: tuple[int, int], most: int) -> Glance:
    """The containers of a window of whole minutes (µs), with at most `most` of them shown."""
    entries, found = listing.everything(session, Wanted(span, "", None, gone=False, every=False, throttled=False))
    shown = listing.worst_first(entries)[:most]
    timed, is_least = _timed(session, {one.row.id for one in entries}, span)
    return Glance(
        shown=shown,
        worst_ticks=figures.worst_ticks(session, {one.row.id: one.figures for one in shown}),
        found=found,
        compared=len(entries),
        throttled=sum(one.figures.worst_us is not None for one in entries),
        unmeasured=sum(one.figures.throttled_us is None for one in entries),
        timed=timed,
        timed_is_least=is_least,
    )


def _timed(session: Session, containers: Collection[int], span: tuple[int, int]) -> tuple[int, bool]:
    """How many of the containers have a server whose answers were recorded, and whether there may be more."""
    servers, found = inventory.servers(session, "", *span, _MAX_SERVERS)
    metrics = sorted(METRICS["answers"].values())
    recorded: set[int] = set()
    for at in range(0, len(servers), _AT_ONCE):
        part = [one.resource.id for one in servers[at : at + _AT_ONCE]]
        recorded |= {resource_id for resource_id, _ in series.read_minutes(session, part, metrics, *span)}
    homes = inventory.owning_subjects(session, sorted(recorded))
    return len(set(homes.values()) & set(containers)), found > len(servers)
