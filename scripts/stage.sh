#!/usr/bin/env bash
# stage.sh NAME COMMAND…: runs the command, and says what it took of time and of CPU, and how much CPU time nobody used
# meanwhile. .ci/run tells these lines again.
set -uo pipefail
name=$1
shift
# Ticks of the CPUs together that went by unused (idle, and waiting for a disk), and all of them; proc_stat(5).
ticks() {
    read -r _ user nice system idle iowait irq softirq steal _ </proc/stat
    echo $((idle + iowait)) $((user + nice + system + idle + iowait + irq + softirq + steal))
}
read -r unused_before all_before < <(ticks)
TIMEFORMAT="%0R s, CPU %0U s + %0S s in the kernel"
exec 3>&1 4>&2
took=$({ time "$@" 1>&3 2>&4; } 2>&1)
status=$?
read -r unused all < <(ticks)
echo "stage $name: $took, $((100 * (unused - unused_before) / (all - all_before + 1))) % of all CPU time unused"
exit "$status"
