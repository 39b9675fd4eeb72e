"""Fixes for negative dentries: stop making them, bound them, drop them in a quiet hour; and what cannot help."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace

from jitterscope.diagnosis.areas.kernel.readings import dentry_report as report
from jitterscope.diagnosis.areas.kernel.readings import figures, kernel_memory, settings
from jitterscope.diagnosis.areas.kernel.readings.lookups import Looker, lookups
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.areas.kernel.whatif.dentry_drop import Pause
from jitterscope.diagnosis.core import owner_commands, owners, patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, Unseen, changed, differs
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import dentry_limits
from jitterscope.diagnosis.programs.versions import parse

VERIFY = "dentries_negative of the node stops growing (fifth number of /proc/sys/fs/dentry-state)."
_VM = "https://docs.kernel.org/admin-guide/sysctl/vm.html#drop-caches"
_CGROUP_V2 = "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory"
# What a daemon that sets it on Oracle Linux takes by default: 1.5 % of memory.
_ADAPTIVEMM = "https://github.com/oracle/adaptivemm"
_LIMIT_THOUSANDTHS = 15


def stop_lookups(snapshot: Snapshot, top: Looker | None) -> Fix | None:
    """At the source; only where the program is known."""
    if top is None:
        return None
    share = top.count / max(1, lookups(snapshot).total)
    return Fix(
        id="stop_lookups",
        title=f"Stop {top.command} from looking up ever-new names",
        summary=f"It made {top.count:,} lookups of names like {report.shortened(top.pattern, 120)} that do not exist. "
        "A fixed name instead of a numbered or random one, a directory listing, or an index leaves no negative "
        "dentries behind.",
        verdict="removes",
        predicted=predictions(made_dentries_per_s=figures.made_without(snapshot, share)),
        precondition=f"Works only if the program ({report.maker(top)}) can be changed, configured, or updated.",
        caveats=["What is already cached stays until it is dropped."],
        verify=VERIFY,
        undo="Run the previous version.",
        references=["https://lwn.net/Articles/814535/"],
    )


def memory_limit(snapshot: Snapshot, top: Looker | None) -> Fix | None:
    """A container pays for the dentries that it makes: its memory limit bounds them."""
    version = parse(snapshot.node.fact("node.kernel"))
    is_v2 = snapshot.node.fact("node.cgroup_version") == "2"
    where = top.cgroup if top is not None else None
    if where is None or (not is_v2 and (version is None or version < (4, 5))):
        return None
    limit = where.fact("memory.limit_bytes")
    if limit is not None and not limit.startswith("-"):
        return None
    inside = replace(snapshot, subject=where)
    patch, undo = _limit_patch(inside, is_v2)
    return Fix(
        id="memory_limit",
        title="Set a memory limit on the container",
        summary="Its dentries are charged to it. At a limit the kernel reclaims them inside the container, a few at a "
        "time, instead of all on the node.",
        verdict="reduces",
        precondition="Works only if kernel memory is accounted (no cgroup.memory=nokmem on the kernel command line). "
        "MEMORY is what the program itself needs, and some more.",
        patches=[patch],
        caveats=["Too low a limit ends in an OOM kill of the container."],
        verify=VERIFY + " memory_slab_bytes of the cgroup stays below its limit.",
        undo=undo,
        references=[_CGROUP_V2],
    )


def _limit_patch(inside: Snapshot, is_v2: bool) -> tuple[Patch, str]:
    """The patch, and how to undo it."""
    subject = inside.subject

    def shell(text: str) -> Patch:
        return Patch(label="Memory limit", language="shell", text=text)

    if patches.manager(inside) == "kubernetes":
        owner = owners.of(inside)
        if not owner.is_built_in:
            text = "resources:\n  limits:\n    memory: MEMORY"
            return Patch(label=owner_commands.in_manifest(inside), language="yaml", text=text), "Remove the limit."
        space = shlex.quote(subject.fact("workload.namespace") or "NAMESPACE")
        name = shlex.quote(subject.fact("workload.container") or "CONTAINER")
        head = f"kubectl -n {space} set resources {owner} -c {name} --limits=memory="
        return shell(head + "MEMORY"), head + "0"
    root = "/sys/fs/cgroup" if is_v2 else "/sys/fs/cgroup/memory"
    file = shlex.quote(root + subject.key + ("/memory.max" if is_v2 else "/memory.limit_in_bytes"))
    return shell(f"echo MEMORY > {file}"), f"echo {'max' if is_v2 else -1} > {file}"


def dentry_limit(snapshot: Snapshot, pause: Pause | None) -> Fix:
    """What this kernel offers as a limit; where it has none, that is said."""
    limit = dentry_limits.limit_of(snapshot)
    if limit.knob == "negative-dentry-limit":
        return _rhel7(snapshot, limit.value, pause)
    if limit.knob == "dentry-fs-klimit":
        return _rhel8(limit.value)
    if limit.update is not None:
        return Fix(
            id="dentry_limit",
            title=f"Update the kernel to {limit.update}",
            summary=f"It has fs.{limit.update_knob}, a limit that the running kernel "
            f"({snapshot.node.fact('node.kernel')}) lacks. It is off until it is set.",
            verdict="reduces",
            precondition="Works only if the node can be restarted.",
            verify=f"/proc/sys/fs/{limit.update_knob} exists.",
            undo="Boot the previous kernel.",
            references=[dentry_limits.RHEL_7 if limit.update_knob == "negative-dentry-limit" else dentry_limits.RHEL_8],
        )
    return Fix(
        id="dentry_limit",
        title="Set the kernel's limit for negative dentries",
        summary="Cannot help: neither upstream Linux nor this kernel has one. Patches have been proposed since 2018, "
        "the last (fs.dentry-limit) in May 2026, and as far as we know none was merged. RHEL 7.8 has "
        "fs.negative-dentry-limit, RHEL 8.10 fs.dentry-fs-klimit.",
        verdict="cannot_help",
        verify="ls /proc/sys/fs/ | grep dentry",
        undo="Nothing to undo.",
        references=[dentry_limits.RHEL_8, "https://lwn.net/Articles/814535/"],
    )


def _rhel7(snapshot: Snapshot, value: float | None, pause: Pause | None) -> Fix:
    memory = kernel_memory.memory_bytes(snapshot)
    count = _LIMIT_THOUSANDTHS / 1000 * memory / kernel_memory.DENTRY_BYTES
    allows = ""
    if math.isfinite(count):
        takes = "" if pause is None else f", which take {count * pause.cost.each_us / 1e6:.1f} s to free"
        allows = f"{_LIMIT_THOUSANDTHS} allows {count:,.0f} of them on this node{takes}. "
    return Fix(
        id="dentry_limit",
        title=f"fs.negative-dentry-limit={_LIMIT_THOUSANDTHS}",
        summary=f"A soft limit in thousandths of memory; now {value or 0:g} (0: none). {allows}The kernel then drops "
        "the excess in the background.",
        verdict="reduces",
        patches=[
            Patch(
                label="On the node, now and after a restart",
                language="shell",
                text=f"sysctl -w fs.negative-dentry-limit={_LIMIT_THOUSANDTHS}\n"
                f"echo 'fs.negative-dentry-limit = {_LIMIT_THOUSANDTHS}' > /etc/sysctl.d/90-negative-dentries.conf",
            )
        ],
        caveats=["The value is 0 to 100. It does not limit the dentries of real files."],
        verify=VERIFY,
        undo=f"sysctl -w fs.negative-dentry-limit={value or 0:g}; rm /etc/sysctl.d/90-negative-dentries.conf",
        references=[dentry_limits.RHEL_7, _ADAPTIVEMM],
    )


def _rhel8(value: float | None) -> Fix:
    return Fix(
        id="dentry_limit",
        title="fs.dentry-fs-klimit",
        summary=f"This kernel can limit the dentries of each file system; now {value or 0:g} (0: none).",
        verdict="reduces",
        precondition="VALUE is chosen by Red Hat's article, which documents its unit.",
        patches=[Patch(label="On the node", language="shell", text="sysctl -w fs.dentry-fs-klimit=VALUE")],
        caveats=[
            "It counts all dentries of a file system, so a file system with many real files needs room for these."
        ],
        verify=VERIFY,
        undo=f"sysctl -w fs.dentry-fs-klimit={value or 0:g}",
        references=[dentry_limits.RHEL_8],
    )


def drop_caches(snapshot: Snapshot) -> Fix | None:
    """By hand, in a quiet hour, with the pause that it is going to cost."""
    pause = dentry_drop.predict(snapshot)
    if pause is None or pause.negative < 10_000:
        return None
    load = f", at the current load {say.times(pause.waiting)} the kernel time" if pause.waiting > 1.05 else ""
    return Fix(
        id="drop_caches",
        title="Drop dentries at a quiet time",
        summary=f"Predicted pause: {report.span(pause.seconds)} on one CPU for {pause.negative:,.0f} negative "
        f"dentries and {pause.positive:,.0f} dentries of real files with {pause.inodes:,.0f} inodes, estimated from "
        f"{pause.cost.basis}{load}. It comes when you choose, not with the next unmount or reclaim.",
        verdict="reduces",
        patches=[
            Patch(label="On the node, as root", language="shell", text="echo 2 > /proc/sys/vm/drop_caches"),
            Patch(
                label="Every night at 3, until the node restarts (systemd)",
                language="shell",
                text="systemd-run --on-calendar='*-*-* 03:00' --unit=drop-dentries "
                "/bin/sh -c 'echo 2 > /proc/sys/vm/drop_caches'",
            ),
        ],
        caveats=[
            "Other lookups can wait meanwhile. Dentries and inodes of real files are read from disk again.",
            "A workaround: they come back while the lookups continue.",
        ],
        verify="dentries_negative falls to nearly 0, and the next drop is predicted from how long this one took.",
        undo="Nothing to undo: the cache fills again. The timer: systemctl stop drop-dentries.timer",
        references=[_VM],
    )


def tmpfs(top: Looker | None) -> Fix | None:
    if top is None or not top.pattern.startswith("/"):
        return None
    folder = top.pattern.rpartition("/")[0] or "/"
    if "#" in folder or "%" in folder:
        return None
    return Fix(
        id="tmpfs",
        title="Move the directory to a tmpfs",
        summary="tmpfs keeps no negative dentries: a missing name is not cached.",
        verdict="removes",
        precondition=f"Works only if the contents of {report.shortened(folder, 120)} fit into memory and can be lost "
        "with the pod.",
        patches=[
            Patch(
                label="Volume of the pod",
                language="yaml",
                text="volumes:\n- name: scratch\n  emptyDir:\n    medium: Memory\n    sizeLimit: 64Mi",
            )
        ],
        caveats=["Its files count as memory of the container."],
        verify=VERIFY,
        undo="Remove the volume again.",
        references=["https://github.com/torvalds/linux/blob/master/fs/libfs.c", "https://lwn.net/Articles/814535/"],
    )


def cache_pressure(snapshot: Snapshot, negative: float) -> Fix:
    return Fix(
        id="vfs_cache_pressure",
        title="vm.vfs_cache_pressure",
        summary="Cannot help: it weighs dentries against page cache once the kernel reclaims. "
        f"{negative:,.0f} negative dentries grew while memory was free and nothing was reclaimed.",
        verdict="cannot_help",
        predicted=predictions(made_dentries_per_s=figures.made_without(snapshot, 0.0)),
        verify="dentries_negative grows as before.",
        undo="Nothing to undo.",
        references=["https://docs.kernel.org/admin-guide/sysctl/vm.html#vfs-cache-pressure"],
    )


def dentry_negative(snapshot: Snapshot) -> Fix | None:
    if not dentry_limits.has_dentry_negative(snapshot):
        return None
    return Fix(
        id="dentry_negative",
        title="fs.dentry-negative=1",
        summary="Cannot help: it drops the name of a removed file. These names never were files.",
        verdict="cannot_help",
        verify="dentries_negative grows as before.",
        undo="Nothing to undo.",
        references=[dentry_limits.UPSTREAM],
    )


def forget_removed(snapshot: Snapshot) -> Fix | None:
    if not dentry_limits.has_dentry_negative(snapshot):
        return None
    return Fix(
        id="forget_removed",
        title="fs.dentry-negative=1",
        summary="The kernel then drops the name of a file together with the file.",
        verdict="removes",
        patches=[Patch(label="On the node", language="shell", text="sysctl -w fs.dentry-negative=1")],
        caveats=["Programs that repeatedly create and remove a file of one name get slower."],
        verify=VERIFY,
        undo="sysctl -w fs.dentry-negative=0",
        references=[dentry_limits.UPSTREAM],
    )


def _limited(before: Facts, after: Facts) -> bool:
    """The container that looks up names got a limit, or a lower one."""
    old, new = (number(facts.get(settings.LOOKER_LIMIT)) for facts in (before, after))
    return new is not None and new > 0 and (old is None or old <= 0 or new < old)


def _bounded(before: Facts, after: Facts) -> bool:
    """A limit of the kernel is on that was off, or another kernel runs."""
    old, new = (settings.numbers(facts.get("node.dentry_limit")) for facts in (before, after))
    on = any(new.get(knob, 0) > 0 and new.get(knob) != old.get(knob) for knob in dentry_limits.KNOBS)
    return on or (changed(before, after, "node.kernel") and "node.kernel" in after)


def _forgets(before: Facts, after: Facts) -> bool:
    old, new = (settings.numbers(facts.get("node.dentry_limit")) for facts in (before, after))
    return new.get("dentry-negative") == 1 and old.get("dentry-negative") != 1


def dropped(before: Facts, after: Facts) -> bool:
    """Caches were dropped by hand since."""
    old, new = (number(facts.get(settings.LAST_DROP)) for facts in (before, after))
    return new is not None and (old is None or new > old)


# What is held goes on growing under a fix that cannot help, and stays under one that does: it decides nothing here.
_PRESSURE = "node.vfs_cache_pressure"
_MADE = ("made_dentries_per_s",)
_HELD = ("negative_dentries", "drop_ms_per_min")
FIXES = (
    FixKind(
        id="stop_lookups",
        title="Stop the lookups of ever-new names",
        precondition="The program can be changed, configured, or updated.",
        landing=Unseen("What a program looks up is its code and its configuration, which no collector source reads."),
        measures=_MADE,
        lab="negative-dentries --variant storm --names session --apply stop_lookups",
    ),
    FixKind(
        id="memory_limit",
        title="Set a memory limit for the container that looks up names",
        precondition="Kernel memory is accounted to the container: cgroup v2, or v1 from Linux 4.5.",
        landing=Seen(
            "The container with the most failed lookups gets a memory limit that it did not have, or a lower one.",
            (settings.LOOKER_LIMIT,),
            _limited,
        ),
        measures=("negative_dentries", "made_dentries_per_s"),
    ),
    FixKind(
        id="dentry_limit",
        title="Limit negative dentries in the kernel",
        precondition="A kernel with fs.negative-dentry-limit (RHEL 7.8) or fs.dentry-fs-klimit (RHEL 8.10).",
        landing=Seen(
            "fs.negative-dentry-limit or fs.dentry-fs-klimit is above 0, or the node runs another kernel.",
            ("node.dentry_limit", "node.kernel"),
            _bounded,
        ),
        measures=_HELD,
    ),
    FixKind(
        id="drop_caches",
        title="Drop dentries at a quiet time",
        precondition="An hour in which a pause of the predicted length does no harm.",
        landing=Seen("Dentries are dropped manually (vm.drop_caches 2 or 3).", (settings.LAST_DROP,), dropped),
        measures=_HELD,
        lab="negative-dentries --variant storm --names session --apply drop_caches",
    ),
    FixKind(
        id="tmpfs",
        title="Put the directory on a tmpfs",
        precondition="The contents of the directory fit into memory and can be lost with the pod.",
        landing=Unseen("Which file system a directory of a container is on is not read by any collector source."),
        measures=_MADE,
    ),
    FixKind(
        id="vfs_cache_pressure",
        title="Set vm.vfs_cache_pressure",
        precondition="Cannot help: it only matters once the kernel reclaims.",
        landing=Seen(
            "vm.vfs_cache_pressure of the node changes.",
            (_PRESSURE,),
            lambda before, after: differs(before, after, _PRESSURE),
        ),
        measures=_MADE,
        lab="negative-dentries --variant storm --names session --apply vfs_cache_pressure",
    ),
    FixKind(
        id="dentry_negative",
        title="Set fs.dentry-negative=1 against lookups",
        precondition="Cannot help: it affects names of removed files, not names that never existed.",
        landing=Seen("fs.dentry-negative becomes 1.", ("node.dentry_limit",), _forgets),
        measures=_MADE,
    ),
    FixKind(
        id="forget_removed",
        title="Set fs.dentry-negative=1",
        precondition="A kernel that has fs.dentry-negative.",
        landing=Seen("fs.dentry-negative becomes 1.", ("node.dentry_limit",), _forgets),
        measures=_MADE,
    ),
)
