"""The collector on cgroup v2: its samples of a throttled cgroup must add up to the kernel's own cpu.stat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from google.protobuf import json_format

from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series.catalogue import METRICS
from jitterscope.series.codec import decode_wire
from jitterscope.settings import REPOSITORY
from labs.console import Say
from labs.errors import LabError
from labs.vm import machine, sources
from labs.vm.sources import Sources

CGROUP = "/jitterscope-lab-vm"
COLLECTOR = REPOSITORY / "bin" / "jitterscope-collector"
# Lines of cpu.stat and the metric that counts the same.
COUNTERS = {
    "usage_usec": "cpu_usage_us",
    "user_usec": "cpu_user_us",
    "system_usec": "cpu_system_us",
    "nr_periods": "cpu_periods",
    "nr_throttled": "cpu_throttled_periods",
    "throttled_usec": "cpu_throttled_us",
}
_MARK = "===== "


@dataclass(frozen=True, slots=True)
class Comparison:
    """By line of cpu.stat: what the kernel counted during the run, and the sum of the collector's samples."""

    kernel: dict[str, int]
    collector: dict[str, float]
    facts: dict[str, str]
    sources: Sources
    ticks: int

    @property
    def agrees(self) -> bool:
        return self.kernel == self.collector


def compare(
    folder: Path,
    say: Say,
    quota_us: int = 20_000,
    period_us: int = 100_000,
    busy_s: int = 8,
    throttled_us: int = 0,
    suite: str = "",
) -> Comparison:
    """Boot, throttle a busy loop in its own cgroup while the collector samples it, and compare.

    The loop runs for `busy_s` and then, up to a minute more, until it was throttled for `throttled_us`: an emulator
    beside other work leaves it little CPU time.
    `suite`: of Debian, whose kernel boots; without: what this machine's apt has.
    """
    if missing := machine.missing_tools():
        raise LabError(f"Install these first: apt-get install {' '.join(missing)}")
    if not COLLECTOR.exists():
        raise LabError(f"{COLLECTOR} is missing: run `make build` first.")
    kernel_image = machine.kernel(suite)
    say(f"Booting {kernel_image.name} with cgroup v2 in qemu")
    image = machine.initramfs(folder, _script(quota_us, period_us, busy_s, throttled_us), {"collector": COLLECTOR})
    outcome = machine.boot(folder, image, kernel_image=kernel_image)
    return _judge(outcome)


def _script(quota_us: int, period_us: int, busy_s: int, throttled_us: int) -> str:
    """The cgroup is idle while the collector starts and before it ends, so that its samples miss nothing."""
    folder = f"/sys/fs/cgroup{CGROUP}"
    return f"""{sources.SCRIPT}
echo '+cpu +memory +pids' > /sys/fs/cgroup/cgroup.subtree_control
mkdir {folder}
echo '{quota_us} {period_us}' > {folder}/cpu.max
sleep 1  # setting a limit starts the period timer, which counts once or twice before it rests
cp {folder}/cpu.stat /tmp/before
/bin/collector dump --seconds 600 --spool-dir /tmp/spool --cpu-budget 0 >/tmp/batches 2>/tmp/complaints &
dump=$!
while kill -0 $dump && ! grep -q '"{CGROUP}"' /tmp/batches; do sleep 1; done
sleep 1
sh -c 'echo $$ > {folder}/cgroup.procs; while :; do :; done' &
busy=$!
sleep {busy_s}
more=60
while [ $more -gt 0 ] && [ "$(sed -n 's/^throttled_usec //p' {folder}/cpu.stat)" -lt {throttled_us} ]; do
    sleep 1
    more=$((more - 1))
done
kill -9 $busy
sleep 3
kill -INT $dump
wait $dump
code=$?
cat /tmp/complaints
{{
    echo '{_MARK}release'; uname -r
    echo '{_MARK}code'; echo $code
    echo '{_MARK}before'; cat /tmp/before
    echo '{_MARK}after'; cat {folder}/cpu.stat
    echo '{_MARK}batches'; cat /tmp/batches
    echo '{_MARK}sources v1'; cat /tmp/sources-v1
    echo '{_MARK}sources v2'; cat /tmp/sources-v2
    echo '{_MARK}end'
}} > /dev/ttyS1
"""


def _judge(outcome: machine.Outcome) -> Comparison:
    parts = parts_of(outcome.output.decode())
    if "end" not in parts or parts["code"] != ["0"]:
        raise LabError(f"The collector failed in the machine:\n{outcome.console[-3000:]}")
    before, after = _counters(parts["before"]), _counters(parts["after"])
    sums = dict.fromkeys(COUNTERS, 0.0)
    facts: dict[str, str] = {}
    ticks = 0
    names = {METRICS[metric].id: line for line, metric in COUNTERS.items()}
    for line in parts["batches"]:
        batch = json_format.Parse(line, pb.Batch())
        keys = [resource.key for resource in batch.resources]
        ticks += _add(batch, keys, names, sums)
        facts.update({fact.name: fact.value for fact in batch.facts if keys[fact.resource] == CGROUP})
        facts.update({fact.name: fact.value for fact in batch.facts if fact.name.startswith("node.")})
    kernel = {line: after[line] - before[line] for line in COUNTERS}
    said = sources.read(parts["release"][0], parts["sources v1"], parts["sources v2"])
    return Comparison(kernel, sums, facts, said, ticks)


def _add(batch: pb.Batch, keys: list[str], names: dict[int, str], sums: dict[str, float]) -> int:
    """Add the cgroup's 100 ms samples; returns the number of ticks of its CPU time."""
    ticks = 0
    for block in batch.blocks:
        if block.step_us != 100_000:
            continue
        rows = decode_wire(block.encoding, block.values, block.tick_count)
        for resource, metric, values in zip(block.resource, block.metric, rows, strict=True):
            if keys[resource] == CGROUP and metric in names:
                sums[names[metric]] += float(np.nansum(values))
                ticks += int(np.isfinite(values).sum()) if names[metric] == "usage_usec" else 0
    return ticks


def _counters(lines: list[str]) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in lines)}


def parts_of(text: str) -> dict[str, list[str]]:
    """Lines of the machine's output, by the mark before them."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith(_MARK):
            current = parts.setdefault(line.removeprefix(_MARK), [])
        elif line.strip():
            current.append(line)
    return parts
