"""Where to look next, by the place in which the time of late answers went. Looking changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from jitterscope.diagnosis.areas.unexplained.readings.processes import serving
from jitterscope.diagnosis.areas.unexplained.readings.whereabouts import Where
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import FixKind, Unseen
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

PROC = "https://man7.org/linux/man-pages/man5/proc_pid_status.5.html"
FREEZER = "https://docs.kernel.org/admin-guide/cgroup-v2.html#core-interface-files"
VERIFY = "The share of slow answers stays at 0 once what was found is fixed."
UNDO = "Nothing to undo."


@dataclass(frozen=True, slots=True)
class _Look:
    """`shell` is a command in which PID stands for the program's, and CPU_STAT for the file of its cgroup."""

    title: str
    summary: str
    shell: str
    reference: str


_STOPPED = _Look(
    "Find out what stops the program, or what its reading thread waits for",
    "State T means stopped: by SIGSTOP, a debugger (TracerPid), or a checkpoint. State D means waiting for a disk or "
    "the kernel, state S for a lock, a timer, or another server. Captures list the states every second.",
    "while sleep 0.05; do\n  grep -HE '^(State|TracerPid)' /proc/PID/task/*/status | grep -v 'TracerPid:.*0$'\n"
    "  cat /proc/PID/task/*/wchan | sort | uniq -c\ndone | uniq",
    PROC,
)
_WAITS = _Look(
    "See what its threads wait for",
    "futex_wait means a lock of the program, io_schedule or a file system name means a disk, and tcp_recvmsg or epoll "
    "means another server. A stall shows as a name that most threads share.",
    "while sleep 0.05; do date +%T.%N; cat /proc/PID/task/*/wchan | sort | uniq -c; done",
    "https://man7.org/linux/man-pages/man5/proc_pid_wchan.5.html",
)
_PROFILE = _Look(
    "Profile the program while it stalls",
    "The captures of this incident include its stacks. A profile with timestamps catches a stall that recurs.",
    "perf record -F 499 -g -p PID -- sleep 60 && perf script",
    "https://man7.org/linux/man-pages/man1/perf-record.1.html",
)
_CROWD = _Look(
    "See what ran instead",
    "The process table of the captures names the processes that used the CPUs. A program with a higher weight, a job "
    "without a limit, or a kernel thread takes them from this one.",
    "perf sched record -- sleep 60 && perf sched latency --sort max",
    "https://man7.org/linux/man-pages/man1/perf-sched.1.html",
)
_LIMIT = _Look(
    "See what the container ran when its limit throttled it",
    "No known cause of throttling explains it: look at the container's busiest programs in the captures.",
    "while sleep 0.1; do date +%T.%N; grep -E 'throttled|periods' CPU_STAT; done",
    "https://docs.kernel.org/scheduler/sched-bwc.html",
)
_NETWORK = _Look(
    "Look at the network stack of the node",
    "Late softirqs, a firewall with many rules, and packet sockets hold packets without the program noticing.",
    "while sleep 0.1; do date +%T.%N; cat /proc/net/softnet_stat; grep NET_RX /proc/softirqs; done",
    "https://docs.kernel.org/networking/scaling.html",
)
_LOOKS: dict[Where, tuple[_Look, ...]] = {
    "throttled": (_LIMIT,),
    "cpu": (_PROFILE,),
    "runnable": (_CROWD,),
    "socket": (_STOPPED,),
    "blocked": (_WAITS,),
    "idle": (_STOPPED,),
    "outside": (_NETWORK,),
    "unknown": (_WAITS,),
}


def propose(snapshot: Snapshot, server: ResourceView, where: Where) -> list[Fix]:
    return [_fix(snapshot, server, one) for one in _LOOKS[where]]


def _fix(snapshot: Snapshot, server: ResourceView, look: _Look) -> Fix:
    listener = server.fact("tcp.process")
    processes = serving(snapshot, server)
    key = listener if listener is not None else processes[0].key if processes else None
    shell = look.shell if key is None else look.shell.replace("PID", key.partition(":")[0])
    return Fix(
        id="look_where_time_goes",
        title=look.title,
        summary=look.summary,
        verdict="unknown",
        precondition="Works only on the node, as root, and while stalls recur.",
        patches=[
            Patch(
                label="On the node, as root",
                language="shell",
                text=shell.replace("CPU_STAT", _cpu_stat(snapshot)),
            )
        ],
        verify=VERIFY,
        undo=UNDO,
        references=[look.reference],
    )


def _cpu_stat(snapshot: Snapshot) -> str:
    return f"{patches.cgroup_directory(snapshot, snapshot.subject)}/cpu.stat"


FIXES = (
    FixKind(
        "look_where_time_goes",
        "Look where the time goes",
        "Stalls recur.",
        Unseen("Looking changes nothing."),
    ),
)
