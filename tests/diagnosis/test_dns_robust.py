"""Corrupt facts, tiny windows, gaps, and odd tables do not break a DNS cause, and lead to none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from jitterscope.diagnosis.areas.dns.affected import affected
from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.snapshot import Event, ResourceView, Snapshot
from tests.diagnosis.scenarios import built
from tests.support.work import calls_of

NAMES = (
    "search_domain_amplification/every look-up waits for six denials",
    "no_negative_cache/dnsmasq --no-negcache",
    "upstream_rate_limited/a limit that nobody published",
    "single_socket_serialization/volleys",
)
Change = Callable[[ResourceView], ResourceView]


def changed(snapshot: Snapshot, change: Change) -> Snapshot:
    return replace(
        snapshot,
        subject=change(snapshot.subject),
        node=change(snapshot.node),
        processes=tuple(map(change, snapshot.processes)),
        dns_servers=tuple(map(change, snapshot.dns_servers)),
        dns_paths=tuple(map(change, snapshot.dns_paths)),
        neighbours=tuple(map(change, snapshot.neighbours)),
        workloads=tuple(map(change, snapshot.workloads)),
    )


def causes(snapshot: Snapshot) -> list[str]:
    affected(snapshot)
    return [finding.cause for finding in diagnose(snapshot).findings]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "value", ["x%$", "", "-1", "[]", "{}", '[{"address": 5}]', '[{"address": "8.8.8.8", "port": "x"}]', '{"search": 3}']
)
def test_spoiled_facts(name: str, value: str) -> None:
    def spoil(view: ResourceView) -> ResourceView:
        return replace(view, facts=tuple(replace(fact, value=value) for fact in view.facts))

    found = causes(changed(built(name), spoil))
    assert set(found) <= set(causes(built(name)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ticks", [0, 1, 2, 9, 15])
def test_tiny_windows(name: str, ticks: int) -> None:
    def cut(view: ResourceView) -> ResourceView:
        series = {metric: values[:ticks] for metric, values in view.series.items()}
        return replace(view, series=series, distributions={}, queries=None, events=())

    assert causes(replace(changed(built(name), cut), ticks=ticks)) == []


@pytest.mark.parametrize("name", NAMES)
def test_gaps_stay_gaps(name: str) -> None:
    """Half of the ticks are missing: this leads to no other finding."""
    whole = built(name)
    gone = np.arange(whole.ticks) % 2 == 0

    def thin(view: ResourceView) -> ResourceView:
        return replace(view, series={m: np.where(gone, np.nan, values) for m, values in view.series.items()})

    assert set(causes(changed(whole, thin))) <= set(causes(whole))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_gaps(name: str) -> None:
    def empty(view: ResourceView) -> ResourceView:
        return replace(view, series={m: np.full_like(values, np.nan) for m, values in view.series.items()})

    assert causes(changed(built(name), empty)) == []


@pytest.mark.parametrize(
    "rows",
    [
        [["c", "." * 300, "A", 5, 5, 0, 1]] * 20,
        [["c", ".".join("a" * 60), "A", 10**9, 10**9, 0, 1]],
        [["", "", "", 900, 900, 900, -5]],
        [["c", f"{'x.' * i}example.com.", "A", 9, 9 * (i % 2), 0, 9] for i in range(60)],
        [["c", "example.com.", "A", 50, 10, 90, 9], ["c", "example.com.example.com.", "A", 50, 50, 0, 9]],
    ],
)
def test_strange_tables(rows: list[list[object]]) -> None:
    whole = built(NAMES[0])
    event = Event("dns.names", whole.start_us, 10_000_000, {"rows": json.dumps(rows), "queries": "nan"})
    server = replace(whole.dns_servers[0], events=(event, replace(event, duration_us=0)))
    causes(replace(whole, dns_servers=(server,), workloads=()))


def test_a_full_table_is_little_work() -> None:
    """As many rows as an event has room for, long names, every 5 s for two minutes."""
    whole = built(NAMES[0])
    rows = [["c", f"a{i}.{'b.' * 30}example.com", "A", 50, 25, 0, 9] for i in range(50)]
    events = tuple(
        Event("dns.names", whole.start_us + place * 5_000_000, 5_000_000, {"rows": json.dumps(rows), "names": "9000"})
        for place in range(24)
    )
    snapshot = replace(whole, dns_servers=(replace(whole.dns_servers[0], events=events),), workloads=())
    assert calls_of(lambda: causes(snapshot)) < 80_000
