"""How a finding of a disk that makes a server wait reads."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from jitterscope.diagnosis.areas.io.readings.disks import Disk, disk_users
from jitterscope.diagnosis.areas.io.readings.limits import IoLimit
from jitterscope.diagnosis.areas.io.readings.stalls import DiskStall
from jitterscope.diagnosis.core import held_up, references
from jitterscope.diagnosis.core import impact as of
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.blocked import BLOCKED_MS, IN_IO
from jitterscope.diagnosis.core.finding import Evidence, Impact, SeriesRef
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.held_up import HeldUp
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.served import metric, not_timed
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot


def extent(snapshot: Snapshot, stall: DiskStall) -> tuple[int, int]:
    """Begin and end (µs) of the time in which threads were blocked."""
    ticks = np.flatnonzero(stall.blocked.hot)
    step = snapshot.step_us
    return snapshot.start_us + int(ticks[0]) * step, snapshot.start_us + (int(ticks[-1]) + 1) * step


def rate(limit: IoLimit, value: float) -> str:
    """ "1.0 MiB/s", "448 KiB/s", "40 writes/s"."""
    if not limit.of_bytes:
        return f"{value:,.0f} {'writes' if limit.writes else 'reads'}/s"
    mebibytes = value / (1 << 20)
    if mebibytes < 1:
        return f"{value / 1024:,.0f} KiB/s"
    return f"{mebibytes:,.1f} MiB/s" if mebibytes < 100 else f"{mebibytes:,.0f} MiB/s"


def amount(limit: IoLimit, value: float) -> str:
    """ "1.6 MiB", "40 writes"."""
    if not limit.of_bytes:
        return say.count(value, "write" if limit.writes else "read")
    return say.mebibytes(value)


def disk_name(disk: Disk) -> str:
    return f"the disk {disk.name}" if disk.name else "the node's busiest disk"


def title(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm) -> str:
    late = f"takes up to {hurt.max_ms:,.0f} ms to answer" if hurt.max_ms else "waits for a disk"
    return f"{say.who(snapshot)} {late}: {_why(stall)}"


def _why(stall: DiskStall) -> str:
    limit, disk = stall.limit, stall.disk
    if stall.why == "limit" and limit is not None:
        what = "writes" if limit.writes else "reads"
        return f"its limit of {rate(limit, limit.per_s)} on {limit.device} throttles {what}"
    assert disk is not None
    took = f" takes {say.ms(disk.request_us)} per request" if np.isfinite(disk.request_us) else " is slow"
    return f"{disk_name(disk)}{took} and is busy {say.percent(disk.busy)} of the time"


def summary(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm) -> str:
    served = hurt.served
    harmed = (
        f"{hurt.inside:,} of {hurt.queries:,.0f} {served.noun} took {hurt.over} while its threads were blocked."
        f"{lateness.allowance(hurt.limits)}"
        if hurt.timed
        else not_timed(served)
    )
    blocked = f"Threads were blocked in the kernel for {say.seconds(stall.blocked.hot_us)}, added up."
    if stall.why == "limit" and stall.limit is not None:
        whose = "" if stall.limit.owner is snapshot.subject else f" of {stall.limit.owner.key}"
        return (
            f"{harmed} {blocked} For {say.percent(stall.held)} of that time the I/O limit{whose} on "
            f"{stall.limit.device} throttled requests. A faster disk does not help."
        )
    disk = stall.disk
    assert disk is not None
    who = "Which disk the server uses is not known: this is the busiest disk of the node. " if not disk.own else ""
    shared = (
        f"Others read or wrote {say.percent(1 - disk.own_share)} of the bytes." if disk.own_share is not None else ""
    )
    return f"{harmed} {blocked} {who}{shared}".strip()


def impact(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm) -> Impact:
    told = {BLOCKED_MS: float(np.nansum(stall.blocked.waited_us)) / 1000} if stall.blocked.source == "blocked" else {}
    return of.of_harm(snapshot, hurt) | of.of_cpu(snapshot) | impact_of(told)


def refs(snapshot: Snapshot, stall: DiskStall, views: Iterable[ResourceView], *metrics: str) -> list[SeriesRef]:
    """Those of the metrics that the views recorded, over the time in which threads were blocked."""
    return references.recorded(extent(snapshot, stall), views, *metrics)


def evidence(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm, held: HeldUp) -> list[Evidence]:
    return [_blocked(snapshot, stall), *_held(snapshot, stall, hurt, held), *_limit(snapshot, stall),
            *_disk(snapshot, stall), *_others(snapshot, stall)]  # fmt: skip


def _blocked(snapshot: Snapshot, stall: DiskStall) -> Evidence:
    blocked = stall.blocked
    whose = "Threads blocked in the kernel (state D)" if blocked.source == "blocked" else "Some task waited for I/O"
    in_io = blocked.in_io
    return Evidence(
        id="blocked",
        statement=f"{whose}, in ticks with over 10 ms of it",
        value=say.seconds(blocked.hot_us),
        comparison=f"{say.percent(in_io)} in I/O itself, the rest in file system locks and journals"
        if in_io is not None and blocked.source == "blocked"
        else f"in {int(blocked.hot.sum()):,} ticks",
        numbers={"blocked_us": blocked.hot_us, "ticks": float(blocked.hot.sum())}
        | ({"in_io": in_io} if in_io is not None else {}),
        series=refs(snapshot, stall, blocked.views, blocked.metric, IN_IO),
    )


def _held(snapshot: Snapshot, stall: DiskStall, hurt: AnswersHarm, held: HeldUp) -> list[Evidence]:
    if not held.of:
        return []
    return [
        Evidence(
            id="held_up",
            statement=f"Late answers during which threads were blocked for at least {say.percent(held_up.HELD_UP)} of "
            "the time",
            value=f"{held.hits:,} of {held.of:,}",
            comparison=held.by_dose_words if held.by_dose else held.contrast,
            numbers=held.numbers,
            series=[
                one
                for server in hurt.served.servers
                for one in refs(snapshot, stall, [server], metric(server, "slow"))
            ],
        )
    ]  # fmt: skip


def _limit(snapshot: Snapshot, stall: DiskStall) -> list[Evidence]:
    limit = stall.limit
    if limit is None:
        return []
    most = limit.most_per_s(snapshot.step_us)
    return [
        Evidence(
            id="io_limit",
            statement=f"Share of the blocked time in which the I/O limit of {rate(limit, limit.per_s)} on "
            f"{limit.device} throttled requests",
            value=say.percent(stall.held),
            comparison=f"{rate(limit, most)} in the busiest second",
            numbers={"held": stall.held, "limit_per_s": limit.per_s, "most_per_s": most},
            series=refs(snapshot, stall, [limit.owner], limit.metric),
        )
    ]


def _disk(snapshot: Snapshot, stall: DiskStall) -> list[Evidence]:
    disk = stall.disk
    if disk is None:
        return []
    known = {"busy": disk.busy, "requests": disk.requests, "request_us": disk.request_us, "calm_us": disk.calm_us}
    took = say.ms(disk.request_us) if np.isfinite(disk.request_us) else "no requests"
    return [
        Evidence(
            id="disk",
            statement=f"Mean time per request on {disk_name(disk)} meanwhile, excluding time held back by a limit",
            value=took,
            comparison=f"busy {say.percent(disk.busy)} of that time"
            + (f", {say.ms(disk.calm_us)} per request otherwise" if np.isfinite(disk.calm_us) else ""),
            numbers={name: value for name, value in known.items() if np.isfinite(value)},
            series=refs(snapshot, stall, [disk.view], "disk_busy_us", "disk_request_us", "disk_requests"),
        )
    ]


def _others(snapshot: Snapshot, stall: DiskStall) -> list[Evidence]:
    disk = stall.disk
    if stall.why != "disk" or disk is None or disk.own_share is None:
        return []
    users = disk_users(snapshot, disk, stall.blocked.hot)[:3]
    names = ", ".join(
        f"{one.view.fact('workload.container') or one.view.key} {say.mebibytes(one.bytes_)}" for one in users
    )
    return [
        Evidence(
            id="disk_share",
            statement=f"Share of the bytes on {disk_name(disk)} meanwhile that others read or wrote",
            value=say.percent(1 - disk.own_share),
            comparison=names or None,
            numbers={"own_share": disk.own_share} | {f"bytes_{at}": one.bytes_ for at, one in enumerate(users)},
            series=refs(
                snapshot, stall, [snapshot.subject, *(one.view for one in users)],
                "disk_bytes", "disk_read_bytes", "disk_written_bytes",
            ),
        )
    ]  # fmt: skip
