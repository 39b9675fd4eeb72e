"""The result of `jitterscope lab chart`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Phase(BaseModel):
    """What happened to requests.

    `retried`: attempts that were retried, by request and reason. `failed`: those of them that were refused, reset, or
    answered with an error, not late.
    """

    model_config = ConfigDict(extra="forbid")

    phase: str
    seconds: float
    answered: int
    retried: dict[str, int]
    failed: dict[str, int]
    slowest_ms: float


class Stored(BaseModel):
    """What a node sent, and what the product stored. `wrong`: ticks with another value than the one sent."""

    model_config = ConfigDict(extra="forbid")

    node: str
    batches: int
    stored_batches: int
    ticks: int
    missing: int
    wrong: int


class Report(BaseModel):
    """The report of one run.

    `ready_s`: from `helm install` to all pods ready; `signed_in_s`: to the first sign-in; `data_s`: to the first data
    of the chart's own collector; `first_incident_s`: from the demo's pods being ready to its incident. `added`: objects
    added by the upgrade's options, which the rollback removed again. `left_*`: what `helm uninstall` left that was not
    there before; `after_removal`: what remains of it after following docs/deploy.md. `collector_dropped`: batches that
    the chart's own collector dropped.
    """

    model_config = ConfigDict(extra="forbid")

    images_s: float
    ready_s: float
    signed_in_s: float
    data_s: float
    first_incident: str
    first_incident_s: float
    added: list[str]
    phases: list[Phase]
    stored: list[Stored]
    collector_batches: int
    collector_dropped: int
    left_objects: list[str]
    left_on_node: list[str]
    after_removal: list[str]


def table(report: Report) -> str:
    """Human-readable table."""
    lines = [
        f"Images loaded in {report.images_s:.1f} s; pods ready {report.ready_s:.1f} s after `helm install`, "
        f"first login after {report.signed_in_s:.1f} s, first data of its collector after {report.data_s:.1f} s"
    ]
    lines.append(f"First incident {report.first_incident_s:.1f} s after the demo ran: {report.first_incident}")
    lines.append(f"Brought by the upgrade, gone with the rollback: {', '.join(report.added)}")
    lines += [
        f"{one.phase:18} {one.seconds:6.1f} s  {one.answered:5} answered, slowest {one.slowest_ms:7.1f} ms, "
        f"tried again: {', '.join(f'{count} {why}' for why, count in one.retried.items()) or 'none'}"
        for one in report.phases
    ]
    sent, ticks = sum(one.batches for one in report.stored), sum(one.ticks for one in report.stored)
    lines.append(
        f"Sent {sent} batches with {ticks} ticks, stored {sum(one.stored_batches for one in report.stored)} batches; "
        f"{sum(one.missing for one in report.stored)} ticks missing, {sum(one.wrong for one in report.stored)} wrong"
    )
    lines.append(
        f"The chart's own collector: {report.collector_batches} batches stored, {report.collector_dropped} dropped"
    )
    found = {
        "After helm uninstall the cluster has": report.left_objects,
        "The node has": report.left_on_node,
        "After the removal of the rest there is": report.after_removal,
    }
    for title, left in found.items():
        lines += [f"{title}{':' if left else ' nothing more than before'}", *(f"  {one}" for one in left)]
    return "\n".join(lines)
