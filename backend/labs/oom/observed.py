"""The lab's figures, computed from what the product stored."""

from __future__ import annotations

import numpy as np

from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import TICK_US, FloatArray
from labs.oom.figures import MIB, OomFigures
from labs.oom.variants import GIVES_UP_S
from labs.servers import Server

KILL = "memory.oom_kill"
GIVES_UP_US = round(GIVES_UP_S * 1e6)


def observed(recording: Recording, server: Server, ticks: int) -> OomFigures:
    """What the product saw of the cgroup and its server in the measured window of `ticks` ticks.

    The recording begins with the window, and extends until CoreDNS has given up its last query.
    """
    subject = recording.resources[recording.subject]
    kills = np.nan_to_num(subject.series.get("memory_oom_kills", np.zeros(recording.ticks)))
    killed = np.flatnonzero(kills > 0)
    until = int(killed[0]) + 1 if killed.size else min(ticks, recording.ticks)
    usage = subject.series.get("memory_usage_bytes")
    seen = np.array([]) if usage is None else usage[:until][np.isfinite(usage[:until])]
    known = seen.size > 0
    return OomFigures(
        memory_begin_mib=float(seen[0]) / MIB if known else None,
        memory_peak_mib=max([float(seen.max()), *_killed_with_bytes(subject)]) / MIB if known else None,
        oom_kills=int(kills.sum()) if known else None,
        killed_s=_killed_s(recording, subject, until) if killed.size else None,
        fds_peak=_most(recording, "process_fds", until),
        waiting_peak=_peak(_server(recording, server), "dns_inflight", until),
        refused_share=_share(_server(recording, server), "dns_refused", until),
        servfail_share=_servfail_share(_server(recording, server), until),
    )


def _killed_s(recording: Recording, subject: RecordedResource, until: int) -> float:
    """By the kernel's record of the kill if there is one, otherwise by the tick in which its counter rose."""
    told = [event.start_us for event in subject.events if event.kind == KILL]
    at_us = min(told, default=recording.start_us + until * TICK_US)
    return round((at_us - recording.start_us) / 1e6, 3)


def _killed_with_bytes(subject: RecordedResource) -> list[float]:
    """What each killed process held, by the kernel's record: memory can grow a lot after the last sample."""
    told = [event.attributes for event in subject.events if event.kind == KILL]
    return [sum(float(one.get(f"{kind}_bytes", 0)) for kind in ("anon", "shmem")) for one in told]


def _server(recording: Recording, server: Server) -> RecordedResource | None:
    return next((one for one in recording.resources if one.kind == "dns_server" and one.key == server.key), None)


def _most(recording: Recording, metric: str, until: int) -> int | None:
    """The value of the process in the subject that has the most."""
    own = [one for one in recording.resources if one.kind == "process" and one.parent == recording.subject]
    return max((peak for one in own if (peak := _peak(one, metric, until)) is not None), default=None)


def _peak(resource: RecordedResource | None, metric: str, until: int) -> int | None:
    series = None if resource is None else resource.series.get(metric)
    if series is None or not np.isfinite(series[:until]).any():
        return None
    return int(np.nanmax(series[:until]))


def _servfail_share(server: RecordedResource | None, until: int) -> float | None:
    """Of the queries until then, also those whose SERVFAIL came after they counted as lost."""
    in_time = _share(server, "dns_servfail", until)
    if server is None or in_time is None:
        return in_time
    after = GIVES_UP_US // TICK_US
    late = server.series.get("dns_late_servfail", np.zeros(until))[after : after + until]
    return in_time + float(np.nansum(late) / np.nansum(server.series["dns_queries"][:until]))


def _share(server: RecordedResource | None, metric: str, until: int) -> float | None:
    """Share of the queries until then."""
    if server is None or "dns_queries" not in server.series:
        return None
    queries: FloatArray = server.series["dns_queries"][:until]
    counted = server.series.get(metric, np.zeros(queries.size))[:until]
    return float(np.nansum(counted) / np.nansum(queries)) if np.nansum(queries) else None
