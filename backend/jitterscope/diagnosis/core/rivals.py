"""Results of other causes for a window, as the rivals of a finding."""

from __future__ import annotations

from collections.abc import Mapping

from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Found, NotEnoughData, NotFound, Result, Rival
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.series.catalogue import METRICS


def silent(rival: Cause, result: NotFound | NotEnoughData) -> Rival:
    """A rival that was not found: ruled out by its numbers, or not judged."""
    if isinstance(result, NotFound):
        return Rival(
            cause=rival.id, title=rival.title, status="ruled_out", reason=result.reason, numbers=result.numbers
        )
    return Rival(cause=rival.id, title=rival.title, status="not_enough_data", reason=result.reason)


def of_rest(snapshot: Snapshot, known: Mapping[str, Cause], results: Mapping[str, Result]) -> list[Rival]:
    """All causes that judged the subject, as rivals of the residual cause; without those that do not apply to it."""
    return [
        _elsewhere(known[name], result) if isinstance(result, Found) else silent(known[name], result)
        for name, result in results.items()
        if not (isinstance(result, NotEnoughData) and _is_foreign(snapshot, known[name]))
    ]


def _elsewhere(rival: Cause, found: Found) -> Rival:
    """A rival that was found, in other stalls or without any harm."""
    if found.severity is not None or found.harm == "none":
        reason = f"It is there, and not when these answers were late: {found.title}."
        return Rival(cause=rival.id, title=rival.title, status="ruled_out", reason=reason)
    reason = f"It is there, and whom it harms was not measured: {found.title}."
    return Rival(cause=rival.id, title=rival.title, status="not_ruled_out", reason=reason)


def _is_foreign(snapshot: Snapshot, cause: Cause) -> bool:
    """Whether something that it needs is recorded by kinds of resources that the subject does not have."""
    kinds = {"node", "process", snapshot.subject.kind}
    servers = (*snapshot.dns_servers, *snapshot.tcp_servers, *snapshot.tcp_upstreams)
    views = (*servers, *snapshot.probes, *snapshot.dns_paths)
    kinds |= {view.kind for view in views}
    return not all(kinds.intersection(METRICS[name].resources) for name in cause.needs)
