"""What a lab prints: its last line is one of these, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from jitterscope.labs.figures import Figures


class IncidentLine(BaseModel):
    """One incident or risk of the lab's cgroup. `severity` is None for a risk."""

    cause: str
    confidence: str
    subject: str
    severity: str | None


class Report(BaseModel):
    """What the product said beside what the lab measured itself.

    `time_to_incident_s`: from the first throttled query to the row of the first incident; None without one.
    """

    model_config = ConfigDict(extra="forbid")

    lab: str
    variant: str
    parameters: dict[str, Any]
    incidents: list[IncidentLine]
    risks: list[IncidentLine]
    measured: Figures
    observed: Figures
    time_to_incident_s: float | None
    incident_urls: list[str]


def line_of(found: dict[str, Any]) -> IncidentLine:
    """From an incident or a risk of the REST interface."""
    return IncidentLine(
        cause=found["cause"],
        confidence=found["confidence"],
        subject=found["subject"]["name"],
        severity=found.get("severity"),
    )


def time_to_incident_s(incidents: list[dict[str, Any]], first_throttled_query_us: int | None) -> float | None:
    """Seconds from that query to the row of the first incident."""
    if not incidents or first_throttled_query_us is None:
        return None
    opened = datetime.fromisoformat(incidents[0]["opened_at"])
    return round(opened.timestamp() - first_throttled_query_us / 1e6, 3)


def table(report: Report) -> str:
    """For people: both accounts side by side."""
    lines = [f"{'':16}{'measured':>12}{'observed':>12}"]
    observed = report.observed.model_dump()
    for name, value in report.measured.model_dump().items():
        lines.append(f"{name:16}{_show(value):>12}{_show(observed[name]):>12}")
    for kind, found in (("incident", report.incidents), ("risk", report.risks)):
        lines += [f"{kind}: {one.cause} ({one.confidence}, {one.severity}) of {one.subject}" for one in found]
    lines += [] if report.incidents or report.risks else ["no incident, no risk"]
    if report.time_to_incident_s is not None:
        lines.append(f"from the first throttled query to the incident: {report.time_to_incident_s:.1f} s")
    return "\n".join(lines + report.incident_urls)


def _show(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:d}" if isinstance(value, int) else f"{value:.4g}"
