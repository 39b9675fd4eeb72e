"""The result of `jitterscope lab compose`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from labs.kubernetes.lifecycle_report import Phase, Stored


class Part(BaseModel):
    """What happened to requests, and what is stored afterwards of what was sent meanwhile."""

    model_config = ConfigDict(extra="forbid")

    phases: list[Phase]
    stored: list[Stored]


class Report(BaseModel):
    """The report of one run.

    `limits_kept`: whether the collector had the limits of docker-compose.yml. `ready_s`: from `docker compose up` to
    all services started; `data_s`: to the first data of the collector. `sources`: of that collector, name → state.
    `returned`: the services that run after each restart. `collector_dropped`: batches. `first_incident_s`: since the
    fault began. `restored`: what was sent before the dump began, compared with what the restored database has.
    `schemas`: revision before and after the upgrade from `older`, a commit.
    """

    model_config = ConfigDict(extra="forbid")

    docker: str
    compose: str
    limits_kept: bool
    ready_s: float
    data_s: float
    sources: dict[str, str]
    restarts: Part
    returned: dict[str, list[str]]
    collector_batches: int
    collector_dropped: int
    first_incident: str
    first_incident_subject: str
    first_incident_s: float
    dump_bytes: int
    restored: list[Stored]
    older: str
    schemas: tuple[str, str]
    upgrade: Part


def table(report: Report) -> str:
    """Human-readable table."""
    lines = [
        f"Docker {report.docker}, Compose {report.compose}: services started {report.ready_s:.1f} s after "
        f"`docker compose up`, first data of the collector after {report.data_s:.1f} s"
    ]
    lines += _shown(report.restarts)
    lines.append(f"The collector: {report.collector_batches} batches stored, {report.collector_dropped} dropped")
    lines.append(
        f"First incident {report.first_incident_s:.1f} s after the fault began: {report.first_incident} "
        f"({report.first_incident_subject})"
    )
    ticks, missing = sum(one.ticks for one in report.restored), sum(one.missing for one in report.restored)
    lines.append(f"Dump of {report.dump_bytes / 2**20:.1f} MiB restored: {missing} of {ticks} ticks missing")
    lines.append(f"Upgrade from {report.older}, schema {' → '.join(report.schemas)}")
    lines += _shown(report.upgrade)
    return "\n".join(lines)


def _shown(part: Part) -> list[str]:
    lines = [
        f"{one.phase:20} {one.seconds:6.1f} s  {one.answered:5} answered, slowest {one.slowest_ms:7.1f} ms, "
        f"tried again: {', '.join(f'{count} {why}' for why, count in one.retried.items()) or 'none'}"
        for one in part.phases
    ]
    ticks = sum(one.ticks for one in part.stored)
    missing, wrong = sum(one.missing for one in part.stored), sum(one.wrong for one in part.stored)
    return [*lines, f"Sent {ticks} ticks; {missing} missing, {wrong} wrong"]
