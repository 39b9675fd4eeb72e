"""Rates towards upstreams: counters that are read every few seconds, zones, limits, and who publishes them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jitterscope.diagnosis.areas.dns.causes import upstream_rate_limited
from jitterscope.diagnosis.areas.dns.readings.upstream_limit import share_of
from jitterscope.diagnosis.areas.dns.readings.upstream_rate import rates
from jitterscope.diagnosis.core.finding import Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.snapshot import Event, FactValue, FloatArray, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.programs import corefile
from jitterscope.diagnosis.programs.dns_upstreams import Upstream, upstreams
from jitterscope.diagnosis.programs.resolver_limits import AWS, GOOGLE, limit_of
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts

TICKS = 300
START = 1_767_225_600_000_000


def view(kind: str, key: str, facts: dict[str, str], **more: object) -> ResourceView:
    told = tuple(FactValue(name, value, START) for name, value in facts.items())
    return ResourceView(1, kind, key, key, facts=told, **more)  # type: ignore[arg-type]


def snapshot(
    series: dict[str, FloatArray],
    facts: dict[str, str] | None = None,
    queries: Queries | None = None,
    events: tuple[Event, ...] = (),
    node: dict[str, str] | None = None,
) -> Snapshot:
    server = view("dns_server", "10.0.0.10:53", facts or {}, series=series, queries=queries, events=events)
    return Snapshot(
        START, TICKS, view("cgroup", "/dns", {}), view("node", "n", node or {}), dns_servers=(server,)
    )  # fmt: skip


def flat(value: float) -> FloatArray:
    return np.full(TICKS, value)


def every(seconds: int, value: float) -> FloatArray:
    """A counter that is read every so many seconds, with gaps in between."""
    out = np.full(TICKS, np.nan)
    out[10 * seconds - 1 :: 10 * seconds] = value
    return out


def test_a_counter_that_is_read_now_and_then_is_spread_by_the_packets() -> None:
    asked = flat(10.0)
    asked[100:150] = 40.0
    forwarded = every(5, 250.0)
    forwarded[149] = 1_000.0
    found = rates(snapshot({"dns_queries": asked, "coredns_forward_requests": forwarded}))
    assert found is not None
    assert found.measured
    assert found.sent[:10] == pytest.approx(50.0)
    assert found.sent[10:15] == pytest.approx(200.0)
    assert found.sent[15:] == pytest.approx(50.0)


def test_the_first_reading_counts_from_before_the_window() -> None:
    forwarded = every(5, 100.0)
    forwarded[49] = 400.0
    found = rates(snapshot({"dns_queries": flat(10.0), "coredns_forward_requests": forwarded}))
    assert found is not None
    assert found.sent == pytest.approx(20.0)


def test_without_a_counter_everything_may_be_sent_on() -> None:
    found = rates(snapshot({"dns_queries": flat(10.0)}))
    assert found is not None
    assert not found.measured
    assert found.sent == pytest.approx(100.0)


def test_misses_of_a_dnsmasq_are_what_it_sends_on() -> None:
    found = rates(snapshot({"dns_queries": flat(10.0), "dnsmasq_cache_misses": flat(2.5)}))
    assert found is not None
    assert found.sent == pytest.approx(25.0)


def test_failures_count_when_they_were_sent_and_once() -> None:
    """A dropped query shows as a late SERVFAIL or as nothing at all; a refusal comes at once."""
    sent = START + np.array([4_000_000, 7_000_000])
    queries = Queries(sent, np.array([5_000_000, 5_000_000]), np.array([2, 4]))
    servfail, timeouts, refused = flat(0.0), flat(0.0), flat(0.0)
    servfail[90], timeouts[120], refused[33] = 1.0, 1.0, 3.0
    found = rates(snapshot(
        {"dns_queries": flat(10.0), "dns_servfail": servfail, "dns_timeouts": timeouts, "dns_refused": refused},
        queries=queries,
    ))  # fmt: skip
    assert found is not None
    assert {int(i): found.failed[i] for i in np.flatnonzero(found.failed)} == {3: 3.0, 4: 1.0, 7: 1.0}


def test_what_the_server_itself_turns_away_is_no_upstreams_doing() -> None:
    found = rates(snapshot(
        {"dns_queries": flat(10.0), "dns_refused": flat(2.0), "coredns_max_concurrent_rejects": flat(2.0)}
    ))  # fmt: skip
    assert found is not None
    assert found.failed.sum() == 0


def test_no_queries_no_rates() -> None:
    assert rates(snapshot({})) is None


def entry(zone: str, address: str) -> dict[str, object]:
    return {"zone": zone, "address": address, "port": 53}


def test_of_several_zones_the_names_tell_what_goes_where() -> None:
    listed = [entry("cluster.local", "10.0.0.9"), entry(".", "8.8.8.8"), entry(".", "9.9.9.9")]
    asked = upstreams(view("dns_server", "x", {"dns.upstreams": json.dumps(listed)}))
    rows = [["c", "a.svc.cluster.local.", "A", 60, 0, 0, 0], ["c", "example.com.", "A", 40, 0, 0, 0]]
    names = Event("dns.names", START, 10_000_000, {"rows": json.dumps(rows)})
    google = tuple(upstream for upstream in asked if upstream.address == "8.8.8.8")
    assert share_of(snapshot({}, events=(names,)), asked, google) == pytest.approx(0.2)
    assert share_of(snapshot({}), asked, google) is None
    assert share_of(snapshot({}), asked[1:], google) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("address", "version", "expected"),
    [
        ("8.8.4.4", "", GOOGLE),  # developers.google.com/speed/public-dns/docs/isp
        ("2001:4860:4860::8888", "", GOOGLE),
        ("169.254.169.253", "", AWS),  # docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html
        ("10.0.0.2", "v1.31.2-eks-7f9249a", AWS),
        ("172.31.16.2", "v1.31.2-eks-7f9249a", AWS),
        ("10.0.0.2", "v1.31.2", None),
        ("10.0.0.3", "v1.31.2-eks-7f9249a", None),
        ("169.254.169.254", "v1.30.5-gke.1014001", None),  # Google publishes no figure for the metadata server
        ("9.9.9.9", "", None),
    ],
)
def test_limits_are_those_that_are_published(address: str, version: str, expected: object) -> None:
    found = limit_of(snapshot({}, node={"kube.server_version": version}), Upstream(".", address, 53))
    assert found is expected


def judged(rate: float, failed: float, **facts: str) -> Found | NotFound | NotEnoughData:
    told = {"dns.upstreams": json.dumps([entry(".", "8.8.8.8")])} | facts
    series = {
        "dns_queries": flat(rate / 10),
        "coredns_forward_requests": flat(rate / 10),
        "dns_refused": flat(failed / 10),
    }
    return upstream_rate_limited.detect(snapshot(series, told))


def test_failures_below_the_limit_are_not_its_doing() -> None:
    found = judged(900, 90)
    assert isinstance(found, NotFound)
    assert found.numbers["limit_per_s"] == 1500
    assert "public address" in found.reason


def test_far_more_failures_than_excess_are_not_the_limits_doing() -> None:
    """Constantly a tenth above the limit, but half of the queries fail."""
    found = judged(1650, 825)
    assert isinstance(found, NotFound)
    assert found.numbers["excess"] == pytest.approx(150 * 30)
    assert isinstance(judged(1900, 400), Found)


def test_a_server_that_forwards_nothing_is_not_limited() -> None:
    assert isinstance(judged(1900, 400, **{"dns.upstreams": "[]"}), NotFound)


def test_without_settings_it_is_not_judged() -> None:
    found = upstream_rate_limited.detect(snapshot({"dns_queries": flat(200.0)}))
    assert isinstance(found, NotEnoughData)
    assert found.missing == ["dns.upstreams"]


def test_corefiles_are_read_block_by_block() -> None:
    text = """# comment
cluster.local:53 in-addr.arpa:53 {
    errors  # of this block
    cache {
        success 9984 30
        denial 9984 5
    }
    forward . 10.0.0.9 {
        force_tcp
    }
}
.:53 {
    forward . /etc/resolv.conf
}
"""
    first, second = corefile.parse(corefile_facts(text)["dns.corefile_parsed"])
    assert first.keys == ("cluster.local:53", "in-addr.arpa:53")
    assert [plugin.name for plugin in first.plugins] == ["errors", "cache", "forward"]
    cache, forward = first.plugin("cache"), first.plugin("forward")
    assert cache is not None
    assert cache.options == (("success", "9984", "30"), ("denial", "9984", "5"))
    assert forward is not None
    assert forward.arguments == (".", "10.0.0.9")
    assert second.keys == (".:53",)
    assert [block.keys for block in corefile.with_plugin([first, second], "cache")] == [first.keys]


@pytest.mark.parametrize(
    "fact", [None, "", "{}", "[]", "[1]", '[{"zones":1}]', '[{"plugins":[{"name":1,"args":{},"options":[[1],[]]}]}]']
)
def test_broken_facts_break_nothing(fact: str | None) -> None:
    for block in corefile.parse(fact):
        assert all(isinstance(word, str) for plugin in block.plugins for word in (plugin.name, *plugin.arguments))
