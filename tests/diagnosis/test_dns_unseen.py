"""DNS: a signal that no collector recorded rules nothing out, whatever the others say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.dns.readings.loss import loss
from jitterscope.diagnosis.areas.dns.readings.pool import pool
from jitterscope.diagnosis.areas.dns.readings.why_not import WhyNot
from jitterscope.diagnosis.core.finding import NotEnoughData, NotFound
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import FactValue, Snapshot
from jitterscope.diagnosis.scenarios.cpu.views import without
from tests.diagnosis.scenarios import built

CAUSES = all_causes()


def told(snapshot: Snapshot, **facts: str) -> Snapshot:
    """With these facts of the subject's servers."""
    fresh = tuple(FactValue(name.replace("__", "."), value, 0) for name, value in facts.items())
    servers = tuple(replace(one, facts=(*one.facts, *fresh)) for one in snapshot.dns_servers)
    return replace(snapshot, dns_servers=servers)


def test_drops_that_were_not_counted_are_not_none() -> None:
    """An upstream that loses nothing says nothing about the server's own socket."""
    snapshot = built("udp_loss/healthy: no loss")
    assert isinstance(loss(snapshot), WhyNot)
    assert isinstance(CAUSES["dns/udp_loss"].detect(snapshot), NotFound)
    result = CAUSES["dns/udp_loss"].detect(without(snapshot, "dns_socket_drops"))
    assert isinstance(result, NotEnoughData)
    assert result.missing == ["dns_socket_drops"]


@pytest.mark.parametrize("name", ["a steady load", "few queries"])
def test_a_pool_whose_metrics_page_is_not_read_is_not_judged(name: str) -> None:
    snapshot = built(f"connection_pool_churn/healthy: {name}")
    assert isinstance(CAUSES["dns/connection_pool_churn"].detect(snapshot), NotFound)
    for metric in ("coredns_conn_cache_hits", "coredns_conn_cache_misses"):
        snapshot = without(snapshot, metric)
    result = CAUSES["dns/connection_pool_churn"].detect(snapshot)
    assert isinstance(result, NotEnoughData)
    assert result.missing == ["coredns_conn_cache_misses"]


@pytest.mark.parametrize("gone", [("process_children",), ("dns_accept_backlog", "dns_listen_drops")])
def test_connections_of_a_dnsmasq_at_its_limit_may_wait(gone: tuple[str, ...]) -> None:
    snapshot = built("udp_loss/near miss: out of connections")
    assert isinstance(pool(snapshot), WhyNot)
    for metric in gone:
        snapshot = without(snapshot, metric)
    result = CAUSES["dns/connection_pool_churn"].detect(snapshot)
    assert isinstance(result, NotEnoughData)
    assert result.missing == [gone[0]]
