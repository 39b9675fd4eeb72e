"""Captures as the flight recorder ships them: a node whose kubelet unmounts while everything else waits."""

from __future__ import annotations

from jitterscope.pb import ingest_pb2 as pb

RATE_HZ = 99.0
SERVER_CGROUP = "/kubepods/dns/coredns"
STRINGS = (
    "kubelet", "coredns", "kswapd0", "runtime.mcall", "syscall.unmount", "entry_SYSCALL_64", "cleanup_mnt",
    "shrink_dcache_for_umount", "__dentry_kill", "main.serve", "kthread", "shrink_slab", "super_cache_scan [kernel]",
    "", "futex", "futex_do_wait", "fsync", "jbd2_log_wait_commit", "ext4_sync_file", "worker",
)  # fmt: skip
_AT = {name: number for number, name in enumerate(STRINGS)}


def _stack(kernel: tuple[str, ...], user: tuple[str, ...]) -> pb.CapturedStack:
    return pb.CapturedStack(kernel=[_AT[name] for name in kernel], user=[_AT[name] for name in user])


def capture(
    start_us: int,
    *,
    seconds: int = 10,
    stall: tuple[int, int] = (3, 6),
    resource: int = 0,
    reason: str = "system_cpu",
    server_cgroup: str = SERVER_CGROUP,
) -> pb.Capture:
    """CPU 0 serves DNS, except in the seconds of the stall, in which the kernel has it; CPU 1 is kswapd's."""
    made = pb.Capture(
        resource=resource,
        reason=reason,
        start_us=start_us,
        end_us=start_us + seconds * 1_000_000,
        rate_hz=RATE_HZ,
        strings=STRINGS,
        processes=[
            pb.CapturedProcess(pid=100, command=_AT["kubelet"], cgroup="/system.slice/kubelet.service"),
            pb.CapturedProcess(pid=200, command=_AT["coredns"], cgroup=server_cgroup),
            pb.CapturedProcess(pid=40, command=_AT["kswapd0"], cgroup="/"),
        ],
        stacks=[
            _stack(("__dentry_kill", "shrink_dcache_for_umount", "cleanup_mnt", "entry_SYSCALL_64"),
                   ("syscall.unmount", "runtime.mcall")),
            _stack((), ("main.serve", "runtime.mcall")),
            _stack(("super_cache_scan [kernel]", "shrink_slab", "kthread"), ()),
            _stack(("jbd2_log_wait_commit", "ext4_sync_file"), ()),
        ],
        lost_samples=2,
    )  # fmt: skip
    for look in range(20):
        _wait(made, min(stall[0], seconds - 1) * 1_000_000 + 50_000 * look)
    for second in range(seconds):
        stalled = stall[0] <= second < stall[1]
        for tick in range(99):
            offset = second * 1_000_000 + tick * 10_101
            for cpu, who in ((0, 0 if stalled else 1), (1, 2)):
                made.offset_us.append(offset)
                made.cpu.append(cpu)
                made.process.append(who)
                made.stack.append(who)
        for process, user, system, state in (
            (0, 0, 990_000 if stalled else 0, "R" if stalled else "S"),
            (1, 0 if stalled else 950_000, 40_000 if not stalled else 0, "D" if stalled else "R"),
            (2, 0, 990_000, "R"),
        ):
            made.row_offset_us.append(second * 1_000_000 + 500_000)
            made.row_process.append(process)
            made.row_user_us.append(user)
            made.row_system_us.append(system)
            made.row_threads.append(10 - process)
            made.row_state.append(ord(state))
    return made


def _wait(made: pb.Capture, offset_us: int) -> None:
    """Threads of the server: one waits for the disk, three for a lock."""
    for thread in range(4):
        of_disk = thread == 0
        made.wait_offset_us.append(offset_us)
        made.wait_process.append(1)
        made.wait_thread.append(200 + thread)
        made.wait_name.append(_AT["coredns" if of_disk else "worker"])
        made.wait_state.append(ord("D" if of_disk else "S"))
        made.wait_call.append(_AT["fsync" if of_disk else "futex"])
        made.wait_place.append(_AT["jbd2_log_wait_commit" if of_disk else "futex_do_wait"])
        made.wait_stack.append(4 if of_disk else 0)
