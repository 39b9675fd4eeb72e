"""How a finding about another server that is slow reads."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.app.readings.calls import WAITED, Late, Waits
from jitterscope.diagnosis.core import references
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Evidence, SeriesRef
from jitterscope.diagnosis.core.served import metric
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

# From this share of their time in its socket on, its answers waited to be read; up to `READ` they were read at once.
UNREAD, READ = 0.6, 0.4


def who(snapshot: Snapshot, server: ResourceView) -> str:
    """ "jitterscope-service :8080"."""
    return f"{server.fact('tcp.program') or say.who(snapshot)} :{server.key.rpartition(':')[2]}"


def asked(waits: Waits) -> str:
    """ "postgres at 127.0.0.1:5432"; the address alone where the program is not known."""
    name = None if waits.account is None else waits.account.server.fact("tcp.program")
    return f"{name} at {waits.address}" if name else waits.address


def title(snapshot: Snapshot, late: Late, waits: Waits) -> str:
    slowest = _slowest(late, waits)
    server = late.servers[int(late.server[slowest])]
    took = float(late.end_us[slowest] - late.start_us[slowest])
    return f"{who(snapshot, server)} stalls up to {say.ms(took)}: it waits for {asked(waits)}"


def _slowest(late: Late, waits: Waits) -> int:
    took = np.where(waits.hit, late.end_us - late.start_us, -1)
    return int(np.argmax(took))


def summary(late: Late, waits: Waits) -> str:
    usual = f" (usually {say.ms(waits.usual_us)})" if np.isfinite(waits.usual_us) else ""
    parts = [
        f"{waits.hits:,} of {len(late):,} late answers spent most of their time waiting for {asked(waits)}: "
        f"{waits.long:,} of {waits.calls:,.0f} calls took over {say.ms(waits.long_us)}{usual}."
    ]
    account = waits.account
    if account is None:
        parts.append("Whether that server or the network took the time is not recorded.")
    elif account.unread is not None and account.unread >= UNREAD:
        parts.append("Meanwhile that server left requests unread: it was stopped, throttled, or busy with others.")
    elif account.unread is not None and account.unread <= READ:
        parts.append(
            "That server had read the requests: it worked on them, or itself waited for a lock, a disk, or another "
            "server."
        )
    return " ".join(parts)


def evidence(snapshot: Snapshot, late: Late, waits: Waits) -> list[Evidence]:
    upstream = waits.upstream

    def refs(view: ResourceView, *names: str) -> list[SeriesRef]:
        return references.recorded((snapshot.start_us, snapshot.end_us), (view,), *names)

    found = [
        Evidence(
            id="waited",
            statement=f"Late answers that waited for calls to {asked(waits)} for at least {say.percent(WAITED)} of "
            "their time",
            value=f"{waits.hits:,} of {len(late):,}",
            comparison=f"such calls were in flight for {say.percent(waits.open_ratio)} of the window",
            numbers={
                "hits": float(waits.hits), "of": float(len(late)), "within": float(waits.within),
                "open_ratio": waits.open_ratio,
            },
            series=[ref for one in late.servers for ref in refs(one, metric(one, "slow"), metric(one, "latency"))],
        ),
        Evidence(
            id="calls",
            statement=f"Calls that took over {say.ms(waits.long_us)}, from request to answer",
            value=f"{waits.long:,} of {waits.calls:,.0f}, up to {say.ms(waits.max_us)}",
            comparison=f"usually {say.ms(waits.usual_us)}" if np.isfinite(waits.usual_us) else None,
            numbers={"long": float(waits.long), "calls": waits.calls, "max_us": waits.max_us},
            series=refs(upstream, "upstream_calls_slow", "upstream_latency_max_us"),
        ),
    ]  # fmt: skip
    account = waits.account
    if account is not None:
        server = account.server
        found.append(
            Evidence(
                id="own_account",
                statement=f"Answers that {server.fact('tcp.program') or server.name} itself started late meanwhile",
                value=f"{account.long:,.0f}",
                comparison=f"slow calls: {waits.long:,}",
                numbers={"answers": account.long, "long": float(waits.long)},
                series=refs(server, metric(server, "slow"), metric(server, "latency")),
            )
        )
        if account.unread is not None:
            found.append(
                Evidence(
                    id="unread",
                    statement="Share of the time of these answers in which the request waited unread in the socket",
                    value=say.percent(account.unread),
                    numbers={"unread_ratio": account.unread},
                    series=refs(server, metric(server, "wait")),
                )
            )
    return found
