"""What the collector's sources said on cgroup v1 and v2 when they last ran in the machine: docs/sources.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

# Debian's suite that has the newest kernel.
NEWEST = "sid"
# Each hierarchy of v1, by its controllers.
_V1 = "cpu,cpuacct memory pids blkio"
# A controller belongs to the hierarchy of v2 again once that of v1 is unmounted, if no cgroup was created there.
SCRIPT = f"""
mkdir /tmp/v1
for one in {_V1}; do mkdir /tmp/v1/$one; mount -t cgroup -o $one none /tmp/v1/$one; done
/bin/collector check --cgroup-root /tmp/v1 >/tmp/sources-v1
for one in {_V1}; do umount /tmp/v1/$one; done
/bin/collector check >/tmp/sources-v2
"""


@dataclass(frozen=True, slots=True)
class Sources:
    """Source → what `jitterscope-collector check` prints about it, on each version."""

    kernel: str
    v1: Mapping[str, str]
    v2: Mapping[str, str]


def read(kernel: str, v1: Sequence[str], v2: Sequence[str]) -> Sources:
    """From the lines that were printed."""
    return Sources(kernel, _said(v1), _said(v2))


def stored(suite: str = "") -> Sources:
    """Of the last stored run with the kernel of this suite of Debian."""
    return Sources(**json.loads(_file(suite).read_text()))


def store(found: Sources, suite: str = "") -> None:
    _file(suite).write_text(json.dumps(asdict(found), indent=1) + "\n")


def _file(suite: str) -> Path:
    return Path(__file__).with_name(f"sources_{suite}.json" if suite else "sources.json")


def _said(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, text = line.split(maxsplit=1)
        found[name] = _short(text)
    return found


def _short(text: str) -> str:
    """Without the kernel's own words, which differ from one build of an eBPF program to the next."""
    said, _, needs = text.partition("; needs ")
    return f"{said.partition(':')[0]}: needs {needs}" if needs else said
