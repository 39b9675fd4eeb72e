"""What a lab prints: its last line is one of these reports, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

FiguresT = TypeVar("FiguresT", bound=BaseModel)


class IncidentLine(BaseModel):
    """One incident or risk of the lab's cgroups; `severity` is None for a risk.

    `also_affected`: keys of others that the incident lists.
    """

    cause: str
    confidence: str
    subject: str
    severity: str | None
    title: str
    also_affected: list[str] = []


class Report(BaseModel, Generic[FiguresT]):
    """What the product said and what the lab measured itself.

    `time_to_incident_s`: from the start of the trouble to the first incident's row; None without one.
    `missing_ticks_ratio`: share of the subject's ticks that are missing in the product's data; None if a lab does not
    check.
    """

    model_config = ConfigDict(extra="forbid")

    lab: str
    variant: str
    parameters: dict[str, Any]
    incidents: list[IncidentLine]
    risks: list[IncidentLine]
    measured: FiguresT
    observed: FiguresT
    time_to_incident_s: float | None
    incident_urls: list[str]
    missing_ticks_ratio: float | None = None


def line_of(found: dict[str, Any]) -> IncidentLine:
    """A line from an incident or a risk of the REST API."""
    return IncidentLine(
        cause=found["cause"],
        confidence=found["confidence"],
        subject=found["subject"]["name"],
        severity=found.get("severity"),
        title=found["title"],
        also_affected=[one["key"] for one in found.get("also_affected", [])],
    )


def onset_us(incident: dict[str, Any]) -> int:
    """When its first symptom occurred (µs since the epoch), before the incident opened."""
    return round(datetime.fromisoformat(incident["onset_at"]).timestamp() * 1e6)


def opened_us(incident: dict[str, Any]) -> int:
    """When the incident's row was created (µs since the epoch)."""
    return round(datetime.fromisoformat(incident["opened_at"]).timestamp() * 1e6)


def seconds_to_incident(incidents: list[dict[str, Any]], since_us: int | None) -> float | None:
    """From `since_us` to the first incident's row."""
    if not incidents or since_us is None:
        return None
    return round((opened_us(incidents[0]) - since_us) / 1e6, 3)


def table(report: Report[Any], since: str) -> str:
    """Human-readable table of both sets of figures. `since`: what the time to the incident is counted from."""
    measured, observed = report.measured.model_dump(), report.observed.model_dump()
    width = max(map(len, measured)) + 2
    lines = [f"{'':{width}}{'measured':>12}{'observed':>12}"]
    for name, value in measured.items():
        lines.append(f"{name:{width}}{_show(value):>12}{_show(observed[name]):>12}")
    for kind, found in (("incident", report.incidents), ("risk", report.risks)):
        for one in found:
            lines += [f"{kind}: {one.cause} ({one.confidence}, {one.severity}) of {one.subject}", f"  {one.title}"]
    lines += [] if report.incidents or report.risks else ["no incident, no risk"]
    if report.time_to_incident_s is not None:
        lines.append(f"from {since} to the incident: {report.time_to_incident_s:.1f} s")
    return "\n".join(lines + report.incident_urls)


def _show(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:d}" if isinstance(value, int) else f"{value:.4g}"
