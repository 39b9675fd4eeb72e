"""What a product says of a node with cgroup v2, and whether its figures are the kernel's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from labs import watching
from labs.console import Say
from labs.kubernetes.building import KUBERNETES
from labs.product import Product
from labs.report import IncidentLine, line_of
from labs.vm import cgroup_v2
from labs.vm.node import Counted, Watched
from labs.vm.node_files import CACHE, DNS, WEB, Parameters

LAB, VARIANT, CAUSE = "kubernetes-v2", "fault", "cpu/limit_too_low"
KILL = "memory.oom_kill"
_STORED = Path(__file__).with_name("node.json")
# File of a cgroup → its counters, and the metric that counts the same.
_COUNTERS: Mapping[str, Mapping[str, str]] = {
    # The bursts are of newer kernels.
    "cpu.stat": {**cgroup_v2.COUNTERS, "nr_bursts": "cpu_bursts", "burst_usec": "cpu_burst_us"},
    "cpu.stat.local": {"throttled_usec": "cpu_throttled_local_us"},
    "memory.events.local": {"high": "memory_high_events", "max": "memory_limit_hits", "oom_kill": "memory_oom_kills"},
    "io.stat": {
        "rbytes": "disk_read_bytes",
        "wbytes": "disk_written_bytes",
        "rios": "disk_reads",
        "wios": "disk_writes",
    },
    **{
        f"{what}.pressure": {"some": f"psi_{what}_some_us", "full": f"psi_{what}_full_us"}
        for what in ("cpu", "memory", "io")
    },
}


class Compared(BaseModel):
    """A counter of a cgroup since it was created. `product` None: the metric has no value."""

    cgroup: str
    file: str
    counter: str
    kernel: int
    product: float | None

    @property
    def equal(self) -> bool:
        return self.kernel == (self.product or 0)


class Kill(BaseModel):
    """An OOM kill as the product shows it: at which cgroup or node, and what is known of it."""

    at: str
    attributes: dict[str, str]


class Report(BaseModel):
    """`measured`: what the load driver measured. `names`: cgroup of a pod or container → the product's name.

    `absent`: files that this kernel does not have. `sources`: of the collector, those that do less than all they can.
    """

    model_config = ConfigDict(extra="forbid")

    lab: str
    kernel: str
    systemd: str
    kubernetes: str
    parameters: Parameters
    qps: int
    measured: dict[str, float]
    node: dict[str, str]
    names: dict[str, str]
    facts: dict[str, dict[str, str]]
    compared: list[Compared]
    absent: list[str]
    kills: list[Kill]
    incidents: list[IncidentLine]
    risks: list[IncidentLine]
    sources: dict[str, str]

    @property
    def unequal(self) -> list[Compared]:
        return [one for one in self.compared if not one.equal]


def report(seen: Watched, parameters: Parameters, record_to: Path | None, say: Say) -> Report:
    """Ask the product, while the machine runs. `record_to` keeps its data of the throttled pod."""
    product, counted = seen.product, seen.counted
    listed = {one["key"]: one for one in product.resources("cgroup") if "-pod" in one["key"]}
    ids = {key: int(one["id"]) for key, one in listed.items()}
    # Its containers come and go.
    cache = next((key for key, one in listed.items() if one["name"] == f"{CACHE.namespace}/{CACHE.pod}"), "")
    dns, web = counted.cgroup_of(DNS.name), counted.cgroup_of(WEB.name)
    say("Waiting for the product's final verdict")
    until_us = counted.until_us + 2_000_000
    said = watching.last_word(product, [ids[dns]], seen.since_us, counted.until_us)
    recordings = {key: product.recording(ids[key], seen.since_us, until_us) for key in (dns, web, cache) if key in ids}
    if CAUSE not in [one["cause"] for one in said.incidents]:
        watching.say_why_not(CAUSE, recordings[dns], say)
    if record_to is not None:
        _record(recordings[dns], parameters, counted, record_to)
    [node] = recordings[dns].resources[:1]
    return Report(
        lab=LAB,
        kernel=counted.kernel,
        systemd=counted.systemd,
        kubernetes=KUBERNETES,
        parameters=parameters,
        qps=counted.qps,
        measured=dict(counted.answers),
        node={fact.name: fact.value for fact in node.facts if fact.name in ("node.kernel", "node.cgroup_version")},
        names={key: one["name"] for key, one in listed.items()},
        facts={listed[key]["name"]: _facts(product, id_) for key, id_ in ids.items()},
        compared=[row for key, one in recordings.items() for row in _compared(counted, key, one)],
        absent=[name for name in _COUNTERS if name not in counted.files[dns]],
        kills=_kills(product, cache, seen.since_us, until_us),
        incidents=[line_of(one) for one in product.all_incidents()],
        risks=[line_of(one) for one in product.risks(None)],
        sources=_sources(recordings[dns]),
    )


def table(found: Report) -> str:
    """What people read."""
    lines = [f"Linux {found.kernel}, systemd {found.systemd}, Kubernetes {found.kubernetes}, {found.qps} queries/s"]
    lines += [f"{found.names.get(key, key)}\n  {key}" for key in sorted({one.cgroup for one in found.compared})]
    for one in found.compared:
        told = "-" if one.product is None else f"{one.product:.0f}"
        name = found.names.get(one.cgroup, one.cgroup)
        different = "" if one.equal else "  differs"
        lines.append(f"{name:38} {one.file:15} {one.counter:14} {one.kernel:>12} {told:>12}{different}")
    lines += [f"not in this kernel: {name}" for name in found.absent]
    lines += [f"OOM kill at {one.at}: {one.attributes}" for one in found.kills]
    for kind, told_of in (("incident", found.incidents), ("risk", found.risks)):
        lines += [f"{kind}: {one.cause} ({one.severity}) of {one.subject}\n  {one.title}" for one in told_of]
    lines += [f"{name}: {text}" for name, text in found.sources.items()]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Stored:
    """What docs/sources.md says of the last stored run.

    `files`: those whose counters the product had exactly. `sources`: those that do less than all they can.
    """

    kernel: str
    systemd: str
    kubernetes: str
    files: Sequence[str]
    absent: Sequence[str]
    sources: Mapping[str, str]


def stored() -> Stored:
    return Stored(**json.loads(_STORED.read_text()))


def store(found: Report) -> None:
    unequal = {one.file for one in found.unequal}
    files = [name for name in _COUNTERS if name not in unequal and name not in found.absent]
    told = Stored(found.kernel, found.systemd, found.kubernetes, files, found.absent, found.sources)
    _STORED.write_text(json.dumps(asdict(told), indent=1) + "\n")


def _facts(product: Product, resource_id: int) -> dict[str, str]:
    return {one["name"]: one["value"] for one in product.resource(resource_id)["facts"]}


def _compared(counted: Counted, key: str, recording: Recording) -> list[Compared]:
    [own] = [one for one in recording.resources if one.kind == "cgroup" and one.key == key]
    rows: list[Compared] = []
    for name, counters in _COUNTERS.items():
        kernel = _read(name, counted.files[key].get(name, ()))
        for counter, metric in counters.items():
            if counter in kernel:
                values = own.series.get(metric, np.array([np.nan]))
                sum_ = float(np.nansum(values)) if np.isfinite(values).any() else None
                rows.append(Compared(cgroup=key, file=name, counter=counter, kernel=kernel[counter], product=sum_))
    return rows


def _read(name: str, lines: Sequence[str]) -> dict[str, int]:
    """The counters of a file; of io.stat, those of the disk with the most requests, as the collector does."""
    if name.endswith(".pressure"):
        return {line.split()[0]: int(line.rpartition("total=")[2]) for line in lines}
    if name == "io.stat":
        pairs = [[field.split("=") for field in line.split()[1:]] for line in lines]
        disks = [{key: int(value) for key, value in one} for one in pairs]
        return max(disks, key=lambda one: one.get("rios", 0) + one.get("wios", 0), default={})
    return {key: int(value) for key, value in (line.split() for line in lines)}


def _kills(product: Product, pod: str, from_us: int, to_us: int) -> list[Kill]:
    """All OOM kills at the pod, at its containers, also those that are gone, and at what they are in."""
    found: dict[tuple[str, int], Kill] = {}
    cgroups = product.all_cgroups()
    names = {one["key"]: one["name"] for one in cgroups}
    for one in cgroups:
        if pod and one["key"].startswith(pod):
            for resource in product.recording(int(one["id"]), from_us, to_us).resources:
                at = names.get(resource.key, resource.key)
                for event in resource.events:
                    if event.kind == KILL:
                        found[(resource.key, event.start_us)] = Kill(at=at, attributes=dict(event.attributes))
    return list(found.values())


def _sources(recording: Recording) -> dict[str, str]:
    return {
        one.name: one.state + (f": {one.detail}" if one.detail else "") + (f"; needs {one.needs}" if one.needs else "")
        for one in recording.sources
        if one.state != "active"
    }


def _record(recording: Recording, parameters: Parameters, counted: Counted, path: Path) -> None:
    labels: dict[str, Any] = {
        "lab": LAB,
        "variant": VARIANT,
        "expected": CAUSE,
        "parameters": parameters.model_dump_json(),
        "measured": json.dumps(dict(counted.answers)),
        "measured_from_us": str(recording.start_us),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    file.save(replace(recording, labels=labels), path)
