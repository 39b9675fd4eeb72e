"""How a finding of an objective that a server misses all the time reads."""

from __future__ import annotations

from jitterscope.diagnosis.areas.unexplained.causes._report import name_of
from jitterscope.diagnosis.areas.unexplained.readings.objectives import Missed
from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, Found, SeriesRef
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.served import metric, read_served
from jitterscope.diagnosis.core.snapshot import Snapshot


def found(cause: str, snapshot: Snapshot, one: Missed) -> Found:
    name, objective = name_of(snapshot, one.server), one.objective
    quantile = str(objective).partition("<")[0]
    noun, served = read_served(snapshot).noun, read_served(snapshot)
    share = one.late / one.answers
    return Found(
        cause=cause,
        score=0.15,
        confidence="medium" if one.waited_us is not None else "low",
        severity=one.severity,
        harm="measured",
        title=f"{name} misses its objective of {objective.limit}: {quantile} is {say.ms(one.value_us)}",
        summary=f"{say.percent(share)} of {one.answers:,.0f} {noun} took over the objective of {objective.limit}, "
        f"which allows {say.percent(objective.allowed_ratio)}. They are spread over the window instead of grouped in "
        f"stalls, and no other cause explains them.{_where(one)}",
        onset_us=one.start_us,
        last_us=snapshot.end_us,
        impact=impact.of_answers(
            snapshot, served, one.late, one.max_us / 1000, (Late(objective.limit_us, None, objective),)
        )
        | impact.of_cpu(snapshot),
        evidence=_evidence(snapshot, one, quantile),
    )


def _where(one: Missed) -> str:
    if one.waited_us is None or not one.took_us:
        return ""
    share = min(1.0, one.waited_us / one.took_us)
    return f" {say.percent(share)} of the time of all answers passed before the program read the request."


def _evidence(snapshot: Snapshot, one: Missed, quantile: str) -> list[Evidence]:
    def refs(name: str) -> list[SeriesRef]:
        return [SeriesRef(resource_id=one.server.id, metric=name, from_us=one.start_us, to_us=snapshot.end_us)]

    items = [
        Evidence(
            id="over_objective",
            statement=f"Answers over the objective of {one.objective.limit}",
            value=f"{one.late:,.0f} of {one.answers:,.0f} ({say.percent(one.late / one.answers)})",
            comparison=f"allowed: {say.percent(one.objective.allowed_ratio)}",
            numbers={"hits": one.late, "of": one.answers, "allowed_ratio": one.objective.allowed_ratio},
            series=refs(metric(one.server, "latency")),
        ),
        Evidence(
            id="quantile",
            statement=f"{quantile} of the answers",
            value=say.ms(one.value_us),
            comparison=f"objective: {one.objective.limit}",
            numbers={"value_us": one.value_us, "objective_us": float(one.objective.limit_us)},
            series=refs(metric(one.server, "latency")),
        ),
    ]
    if one.waited_us is not None and one.took_us:
        share = min(1.0, one.waited_us / one.took_us)
        items.append(
            Evidence(
                id="unread",
                statement="Unread in the socket",
                value=f"{say.percent(share)} of the time of all answers",
                numbers={"share": share},
                series=refs(metric(one.server, "wait")),
            )
        )
    return items
