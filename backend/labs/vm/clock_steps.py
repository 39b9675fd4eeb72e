"""A collector in a machine whose clock is set an hour ahead and back, then an hour behind and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import zstandard
from google.protobuf import json_format

from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series.catalogue import METRICS
from jitterscope.series.codec import decode_wire
from labs.console import Say
from labs.errors import LabError
from labs.vm import machine
from labs.vm.cgroup_v2 import COLLECTOR, parts_of

_MARK = "===== "


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as sent, and its tick numbers."""

    body: bytes
    ticks: list[int]


@dataclass(frozen=True, slots=True)
class Collected:
    """`true_tick`: number of a tick by the clock before the first step."""

    batches: list[Batch]
    log: str
    true_tick: int


def collect(folder: Path, say: Say, each_s: int = 5) -> Collected:
    """Boot, and let the collector sample for some seconds before, between, and after the steps."""
    if missing := machine.missing_tools():
        raise LabError(f"Install these first: apt-get install {' '.join(missing)}")
    if not COLLECTOR.exists():
        raise LabError(f"{COLLECTOR} is missing: run `make build` first.")
    say(f"Booting {machine.kernel().name} in qemu to set its clock")
    folder.mkdir(parents=True, exist_ok=True)
    outcome = machine.boot(folder, machine.initramfs(folder, _script(each_s), {"collector": COLLECTOR}))
    parts = parts_of(outcome.output.decode())
    if "end" not in parts or parts["code"] != ["0"]:
        raise LabError(f"The collector failed in the machine:\n{outcome.console[-3000:]}")
    batches = [_batch(json_format.Parse(line, pb.Batch())) for line in parts["batches"]]
    return Collected(batches, "\n".join(parts.get("log", [])), int(parts["now"][0]) * 10)


def _script(each_s: int) -> str:
    step = "date -s @$(( $(date +%s) {} 3600 )) >/dev/null"
    steps = "\n".join(f"sleep {each_s}\n{step.format(sign)}" for sign in ("+", "-", "-", "+"))
    return f"""
/bin/collector dump --seconds 600 --spool-dir /tmp/spool --cpu-budget 0 >/tmp/batches 2>/tmp/complaints &
dump=$!
while kill -0 $dump && ! [ -s /tmp/batches ]; do sleep 1; done
now=$(date +%s)
{steps}
sleep {each_s}
kill -INT $dump
wait $dump
code=$?
{{
    echo '{_MARK}code'; echo $code
    echo '{_MARK}now'; echo $now
    echo '{_MARK}log'; cat /tmp/complaints
    echo '{_MARK}batches'; cat /tmp/batches
    echo '{_MARK}end'
}} > /dev/ttyS1
"""


def _batch(message: pb.Batch) -> Batch:
    metric = METRICS["collector_tick"].id
    ticks: list[int] = []
    for block in message.blocks:
        if block.step_us != 100_000:
            continue
        rows = decode_wire(block.encoding, block.values, block.tick_count)
        for found, values in zip(block.metric, rows, strict=True):
            if found == metric:
                first = block.start_us // block.step_us
                ticks += [first + int(at) for at in np.flatnonzero(np.isfinite(values))]
    return Batch(zstandard.compress(message.SerializeToString()), ticks)
