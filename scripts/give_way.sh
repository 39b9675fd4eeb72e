#!/usr/bin/env bash
# give_way.sh COMMAND…: runs it on the CPU time that nobody else wants, so that it can run beside what times something.
# `nice` does not reach beyond a session and its cgroup (sched(7), autogroup); a cgroup with cpu.idle does. Where this
# machine lets us make none (no root, Linux before 5.15, a container's part of the tree), `nice` has to do.
set -uo pipefail
# What waits for others to leave it a CPU can wait for minutes: only a test that takes longer than that hangs.
export PYTEST_TIMEOUT=1500
name=jitterscope-gives-way

# Where CPU time is counted in a hierarchy of its own, a cgroup there says whose it is: of somebody who gives way.
counted() {
    accounts=/sys/fs/cgroup/cpuacct
    [ -d $accounts ] && ! [ $accounts -ef "$root" ] || return 0
    rmdir $accounts/$name-*
    mkdir "$accounts/$name-$$" && echo $$ >"$accounts/$name-$$/cgroup.procs"
    return 0
}

idle_cgroup() {
    for root in /sys/fs/cgroup/cpu /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup; do
        # Those of runs that were killed: the kernel removes none in which something still runs.
        rmdir "$root/$name"-*
        own=$root/$name-$$
        mkdir "$own" && echo 1 >"$own/cpu.idle" && echo $$ >"$own/cgroup.procs" && counted && return
        rmdir "$own"
    done 2>/dev/null
    return 1
}

idle_cgroup || exec nice -n 10 "$@"
trap : INT TERM # the command has them too; its cgroup is removed after it
"$@"
status=$?
for left in "$own" "$accounts/$name-$$"; do
    echo $$ >"${left%/*}/cgroup.procs"
    rmdir "$left" # fails where something still runs in it: the next run removes it
done 2>/dev/null
exit "$status"
