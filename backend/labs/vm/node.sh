# Runs in the virtual machine of labs/vm/node.py, as lab.service: starts the collector and the kubelet, sends a static
# pod more queries than its CPU limit allows, and writes what the kernel counted to /dev/ttyS1.
set -eu
. /lab/settings
exec >/dev/ttyS0 2>&1
stty raw -F /dev/ttyS1
mark="===== "
cgroups=/sys/fs/cgroup

ended() {
    [ $? = 0 ] || {
        journalctl --no-pager -o cat -n 40 -u containerd -u kubelet -u jitterscope-collector
        echo "${mark}failed" >/dev/ttyS1
    }
}
trap ended EXIT

say() { echo "node.sh, $(cut -d' ' -f1 /proc/uptime) s after the boot: $*"; }

until_ok() {
    say "waiting for: $*"
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ]
        sleep 0.2
    done
}

sampling() { get 9464/metrics | grep -q '^jitterscope_collector_ticks_total [1-9]'; }

get() { /lab/bin/busybox wget -q -O - "http://127.0.0.1:$1"; }

ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
for image in /lab/images/*.tar; do
    say "importing $image"
    ctr -n k8s.io images import "$image"
done

mkdir -p /etc/jitterscope
cp /lab/collector/* /etc/jitterscope/
cp /lab/bin/jitterscope-collector /usr/local/bin/
cp /lab/units/*.service /run/systemd/system/
systemctl daemon-reload
systemctl start jitterscope-collector
until_ok sampling
systemctl start kubelet
until_ok get 8080/health  # of CoreDNS

pid=$(/lab/bin/busybox pidof coredns)
own=$cgroups$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
say "CoreDNS is in $own"
echo "$BURST_US" >"$own/cpu.max.burst"
usage_us() { sed -n 's/^usage_usec //p' "$own/cpu.stat"; }
# QUERIES_PER_S SECONDS: clients are no pod.
query() {
    systemd-run --quiet --wait --pipe --collect --unit=dns-client /lab/bin/jitterscope-load \
        --server=127.0.0.1:53 --names="$NAMES" --qps="$1" --seconds="$2" --out=/run/load
}
has_started() {
    started=$(usage_us)
    sleep 2
    [ $(($(usage_us) - started)) -lt $((CPU_US_PER_S / 4)) ]
}
until_ok has_started
# QUERIES_PER_S: emulation is as fast as the machine below.
measure_cost() {
    before=$(usage_us)
    query "$1" 5 >/run/answers
    answered=$(sed 's/.*"answered":\([0-9]*\).*/\1/' /run/answers)
    cost_us=$((($(usage_us) - before) / answered))
}
measure_cost 20
# A busy server wakes up less often for the same work.
measure_cost $((CPU_US_PER_S / cost_us / 2 + 1))
rate=$((CPU_US_PER_S * EXCESS_PERCENT / 100 / cost_us + 1))
say "a query costs $cost_us µs of CPU: sending $rate queries/s for $SECONDS_BUSY s"
query "$rate" "$SECONDS_BUSY" >/run/answers
cat /run/answers

# Frozen, so that nothing counts while it is compared.
sleep 2
echo 1 >$cgroups/kubepods.slice/cgroup.freeze
sleep 4
get 10255/pods >/run/pods
cd $cgroups
{
    echo "${mark}release"; uname -r
    echo "${mark}systemd"; systemctl --version
    echo "${mark}load"; echo "$rate"; cat /run/answers
    echo "${mark}pods"; cat /run/pods; echo
    echo "${mark}cgroups"
    find kubepods.slice -type d | while read -r one; do
        grep -H '' "$one"/cpu.stat "$one"/cpu.stat.local "$one"/cpu.max "$one"/cpu.max.burst "$one"/memory.events \
            "$one"/memory.events.local "$one"/memory.max "$one"/memory.oom.group "$one"/io.stat "$one"/*.pressure 2>/dev/null || true
    done
    echo "${mark}until"; date +%s
    echo "${mark}end"
} >/dev/ttyS1
get 9464/metrics | grep -E '^jitterscope_collector_(cgroups|ticks|batches|spool|send|dropped)'
say "done"
sleep infinity
