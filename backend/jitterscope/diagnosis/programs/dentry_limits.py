"""Which kernels can limit negative dentries, and with which setting; each with its source. Upstream Linux has no limit.

fs.dentry-negative (upstream) is not a limit: it only decides what happens to the name of a file that is *removed*.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.core.snapshot import Snapshot

RHEL_7 = "https://access.redhat.com/solutions/4982351"
RHEL_8 = "https://access.redhat.com/solutions/5777081"
UPSTREAM = "https://docs.kernel.org/admin-guide/sysctl/fs.html"
Knob = Literal["negative-dentry-limit", "dentry-fs-klimit"]
KNOBS: tuple[Knob, ...] = ("negative-dentry-limit", "dentry-fs-klimit")


@dataclass(frozen=True, slots=True)
class Limit:
    """`knob`: the setting of this kernel; None: none. `value`: its value, 0: off; None: not known.

    `update`: a newer kernel of the same distribution has `update_knob`, from release `update` on.
    """

    known: bool
    knob: Knob | None = None
    value: float | None = None
    update: str | None = None
    update_knob: Knob | None = None

    @property
    def is_set(self) -> bool:
        return self.knob is not None and (self.value or 0) > 0


def limit_of(snapshot: Snapshot) -> Limit:
    """What the collector saw in /proc/sys/fs, and what a kernel update would add."""
    text = snapshot.node.fact("node.dentry_limit")
    try:
        seen = json.loads(text) if text is not None else None
    except ValueError:
        seen = None
    update, update_knob = _update(snapshot.node.fact("node.kernel") or "")
    if not isinstance(seen, dict):
        return Limit(False, update=update, update_knob=update_knob)
    for name, raw in seen.items():
        knob = next((knob for knob in KNOBS if str(name).removeprefix("fs.") == knob), None)
        if knob is not None:
            return Limit(True, knob, _number(raw))
    return Limit(True, update=update, update_knob=update_knob)


def has_dentry_negative(snapshot: Snapshot) -> bool:
    return "dentry-negative" in (snapshot.node.fact("node.dentry_limit") or "")


def _update(kernel: str) -> tuple[str | None, Knob | None]:
    """A later kernel of the same RHEL that has a setting, if this one is older."""
    if match := re.match(r"3\.10\.0-(\d+)(?:\.(\d+))?.*\.el7", kernel):
        build = (int(match[1]), int(match[2] or 0))
        if build < (1062, 21) or (1062, 99) < build < (1127, 0):
            return "3.10.0-1127.el7 (RHEL 7.8)", "negative-dentry-limit"
    match = re.match(r"4\.18\.0-(\d+)(?:\.(\d+))?(?:\.(\d+))?.*\.el8", kernel)
    if match and tuple(int(part or 0) for part in match.groups()) < (553, 62, 1):
        return "4.18.0-553.62.1.el8_10 (RHEL 8.10)", "dentry-fs-klimit"
    return None, None


def global_lru_lock(snapshot: Snapshot) -> bool | None:
    """Whether the kernel has one lock for all lists of unused dentries (upstream before 3.12). None: unknown.

    Distributions' 3.10 kernels carry later patches, so their version number says nothing.
    """
    kernel = snapshot.node.fact("node.kernel") or ""
    match = re.match(r"(\d+)\.(\d+)", kernel)
    if match is None or ".el" in kernel:
        return None
    return (int(match[1]), int(match[2])) < (3, 12)


def _number(raw: object) -> float | None:
    try:
        return float(str(raw).split()[0])
    except (ValueError, IndexError):
        return None
