"""Waits for the incident of a sustained fault, applies a fix, and waits for the product's verdict."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from labs import report, watching
from labs.applying.ongoing import Ongoing, ProposedFix
from labs.console import Say
from labs.errors import LabError
from labs.product import Product

# Settings of the product that watches: fast enough for a lab, long enough for its tests over blocks of 10 s.
SETTLE_S, LEAST_S = 10.0, 60.0
ENVIRONMENT = {
    "JITTERSCOPE_VERIFICATION_SETTLE_S": f"{SETTLE_S:g}",
    "JITTERSCOPE_VERIFICATION_LEAST_S": f"{LEAST_S:g}",
}
_LOOK_EVERY_S = 0.5
# What the product sees of a change comes within this time. If it is another change by then, the fix is declared before
# that change has its verdict, after 60 s: later there would be nothing to compare with.
_REST_S = 30.0
_FINAL = ("verified", "did_not_help", "made_worse")


class Figure(BaseModel):
    """One measure before and after the fix, as the product measured it."""

    model_config = ConfigDict(extra="forbid")

    title: str
    unit: str
    before: float | None
    after: float | None
    p_value: float | None
    decides: bool


class Attempt(BaseModel):
    """The outcome of one fix.

    `predicted`: by measure, [low, expected, high] of a 90 % interval. `noticed`: whether the product detected the fix
    by itself, or the lab declared it. `verdict` is None if none came in time; then `waiting_for` says what was missing.
    """

    model_config = ConfigDict(extra="forbid")

    lab: str
    variant: str
    cause: str
    fix: str
    title: str
    noticed: Literal["seen", "declared"]
    predicted: dict[str, tuple[float, float, float]]
    measured: dict[str, Figure]
    verdict: str | None
    sentence: str | None
    waiting_for: str | None


def attempt(product: Product, fault: Ongoing, fix_id: str, say: Say, patience_s: float = 420.0) -> Attempt:
    """Try the fix on the running fault. Raises LabError if no incident opens, or if it does not propose the fix."""
    if fix_id not in fault.fixes:
        known = ", ".join(sorted(fault.fixes))
        raise LabError(f"{fault.lab} --variant {fault.variant} cannot try {fix_id!r}. It can try: {known}.")
    since_us, began = watching.now_us(), time.monotonic()
    subjects = _subjects(product, fault)
    incident = _incident(product, fault, subjects, since_us)
    say(f"Incident: {incident['title']}")
    # On a busy machine an incident comes late, so the comparison begins with its first symptom.
    gone_s = min(time.monotonic() - began, (watching.now_us() - report.onset_us(incident)) / 1e6)
    for _ in _while(fault, fault.before_s - gone_s):
        pass
    incident = product.incident(int(incident["id"]))
    fix = next((one for one in incident["fixes"] if one["id"] == fix_id), None)
    if fix is None:
        proposed = ", ".join(one["id"] for one in incident["fixes"])
        raise LabError(f"The incident does not propose {fix_id}. It proposes: {proposed}.")
    say(f"Applying: {fix['title']}")
    applied_us = watching.now_us()
    fault.fixes[fix_id](fix)
    can_be_seen = any(one["seen"] for one in incident["landings"] if one["fix_id"] == fix_id)
    noticed = can_be_seen and _noticed(product, fault, int(incident["id"]), fix_id, say)
    if not noticed:
        product.declare(int(incident["id"]), fix_id, applied_us)
    say("The product saw the fix land" if noticed else "Declared the fix: the product cannot see it land")
    verification = _verdict(product, fault, int(incident["id"]), fix_id, say, patience_s)
    return _report(fault, fix, "seen" if noticed else "declared", verification)


def table(done: Attempt) -> str:
    """Human-readable table."""
    lines = [f"{done.cause}: {done.title}", f"landing: {done.noticed}"]
    for name, figure in done.measured.items():
        predicted = done.predicted.get(name)
        said = (
            "" if predicted is None else f"   predicted {predicted[1]:.4g} ({predicted[0]:.4g} to {predicted[2]:.4g})"
        )
        lines.append(f"{figure.title}: {_show(figure.before)} → {_show(figure.after)} {figure.unit}{said}")
    lines.append(done.sentence or f"no verdict: {done.waiting_for}")
    return "\n".join(lines)


def _show(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _node(product: Product) -> int:
    return product.wait_for("this machine's node", product.node_id, 30)


def _while(fault: Ongoing, seconds: float) -> Iterator[None]:
    """Poll every half second while the fault lasts. Raises LabError if it ends early."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not fault.goes_on():
            raise LabError(f"The fault of {fault.lab} ended before the verdict.")
        yield
        time.sleep(_LOOK_EVERY_S)


def _subjects(product: Product, fault: Ongoing) -> list[int] | None:
    """The subjects' ids; None: any."""
    if fault.subjects is None:
        return None
    return watching.find_cgroups(product, fault.subjects) if fault.subjects else [_node(product)]


def _incident(product: Product, fault: Ongoing, subjects: list[int] | None, since_us: int) -> dict[str, Any]:
    said: list[str] = []
    for _ in _while(fault, fault.to_incident_s):
        if subjects is None:
            found = product.all_incidents()[::-1]
        else:
            found = [one for subject in subjects for one in product.incidents(subject, since_us)]
        said = [f"{one['cause']}: {one['title']}" for one in found]
        if own := [one for one in found if one["cause"] == fault.cause]:
            return own[0]
    listed = [one for subject in ([None] if subjects is None else subjects) for one in product.risks(subject)]
    risks = [one["title"] for one in listed if one["cause"] == fault.cause]
    harmless = f" It is only a risk, as no harm was measured: {risks[0]}" if risks else ""
    raise LabError(
        f"No incident of {fault.cause} within {fault.to_incident_s:.0f} s. Found: {said or 'none'}.{harmless}"
    )


def _noticed(product: Product, fault: Ongoing, incident_id: int, fix_id: str, say: Say) -> bool:
    seen: Any = None
    until = math.inf
    for _ in _while(fault, fault.to_notice_s):
        started = product.verifications(incident_id)
        if any(one["fix_id"] == fix_id for one in started):
            return True
        if time.monotonic() > until:
            break
        if started and started[0]["changes"] != seen:
            until = min(until, time.monotonic() + _REST_S)
            seen = started[0]["changes"]
            say(f"The product saw {started[0]['fix_title']}: {', '.join(_step(one) for one in seen)}")
    return False


def _step(change: Mapping[str, Any]) -> str:
    return str(change["title"]) if change["new"] is None else f"{change['title']} {change['old']} → {change['new']}"


def _verdict(
    product: Product, fault: Ongoing, incident_id: int, fix_id: str, say: Say, patience_s: float
) -> Mapping[str, Any]:
    newest: Mapping[str, Any] = {}
    said = ""
    for _ in _while(fault, patience_s):
        own = [one for one in product.verifications(incident_id) if one["fix_id"] == fix_id]
        newest = own[0] if own else newest
        if newest.get("state") in _FINAL:
            break
        # Its number of seconds changes constantly; what is being waited for does not.
        kind = re.sub(r"[\d.,]+", "", str(newest.get("waiting_for")))
        if kind != said:
            said = kind
            say(f"Waiting: {newest.get('waiting_for')}")
    return newest


def _report(
    fault: Ongoing, fix: ProposedFix, noticed: Literal["seen", "declared"], found: Mapping[str, Any]
) -> Attempt:
    measures = found.get("measures", [])
    intervals = {one["metric"]: one["predicted"] or one["promised"] for one in measures}
    return Attempt(
        lab=fault.lab,
        variant=fault.variant,
        cause=fault.cause,
        fix=fix["id"],
        title=found.get("fix_title", fix["title"]),
        noticed=noticed,
        predicted={name: (one["low"], one["expected"], one["high"]) for name, one in intervals.items() if one},
        measured={one["metric"]: Figure(**{name: one[name] for name in Figure.model_fields}) for one in measures},
        verdict=found["state"] if found.get("state") in _FINAL else None,
        sentence=found.get("verdict"),
        waiting_for=found.get("waiting_for"),
    )
