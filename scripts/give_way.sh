#!/usr/bin/env bash
# give_way.sh COMMAND…: runs it on the CPU time that nobody else wants, so that it can run beside what times something.
# `nice` does not reach beyond a session and its cgroup (sched(7), autogroup); a cgroup with cpu.idle does. Where this
# machine lets us make none (no root, Linux before 5.15, a container's part of the tree), `nice` has to do.
set -uo pipefail
name=jitterscope-gives-way

idle_cgroup() {
    for root in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup; do
        # Those of runs that were killed: the kernel removes none in which something still runs.
        rmdir "$root/$name"-*
        own=$root/$name-$$
        mkdir "$own" && echo 1 >"$own/cpu.idle" && echo $$ >"$own/cgroup.procs" && return
        rmdir "$own"
    done 2>/dev/null
    return 1
}

idle_cgroup || exec nice -n 10 "$@"
trap : INT TERM # the command has them too; its cgroup is removed after it
"$@"
status=$?
echo $$ >"$root/cgroup.procs"
rmdir "$own" 2>/dev/null # fails where something still runs in it: the next run removes it
exit "$status"
