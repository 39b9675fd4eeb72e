"""The windows that active and pinned incidents refer to, which retention must keep."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from jitterscope.incidents.api.views import us_of
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.store import incidents
from jitterscope.incidents.verification import store as verifications
from jitterscope.incidents.verification import window
from jitterscope.inventory import service as inventory
from jitterscope.kit.allowance import borrowed
from jitterscope.series.pins import PinnedWindow

_MARGIN = timedelta(minutes=5)


def windows(session: Session) -> list[PinnedWindow]:
    """The strongest window of each active or pinned incident, with 5 min on each side, for all its neighbors."""
    result: list[PinnedWindow] = []
    for row in incidents.kept(session):
        with borrowed():
            members = _neighborhood(session, row)
        if members:
            result.append(PinnedWindow(members, us_of(row.window_from - _MARGIN), us_of(row.window_to + _MARGIN)))
    return result + _compared(session)


def _neighborhood(session: Session, row: IncidentRow) -> tuple[int, ...]:
    """Ids of an incident's subject and everything that its pages show; empty if the subject no longer exists."""
    from_us, to_us = us_of(row.window_from - _MARGIN), us_of(row.window_to + _MARGIN)
    tree = inventory.subject_tree(session, row.subject_id, from_us, to_us)
    if tree is None:
        return ()
    if tree.subject.id != tree.node.id:
        tree = inventory.with_dns_neighbours(session, tree, from_us, to_us)
        tree = inventory.with_called_servers(session, tree, from_us, to_us)
        tree = inventory.with_busiest_cgroups(session, tree, us_of(row.window_from), us_of(row.window_to))
    own = (tree.subject, *tree.lives, tree.node, *tree.ancestors, *tree.processes, *tree.dns_servers, *tree.probes)
    own = (*own, *tree.tcp_servers, *tree.tcp_upstreams, *tree.called_servers)
    return tuple(member.id for member in (*own, *tree.dns_paths, *tree.neighbours, *tree.workloads, *tree.cgroups))


def _compared(session: Session) -> list[PinnedWindow]:
    """The windows that verifications without a verdict still need for comparison."""
    result: list[PinnedWindow] = []
    for row in verifications.all_waiting(session):
        from_us, to_us = us_of(row.before_from), us_of(row.before_to)
        with borrowed():
            tree = inventory.subject_tree(session, row.before_subject_id, from_us, to_us)
        if tree is not None and from_us < to_us:
            result.append(PinnedWindow(window.members(tree), from_us, to_us))
    return result


def subjects(session: Session) -> list[int]:
    """Every resource that an incident is about, including resolved ones, and the neighbors that pinned windows show."""
    return [*incidents.subjects(session), *(identity for pin in windows(session) for identity in pin.resource_ids)]
