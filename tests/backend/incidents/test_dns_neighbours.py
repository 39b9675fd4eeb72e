"""A diagnosis of a DNS server sees its node's other servers, its clients, and its downstreams, in bounded reads."""

from __future__ import annotations

import io
import itertools
import time
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from jitterscope.db import organization_session
from jitterscope.diagnosis.areas.dns.settings import SIGHTINGS
from jitterscope.incidents.scheduling import diagnoses, snapshots
from jitterscope.incidents.verification import window
from jitterscope.inventory.neighbours import MAX_NEIGHBOURS, Endpoint, endpoint_of, hops_from, upstreams_of
from jitterscope.inventory.types import ResourceRow
from jitterscope.recordings import file
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.recordings.snapshots import recording_of, snapshot_of
from tests.support.dns_node import CACHE, DNSMASQ, POD, PODS, RECORDS, load, recorded


@pytest.fixture(scope="module")
def chain() -> Recording:
    return recorded(load(seconds=10.0))


def loaded(service: Any, subject_id: int) -> Any:
    with organization_session(service.organization.id) as session:
        found = snapshots.load(session, subject_id, 30_000_000)
    assert found is not None
    return found.snapshot


def test_a_dns_server_brings_its_neighbours(service: Any, chain: Recording) -> None:
    snapshot = loaded(service, service.feed(chain))
    assert [one.key for one in snapshot.dns_servers] == [DNSMASQ]
    assert {one.key for one in snapshot.neighbours} == {CACHE, RECORDS}
    assert [one.key for one in snapshot.dns_paths] == [f"169.254.20.10>{DNSMASQ}"]
    [workload] = snapshot.workloads
    assert POD in (workload.fact("net.addresses") or "")
    assert not workload.series
    cache = next(one for one in snapshot.neighbours if one.key == CACHE)
    assert "dns_upstream_connections" in cache.series
    assert "dns_latency_us" in cache.distributions
    assert cache.queries is not None
    assert any(event.kind == "dns.names" for event in cache.events)


def test_a_neighbour_has_the_names_of_its_workload(service: Any, chain: Recording) -> None:
    """Its server runs in a process of its container: a fix there needs namespace and owner."""
    for snapshot in (loaded(service, service.feed(chain)), snapshot_of(chain)):
        cache = next(one for one in snapshot.neighbours if one.key == CACHE)
        named = [cache.fact(f"workload.{name}") for name in ("namespace", "pod", "container")]
        assert "/".join(map(str, named)) == PODS[0]


def test_a_comparison_sees_who_is_around(service: Any, chain: Recording) -> None:
    """What shows that a fix landed in front of the server, or at its clients, is not among its own facts."""
    service.feed(chain)
    now_us = time.time_ns() // 1000
    seen = set()
    with organization_session(service.organization.id) as session:
        rows = session.execute(text("SELECT id FROM resources WHERE key LIKE '/kubepods/dns/%'"))
        for subject_id, one in itertools.product(list(rows.scalars()), SIGHTINGS):
            compared = window.read(session, subject_id, now_us - 30_000_000, now_us, one.needs)
            assert compared is not None
            told, diagnosed = one.read(compared), one.read(loaded(service, subject_id))
            assert (told and told.value) == (diagnosed and diagnosed.value)
            seen |= set() if told is None else {told.name}
    assert seen == {one.id for one in SIGHTINGS}


def test_a_cgroup_without_dns_reads_nothing_of_it(service: Any, chain: Recording) -> None:
    service.feed(chain)
    with organization_session(service.organization.id) as session:
        pod = session.execute(text("SELECT id FROM resources WHERE key = '/kubepods/shop/web'")).scalar_one()
    snapshot = loaded(service, pod)
    assert (snapshot.dns_paths, snapshot.neighbours, snapshot.workloads) == ((), (), ())


def test_of_many_servers_those_on_the_path_are_read(service: Any, chain: Recording) -> None:
    strangers = [RecordedResource("dns_server", f"10.9.0.{n}:53", "", 0) for n in range(20)]
    crowded = replace(chain, resources=(*chain.resources, *strangers))
    snapshot = loaded(service, service.feed(crowded))
    assert len(snapshot.neighbours) == MAX_NEIGHBOURS
    assert {CACHE, RECORDS} <= {one.key for one in snapshot.neighbours}


def test_every_cgroup_with_a_dns_server_is_due_once_a_minute(service: Any, chain: Recording) -> None:
    service.feed(chain)
    with organization_session(service.organization.id) as session:
        rows = session.execute(text("SELECT id FROM resources WHERE key LIKE '/kubepods/dns/%' ORDER BY id"))
        expected = list(rows.scalars())
        assert len(expected) == 3
        assert set(expected) < set(diagnoses.visited_subjects(session))
        # A server that was not seen for minutes is gone.
        gone = text("UPDATE resources SET last_seen_at = now() - interval '10 min' WHERE key = :key")
        session.execute(gone, {"key": RECORDS})
        assert set(expected) & set(diagnoses.visited_subjects(session)) == set(expected[:2])


def test_a_recording_carries_them(service: Any, chain: Recording) -> None:
    """File and snapshot give the engine the same path; of clients only facts are kept, of neighbors everything."""
    subject_id = service.feed(chain)
    now_us = time.time_ns() // 1000
    window = {"resource": subject_id, "from": str(now_us - 30_000_000), "to": str(now_us)}
    response = service.client.get("/api/v1/recordings", params=window, headers=service.organization.headers)
    assert response.status_code == 200, response.text
    recording = file.read(io.BytesIO(response.content))
    kinds = [one.kind for one in recording.resources]
    assert kinds.count("dns_server") == 3
    # Neighbors keep their surroundings, so that a replay can be diagnosed on each of them.
    for one in recording.resources:
        if one.kind == "dns_server":
            assert recording.resources[one.parent].kind == "process"
    web = next(one for one in recording.resources if one.key == "/kubepods/shop/web")
    assert (web.series, {fact.name for fact in web.facts} >= {"dns.resolv_conf", "net.addresses"}) == ({}, True)
    stored, replayed = loaded(service, subject_id), snapshot_of(recording)
    for views in ("dns_servers", "neighbours", "dns_paths", "workloads"):
        before, after = getattr(stored, views), getattr(replayed, views)
        assert {one.key: sorted(one.series) for one in before} == {one.key: sorted(one.series) for one in after}, views
    # And a snapshot becomes a recording with the same path.
    again = snapshot_of(recording_of(replayed))
    for views in ("dns_servers", "neighbours", "dns_paths", "workloads"):
        assert [one.key for one in getattr(again, views)] == [one.key for one in getattr(replayed, views)]


def row(identity: int, key: str) -> ResourceRow:
    return ResourceRow(identity, "dns_server", key, key, None, 1, 0, 0)


def test_hops_go_along_the_path_in_both_directions() -> None:
    rows = [row(1, CACHE), row(2, DNSMASQ), row(3, "127.0.0.1:10053@net:7"), row(4, "10.9.0.1:53")]
    asks = {1: [Endpoint("10.4.1.38", "53")], 2: [Endpoint("127.0.0.1", "10053")]}
    assert hops_from(rows[:1], rows[1:], asks) == {1: 0, 2: 1, 3: 2}
    assert hops_from(rows[2:3], [rows[0], rows[1], rows[3]], asks) == {3: 0, 2: 1, 1: 2}
    around = {1: [Endpoint("10.4.1.38", "53")], 2: [Endpoint("169.254.20.10", "53")]}
    assert hops_from(rows[:1], rows[1:2], around) == {1: 0, 2: 1}


def test_endpoints_are_read_or_left() -> None:
    assert endpoint_of("10.0.0.10:53") == Endpoint("10.0.0.10", "53")
    assert endpoint_of("[fd00::1]:53@net:402") == Endpoint("fd00::1", "53")
    assert endpoint_of("0.0.0.0:53").serves(Endpoint("10.0.0.10", "53"))
    assert not endpoint_of("0.0.0.0:54").serves(Endpoint("10.0.0.10", "53"))
    assert upstreams_of('[{"address": "fd00::1"}, {"zone": "."}, 7, {"address": "8.8.8.8", "port": 5353}]') == [
        Endpoint("fd00::1", "53"), Endpoint("8.8.8.8", "5353"),
    ]  # fmt: skip
    assert upstreams_of(None) == upstreams_of("{") == upstreams_of('{"address": "1.1.1.1"}') == []
