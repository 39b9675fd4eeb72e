"""Fix: a higher I/O limit, where the server's own one holds it back."""

from __future__ import annotations

import json
import math
import shlex

from jitterscope.diagnosis.areas.io.causes._report import amount, rate
from jitterscope.diagnosis.areas.io.fixes.measures import CGROUP, MEASURES, VERIFY
from jitterscope.diagnosis.areas.io.readings.limits import IoLimit, Kind
from jitterscope.diagnosis.areas.io.readings.stalls import DiskStall
from jitterscope.diagnosis.core import patches, predicted
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Found, Patch, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "raise_io_limit"
# By kind: the file of v1, the key of v2, the property of systemd.
_FILES: dict[Kind, tuple[str, str, str]] = {
    "read_bytes_per_s": ("blkio.throttle.read_bps_device", "rbps", "IOReadBandwidthMax"),
    "write_bytes_per_s": ("blkio.throttle.write_bps_device", "wbps", "IOWriteBandwidthMax"),
    "reads_per_s": ("blkio.throttle.read_iops_device", "riops", "IOReadIOPSMax"),
    "writes_per_s": ("blkio.throttle.write_iops_device", "wiops", "IOWriteIOPSMax"),
}
MIB = 1 << 20
# Twice the limit as a first step, where the demand itself is not seen.
STEP = 2.0
# What was asked for in the fullest slice, and a quarter more.
MARGIN = 1.25


def propose(snapshot: Snapshot, found: Found, stall: DiskStall) -> Fix | None:
    limit = stall.limit
    if stall.why != "limit" or limit is None:
        return None
    # Under v1 what is asked for is counted before the limit: all of it is seen.
    burst, slice_s = limit.fullest_tick, snapshot.step_us / 1e6
    seen = snapshot.node.fact("node.cgroup_version") == "1" and burst > limit.per_s * slice_s
    wanted = _round(limit, max(STEP * limit.per_s, MARGIN * burst / slice_s if seen else 0.0))
    texts, undo = _patches(snapshot, limit, wanted)
    left = predicted.remaining(found, "held_up", 0.0, 0.1, 0.5) if seen else None
    caveats = [
        "Works only if the disk can deliver this in addition to the load of others. Bulk writes in smaller pieces, or "
        "at a limited rate, need less."
    ]
    if patches.manager(snapshot) == "kubernetes":
        caveats.append(
            "Kubernetes itself sets no I/O limits: a container runtime, a plugin, or an administrator set this one "
            "and can set it again. Change it there too."
        )
    if limit.owner is not snapshot.subject:
        caveats.append(f"The limit belongs to {limit.owner.key}, and all cgroups below share it.")
    why = (
        f"In its busiest {say.ms(snapshot.step_us)} it requested {amount(limit, burst)}, which the limit lets through "
        f"in {say.seconds(1e6 * burst / limit.per_s)}. The kernel grants limits in slices of 100 ms: with "
        f"{rate(limit, wanted)} that amount passes at once."
        if seen
        else f"The demand without the limit of {rate(limit, limit.per_s)} is not visible: start with twice the limit."
    )
    return Fix(
        id=ID,
        title=f"Raise the I/O limit on {limit.device} from {rate(limit, limit.per_s)} to {rate(limit, wanted)}",
        summary=why,
        verdict="removes" if seen else "reduces",
        predicted=predictions(slow_ratio=left),
        patches=texts,
        caveats=caveats,
        verify=VERIFY,
        undo=undo,
        references=[CGROUP],
    )


def _round(limit: IoLimit, value: float) -> int:
    """Upwards, to a number that people would write."""
    unit = MIB if limit.of_bytes else 10
    return math.ceil(round(value / unit, 6)) * unit


def _patches(snapshot: Snapshot, limit: IoLimit, wanted: int) -> tuple[list[Patch], str]:
    file, key, prop = _FILES[limit.kind]
    if patches.manager(snapshot) == "systemd" and limit.owner is snapshot.subject:
        unit = shlex.quote(snapshot.subject.fact("workload.container") or "UNIT")
        text = f"systemctl set-property {unit} {prop}='/dev/{limit.device} {{:.0f}}'"
        label = "systemd unit, immediate and permanent"
    else:
        second = snapshot.node.fact("node.cgroup_version") == "2"
        folder = "/sys/fs/cgroup" if second else "/sys/fs/cgroup/blkio"
        name = shlex.quote(f"{folder}{limit.owner.key}/{'io.max' if second else file}")
        text = (
            f'echo "{limit.number} {key}={{:.0f}}" > {name}' if second else f'echo "{limit.number} {{:.0f}}" > {name}'
        )
        label = "On the node, as root, until the cgroup is created again"
    return [Patch(label=label, language="shell", text=text.format(wanted))], text.format(limit.per_s)


def totals(facts: Facts, name: str = "disk.limits") -> dict[tuple[str, str], float] | None:
    """Each limit by (device number, kind); None: not known."""
    try:
        told = json.loads(facts.get(name, ""))
    except ValueError:
        return None
    if not isinstance(told, list):
        return None
    return {
        (str(one.get("number")), kind): float(one[kind])
        for one in told
        if isinstance(one, dict)
        for kind in _FILES
        if isinstance(one.get(kind), int | float)
    }


def _raised(before: Facts, after: Facts) -> bool:
    """A limit is higher or gone, and none is lower or new."""
    old, new = totals(before), totals(after)
    if old is None or new is None or old == new:
        return False
    return all(key in old and value >= old[key] for key, value in new.items())


FIXES = (
    FixKind(
        id=ID,
        title="Raise the I/O limit",
        precondition="The container's own I/O limit throttles its requests.",
        landing=Seen("An I/O limit of the container rises or is removed.", ("disk.limits",), _raised),
        measures=MEASURES,
        lab="disk-stall --apply raise_io_limit",
    ),
)
