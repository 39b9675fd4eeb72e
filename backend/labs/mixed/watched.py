"""A mixed-load run under a running product: what it says about a node without a fault."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from pydantic import BaseModel, ConfigDict

from jitterscope.diagnosis.core.severity import SLOW_US
from labs.console import Say
from labs.errors import LabError
from labs.mixed.fitting import fitting_rate
from labs.mixed.fleet import Member, fleet
from labs.mixed.freezes import Freezes
from labs.mixed.parameters import Parameters
from labs.mixed.traffic import Stream, run
from labs.product import Product
from labs.repeating import Repeating
from labs.report import IncidentLine, line_of
from labs.watching import find_cgroups, now_us, record

LAB = "mixed-load"
_AROUND_US = 60_000_000
# Data arrive within a second, unanswered queries are given up after 5 s, and troubled subjects are diagnosed again
# every 10 s.
_SETTLE_S = 16.0


class ServerFigures(BaseModel):
    """Figures of one container, as measured by the lab; None if its clients are other servers of the fleet.

    `slow`: answers over 20 ms and those that never came. CPU figures are in CPUs.
    """

    name: str
    cpu_limit: float | None
    requests: int | None = None
    slow: int | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None


class MachineFigures(BaseModel):
    """CPUs used by anything, over whole seconds of the run; `full_s`: seconds in which all were.

    `stolen_s`: CPU time that the hypervisor took; `stolen_max_ratio`: its share of all CPU time in the worst second.
    `frozen_s`: in which a real-time program of the lab was due and did not run, by 30 ms or more; `frozen_max_ms`: the
    longest. None without the right to run one.
    """

    cpus: int
    busy_mean: float
    busy_p99: float
    full_s: int
    stolen_s: float
    stolen_max_ratio: float
    frozen_s: float | None
    frozen_max_ms: float | None


class MixedReport(BaseModel):
    """What the product said about the fleet and its node, and what the lab measured itself."""

    model_config = ConfigDict(extra="forbid")

    lab: str
    parameters: dict[str, Any]
    incidents: list[IncidentLine]
    risks: list[IncidentLine]
    servers: list[ServerFigures]
    machine: MachineFigures


@dataclass(frozen=True, slots=True)
class _Second:
    busy: float
    full: bool
    stolen: float


class _Machine(Repeating):
    """How busy the machine is, each second."""

    def __init__(self) -> None:
        super().__init__(1.0)
        self._seen: list[_Second] = []
        psutil.cpu_percent(percpu=True)
        self._stolen_s = psutil.cpu_times().steal

    def look(self, late_us: int) -> None:
        busy = [one / 100 for one in psutil.cpu_percent(percpu=True)]
        stolen_s, self._stolen_s = self._stolen_s, psutil.cpu_times().steal
        self._seen.append(_Second(sum(busy), min(busy) > 0.98, self._stolen_s - stolen_s))

    def figures(self, freezes: Freezes) -> MachineFigures:
        frozen_s, frozen_max_ms = freezes.figures()
        seen, cpus = self._seen[1:], psutil.cpu_count() or 1
        busy = [one.busy for one in seen] or [0.0]
        stolen_s = [one.stolen for one in seen] or [0.0]
        return MachineFigures(
            cpus=cpus, busy_mean=round(float(np.mean(busy)), 2), busy_p99=round(float(np.quantile(busy, 0.99)), 2),
            full_s=sum(one.full for one in seen), stolen_s=round(sum(stolen_s), 2),
            stolen_max_ratio=round(min(max(stolen_s) / cpus, 1.0), 2), frozen_s=frozen_s, frozen_max_ms=frozen_max_ms,
        )  # fmt: skip


class _Told(Repeating):
    """Incidents and risks of some subjects, printed as they arrive; by kind and number."""

    def __init__(self, product: Product, subject_ids: Sequence[int], since_us: int, say: Say) -> None:
        super().__init__(10.0)
        self._product, self._ids, self._since_us, self._say = product, subject_ids, since_us, say
        self.found: dict[tuple[str, int], dict[str, Any]] = {}

    def look(self, late_us: int) -> None:
        for subject in self._ids:
            for kind, listed in (
                ("incident", self._product.incidents(subject, self._since_us)), ("risk", self._product.risks(subject))
            ):  # fmt: skip
                for one in listed:
                    if (kind, one["id"]) not in self.found:
                        self._say(f"{kind} {one['cause']} of {one['subject']['name']}: {one['title']}")
                    self.found[kind, one["id"]] = one

    def of(self, kind: str) -> list[IncidentLine]:
        return [line_of(one) for (which, _), one in sorted(self.found.items()) if which == kind]


@dataclass(frozen=True, slots=True)
class Watched:
    """A finished run: its report, and what the product found in [from_us, to_us), by kind and number."""

    report: MixedReport
    found: dict[tuple[str, int], dict[str, Any]]
    from_us: int
    to_us: int

    def keep(self, product: Product, folder: Path, say: Say) -> None:
        """Record what the product stored around each finding, within the run; this takes time."""
        folder.mkdir(parents=True, exist_ok=True)
        for (kind, number), one in self.found.items():
            begins = "onset_at" if kind == "incident" else "first_seen_at"
            first, last = (
                round(datetime.fromisoformat(one[name]).timestamp() * 1e6) for name in (begins, "last_seen_at")
            )
            seed = str(self.report.parameters["seed"])
            path = folder / f"{seed}-{kind}-{number}-{one['cause'].replace('/', '-')}.jitterscope"
            try:
                record(
                    product, one["subject"]["resource_id"], max(self.from_us, first - _AROUND_US),
                    min(self.to_us, last + _AROUND_US), {"lab": LAB, "seed": seed, "title": one["title"]}, path,
                )  # fmt: skip
            except LabError as error:
                say(f"No recording of {kind} {one['cause']}: {error}")


def watch(product: Product, parameters: Parameters, say: Say) -> Watched:
    """Run it and report both sets of figures."""
    since_us = now_us()
    with tempfile.TemporaryDirectory(prefix="jitterscope-lab-") as folder, fleet(parameters, Path(folder), say) as made:
        members, clients = made
        ids = find_cgroups(product, [one.cgroup.key for one in members])
        ids += [] if (node := product.node_id()) is None else [node]
        told = _Told(product, ids, since_us, say)
        with _Machine() as machine, Freezes() as freezes, told:
            rate = parameters.rate or fitting_rate(members, clients, Path(folder), say)
            streams = run(parameters, rate, members, clients, Path(folder), say)
        to_us = now_us()
        say("Waiting for the product's final verdict")
        time.sleep(_SETTLE_S + product.scheduled_diagnosis_every_s)
        told.look(0)
    figures = {one.member.name: _figures(one) for one in streams}
    report = MixedReport(
        lab=LAB,
        parameters=parameters.model_dump(mode="json") | {"rate": rate},
        incidents=told.of("incident"),
        risks=told.of("risk"),
        servers=[figures.get(one.name, _unasked(one)) for one in members],
        machine=machine.figures(freezes),
    )
    return Watched(report, told.found, since_us, to_us)


def _limit(member: Member) -> float | None:
    return None if member.cpu_limit_us < 0 else member.cpu_limit_us / 100_000


def _unasked(member: Member) -> ServerFigures:
    return ServerFigures(name=member.name, cpu_limit=_limit(member))


def _figures(stream: Stream) -> ServerFigures:
    latency, lost = stream.latencies()
    answered = latency[~lost]
    p50, p99, slowest = np.quantile(answered, (0.5, 0.99, 1.0)) / 1e3 if answered.size else (None, None, None)
    return ServerFigures(
        name=stream.member.name, cpu_limit=_limit(stream.member), requests=latency.size,
        slow=int(((latency > SLOW_US) | lost).sum()), p50_ms=p50, p99_ms=p99, max_ms=slowest,
    )  # fmt: skip


def table(report: MixedReport) -> str:
    """Human-readable table."""
    lines = [f"{'':14}{'limit':>8}{'requests':>10}{'slow':>7}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}"]
    for one in report.servers:
        limit = "none" if one.cpu_limit is None else f"{one.cpu_limit:g}"
        row = f"{one.name:14}{limit:>8}"
        if one.requests is not None:
            row += f"{one.requests:>10,}{one.slow:>7}"
            row += "".join("        -" if value is None else f"{value:>9.2f}" for value in
                           (one.p50_ms, one.p99_ms, one.max_ms))  # fmt: skip
        lines.append(row)
    machine = report.machine
    lines.append(
        f"machine: {machine.busy_mean:g} of {machine.cpus} CPUs busy on average, {machine.busy_p99:g} at p99, "
        f"all of them for {machine.full_s} s; the hypervisor took {machine.stolen_s:g} s of CPU time, "
        f"at most {100 * machine.stolen_max_ratio:.0f} % of a second"
    )
    if machine.frozen_s is not None:
        lines.append(f"it stood still for {machine.frozen_s:g} s, at most {machine.frozen_max_ms:g} ms at once")
    for kind, found in (("incident", report.incidents), ("risk", report.risks)):
        for line in found:
            lines += [f"{kind}: {line.cause} ({line.confidence}, {line.severity}) of {line.subject}", f"  {line.title}"]
    return "\n".join(lines if report.incidents or report.risks else [*lines, "no incident, no risk"])
