"""A neighbor that wants all CPUs of the machine, and cgroups whose weights decide what is left for others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from labs import processes
from labs.cgroups import LabCgroup, LabRun

NEIGHBOUR_SHARES = 1_024  # the default, and the weight of each of the product's processes
CLIENT_SHARES = 4 * 1_024  # clients are other machines: nothing here delays them
_LOOP = "import sys, time; time.sleep(max(0, float(sys.argv[1]) - time.time()))\nwhile True: pass"


def competing(stack: ExitStack, names: LabRun, name: str, shares: int) -> LabCgroup:
    """A cgroup that competes with the whole machine by this weight: the product needs its share beside the loops."""
    made = names.cgroup(name, alone=True)
    stack.callback(made.remove)
    made.create(preferred=False)
    made.weigh(shares)
    return made


@contextmanager
def busy(neighbour: LabCgroup, loops: int, from_us: int) -> Iterator[None]:
    """Busy loops of the neighbor, from that time until the context ends."""
    command = [sys.executable, "-I", "-c", _LOOP, str(from_us / 1e6)]
    with ExitStack() as stack:
        for _ in range(loops):
            stack.callback(processes.stop, processes.spawn(command, cgroup_procs=neighbour.procs_files()))
        yield
