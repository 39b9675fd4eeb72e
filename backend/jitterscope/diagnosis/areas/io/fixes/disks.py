"""Fixes for a disk that is slow or that others keep busy."""

from __future__ import annotations

import shlex

import numpy as np

from jitterscope.diagnosis.areas.io.fixes.limits import totals
from jitterscope.diagnosis.areas.io.fixes.measures import CGROUP, MEASURES, VERIFY
from jitterscope.diagnosis.areas.io.readings.disks import disk_users
from jitterscope.diagnosis.areas.io.readings.stalls import DiskStall
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.area import NEIGHBOUR
from jitterscope.diagnosis.core.finding import Fix, Found, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, changed
from jitterscope.diagnosis.core.snapshot import Snapshot

VOLUMES = "https://kubernetes.io/docs/concepts/storage/storage-classes/"
# An other cgroup with this share of the bytes is worth a limit.
MOST_OF_IT = 0.5
_NEIGHBOUR_LIMITS = f"{NEIGHBOUR}disk.limits"


def faster(snapshot: Snapshot, found: Found, stall: DiskStall) -> Fix | None:
    disk = stall.disk
    if disk is None:
        return None
    base = {"id": "faster_disk", "verify": VERIFY, "undo": "Move the data back.", "references": [VOLUMES]}
    if stall.why == "limit":
        return Fix(
            **base,
            title="Use a faster disk",
            summary="Cannot help: the I/O limit makes requests wait before they reach the disk, and it lets as much "
            "pass on any disk.",
            verdict="cannot_help",
        )
    took = f"{say.ms(disk.request_us)} per request" if np.isfinite(disk.request_us) else "no request finished"
    platters = snapshot.subject.fact("disk.rotational") == "1" if disk.own else False
    which = "a hard disk" if platters else f"{say.percent(disk.busy)} busy ({took})"
    return Fix(
        **base,
        title="Use a dedicated disk or a faster class",
        summary=f"The disk is {which}. A local SSD, or a volume with more throughput and IOPS, answers faster. A "
        "dedicated volume has no queue shared with others.",
        verdict="reduces",
        precondition="Works only if the data can be moved and a faster class of disk or volume is available.",
        caveats=[
            "Cloud volumes are limited by their size or class, and by the instance too: raise the limit that is "
            "reached.",
            *(
                []
                if disk.own
                else ["Check first that this is the server's disk: only the busiest disk of the node is known."]
            ),
        ],
    )


def limit_other(snapshot: Snapshot, found: Found, stall: DiskStall) -> Fix | None:
    """A limit for another cgroup that did most of the I/O on the same disk."""
    disk = stall.disk
    if stall.why != "disk" or disk is None or not disk.is_shared:
        return None
    users = disk_users(snapshot, disk, stall.blocked.hot)
    whole = sum(one.bytes_ for one in users)
    if not users or users[0].bytes_ < MOST_OF_IT * whole:
        return None
    first = users[0].view
    name = first.fact("workload.container") or first.key
    seconds = max(0.1, float(stall.blocked.hot.sum()) * snapshot.step_us / 1e6)
    per_s = max(1 << 20, int(users[0].bytes_ / seconds / 4) // (1 << 20) * (1 << 20))
    second = snapshot.node.fact("node.cgroup_version") == "2"
    # The name of a unit may hold a backslash.
    target = shlex.quote(
        f"/sys/fs/cgroup{first.key}/io.max"
        if second
        else f"/sys/fs/cgroup/blkio{first.key}/blkio.throttle.write_bps_device"
    )
    device = f"$(cat /sys/class/block/{disk.name}/dev)"
    text = f'echo "{device} wbps={per_s} rbps={per_s}" > {target}' if second else f'echo "{device} {per_s}" > {target}'
    return Fix(
        id="limit_disk_neighbour",
        title=f"Limit {name} to {per_s / (1 << 20):,.0f} MiB/s on {disk.name}",
        summary=f"{name} read and wrote {say.mebibytes(users[0].bytes_)} while the server waited. A quarter of that "
        "rate leaves the disk to the server most of the time.",
        verdict="reduces",
        patches=[Patch(label="On the node, as root, until the cgroup is created again", language="shell", text=text)],
        caveats=[
            f"{name} becomes slower, and data that it has to write can pile up in memory.",
            *(["Under cgroup v1 the limit does not apply to what the kernel writes back later."] if not second else []),
            *(["Kubernetes itself sets no I/O limits."] if patches.manager(snapshot) == "kubernetes" else []),
        ],
        verify=VERIFY,
        undo=f"Remove the I/O limit of {name}.",
        references=[CGROUP],
    )


def _other_disk(before: Facts, after: Facts) -> bool:
    return "disk.device" in before and "disk.device" in after and changed(before, after, "disk.device")


def _limited(before: Facts, after: Facts) -> bool:
    """A limit is lower or new, and none is higher or gone."""
    old, new = totals(before, _NEIGHBOUR_LIMITS), totals(after, _NEIGHBOUR_LIMITS)
    if old is None or new is None or old == new:
        return False
    return all(key in new and new[key] <= value for key, value in old.items())


FIXES = (
    FixKind(
        id="faster_disk",
        title="Use a dedicated disk or a faster class",
        precondition="The disk itself is slow or crowded.",
        landing=Seen("The container uses another disk.", ("disk.device", "disk.rotational"), _other_disk),
        measures=MEASURES,
    ),
    FixKind(
        id="limit_disk_neighbour",
        title="Limit the I/O of a neighbor",
        precondition="Another container that does most of the I/O on the disk and can run slower.",
        landing=Seen(
            "An I/O limit of a neighbor that the evidence names falls, or it gets one.", (_NEIGHBOUR_LIMITS,), _limited
        ),
        measures=MEASURES,
    ),
)
