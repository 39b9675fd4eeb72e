"""Evidence that datagrams are lost."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.dns.causes._exhaustion_evidence import refs
from jitterscope.diagnosis.areas.dns.readings.loss import Loss
from jitterscope.diagnosis.areas.dns.readings.path import quantiles
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import Snapshot


def evidence(snapshot: Snapshot, case: Loss, asked: float) -> list[Evidence]:
    found = _mechanism(snapshot, case, asked)
    of = case.hurt.late + case.hurt.lost
    if of:
        found.append(
            Evidence(
                id="slow_in_stalls",
                statement=f"Queries that took {case.hurt.briefly_over} or failed, sent while datagrams were lost",
                value=f"{case.hurt.suffered:,} of {of:,}",
                numbers={"hits": float(case.hurt.suffered), "of": float(of)},
                series=refs(snapshot, (case.server,), "dns_slow", "dns_timeouts"),
            )
        )
    return found


def _mechanism(snapshot: Snapshot, case: Loss, asked: float) -> list[Evidence]:
    server = (case.server,)
    lost = float(np.nansum(series(case.server, "dns_timeouts", snapshot.ticks)))
    found = [
        Evidence(
            id="timeouts",
            statement="Queries without an answer within 5 s",
            value=f"{lost:,.0f} of {asked:,.0f}",
            numbers={"timeouts": lost, "of": asked},
            series=refs(snapshot, server, "dns_timeouts"),
        )
    ]
    if case.where == "socket":
        ticks = float(case.ticks.sum())
        found.insert(
            0,
            Evidence(
                id="socket_drops",
                statement="Datagrams dropped because the socket's receive buffer was full",
                value=f"{case.drops:,.0f}",
                comparison=f"in {ticks:,.0f} of {snapshot.ticks:,} ticks",
                numbers={"socket_drops": case.drops, "ticks": ticks, "of": float(snapshot.ticks)},
                series=refs(snapshot, server, "dns_socket_drops", "dns_receive_queue_bytes"),
            ),
        )
        return found
    assert case.found is not None
    again = case.found
    found.insert(
        0,
        Evidence(
            id="behind_timeouts",
            statement=f"Answers right after a timeout of {again.after_us / 1e6:g} s or a multiple of it; late answers "
            "in between",
            value=f"{len(again.again):,}; {again.between:,}",
            comparison=f"{say.percent(again.quick / max(1, again.queries))} of {again.queries:,} were quick",
            numbers={"again": float(len(again.again)), "between": float(again.between), "quick": float(again.quick),
                     "of": float(again.queries), "after_us": float(again.after_us)},
            series=refs(snapshot, server, "dns_slow"),
        ),
    )  # fmt: skip
    if case.target is not None:
        unanswered = float(np.nansum(series(case.target, "dns_timeouts", snapshot.ticks)))
        p50, p99 = quantiles(case.target)
        found.append(
            Evidence(
                id="upstream_quick",
                statement="Queries that reached the upstream and got no answer; p99 latency of the upstream",
                value=f"{unanswered:,.0f}; {say.ms(p99) if p99 is not None else 'unknown'}",
                numbers={"unanswered": unanswered} | ({"p99_us": p99, "p50_us": p50 or 0.0} if p99 is not None else {}),
                series=refs(snapshot, (case.target,), "dns_timeouts", "dns_queries"),
            )
        )
    return found
