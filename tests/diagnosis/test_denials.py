"""How many queries with negative answers a cache would have answered: repeats of listed names and of unlisted ones."""

from __future__ import annotations

import json

import pytest

from jitterscope.diagnosis.areas.dns.readings import denials
from jitterscope.diagnosis.areas.dns.readings import names as dns_names
from jitterscope.diagnosis.core.snapshot import Event, FactValue, ResourceView
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts

FORWARDS = '[{"zone": ".", "address": "10.0.0.2", "port": 53}]'


def measured(
    *tables: list[list[object]], upstreams: str = FORWARDS, corefile: str = "", **totals: int
) -> denials.Denials:
    """Tables of 10 s, one after another."""
    extra = {name: str(value) for name, value in totals.items()}
    events = tuple(
        Event("dns.names", place * 10_000_000, 10_000_000, {"rows": json.dumps(rows)} | extra)
        for place, rows in enumerate(tables)
    )
    told = corefile_facts(corefile) | {"dns.upstreams": upstreams}
    facts = tuple(FactValue(name, value, 0) for name, value in told.items())
    server = ResourceView(1, "dns_server", "10.0.0.10:53", "dns", facts=facts, events=events)
    return denials.measure([server], dns_names.spans([server]))


def denied(name: str, times: int, took_us: int = 1_000, client: str = "c", kind: str = "A") -> list[object]:
    return [client, name, kind, times, times, 0, times * took_us]


def test_repeats_count_by_how_long_a_cache_keeps_them() -> None:
    """10 s contain two times 5 s: two of ten remain; of 30 s one remains, and three tables are one time of 30 s."""
    assert measured([denied("a.", 10)]).repeated_short == 8
    assert measured([denied("a.", 10)]).repeated == 9
    found = measured([denied("a.", 10)], [denied("a.", 10)], [denied("a.", 10)])
    assert (found.total, found.repeated_short, found.repeated) == (30, 24, 29)
    assert measured(*[[denied("a.", 10)]] * 4).repeated == 38


def test_clients_share_a_cache_and_types_do_not() -> None:
    assert measured([denied("a.", 5), denied("a.", 5, client="d")]).repeated == 9
    assert measured([denied("a.", 5), denied("a.", 5, kind="AAAA")]).repeated == 8


def test_names_asked_once_are_no_repeats() -> None:
    assert measured([denied(f"{i}.example.", 1) for i in range(50)]).repeated == 0


def test_names_that_the_server_holds_go_nowhere() -> None:
    corefile = ".:53 {\n    kubernetes cluster.local {\n        pods insecure\n    }\n    forward . 10.0.0.2\n}\n"
    found = measured([denied("x.svc.cluster.local.", 40), denied("x.example.", 10)], corefile=corefile)
    assert (found.total, found.names) == (10, (("x.example", 10),))
    assert measured([denied("x.example.", 10)], upstreams="[]").total == 0
    only = '[{"zone": "internal", "address": "10.0.0.2", "port": 53}]'
    assert measured([denied("x.example.", 10), denied("x.internal.", 4)], upstreams=only).total == 4


def test_more_denials_than_names_are_repeats_wherever_they_are() -> None:
    """10 of 500 negative answers are listed, for one name; the other 490 are for 99 names."""
    found = measured([denied("a.", 10)], queries=600, nxdomain=500, names=100)
    assert found.total == 500
    assert found.repeated == 9 + 490 - 99
    assert found.repeated_short == 8 + 490 - 2 * 99
    every_name_new = measured([denied("a.", 2)], queries=600, nxdomain=500, names=499)
    assert every_name_new.repeated == pytest.approx(1)


def test_one_stall_makes_no_denial_slow() -> None:
    found = measured([denied("a.", 10)], [denied("a.", 10, took_us=2_000_000)], [denied("a.", 10)])
    assert (found.slow, found.mean_us) == (0, 1_000)
    assert measured([denied("a.", 10, took_us=30_000)]).slow == 10
