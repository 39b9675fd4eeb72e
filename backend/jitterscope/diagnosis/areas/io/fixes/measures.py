"""What fixes of disk stalls are measured by, and how one sees that they helped."""

from __future__ import annotations

MEASURES = ("slow_ratio", "blocked_ms_per_min")
CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html#io"
FSYNC = "https://man7.org/linux/man-pages/man2/fsync.2.html"
VERIFY = (
    "Watch this incident: before and after are compared, and it closes as verified once slow answers and blocked time "
    "are gone. By hand: no thread of the program is in state D for long (`ps -eLo state,wchan,comm`)."
)
