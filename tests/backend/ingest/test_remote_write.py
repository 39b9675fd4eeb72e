"""Prometheus remote write 1.0 and 2.0, as Prometheus sends them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jitterscope import db
from jitterscope.pb import prometheus_v1_pb2 as v1
from jitterscope.pb import prometheus_v2_pb2 as v2
from jitterscope.series import external, external_metrics, external_search
from jitterscope.series.external_selection import Selection
from jitterscope.series.store import external as stored
from jitterscope.settings import Settings
from tests.backend.ingest.remote_writer import V1, post, request_of
from tests.support.batches import CGROUP, BatchBuilder

V2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
HOUR_MS = 3_600_000


def request_v1(labels: dict[str, str], samples: list[tuple[int, float]]) -> v1.WriteRequest:
    request = v1.WriteRequest()
    series = request.timeseries.add()
    for name, value in labels.items():
        series.labels.add(name=name, value=value)
    for at_ms, sample in samples:
        series.samples.add(timestamp=at_ms, value=sample)
    return request


def chart(api: TestClient, search: str, metric: str, **parameters: Any) -> list[dict[str, Any]]:
    (item,) = api.get("/api/v1/resources", params={"search": search}).json()["items"]
    answer = api.get("/api/v1/series/query", params={"resource": item["id"], "metric": metric, **parameters})
    assert answer.status_code == 200, answer.text
    series: list[dict[str, Any]] = answer.json()["series"]
    return series


def test_version_1_is_stored_and_charted(api: TestClient, organization: Any) -> None:
    now_ms = time.time_ns() // 1_000_000
    samples = [(now_ms - 60_000 + 15_000 * number, float(number)) for number in range(4)]
    labels = {"__name__": "coredns_cache_hits_total", "job": "dns", "instance": "10.0.0.1:9153", "type": "success"}
    answer = post(api, organization, request_v1(labels, samples).SerializeToString())
    assert answer.status_code == 204, answer.text
    assert answer.headers["X-Prometheus-Remote-Write-Samples-Written"] == "4"
    (series,) = chart(api, "dns/10.0.0.1:9153", "coredns_cache_hits_total")
    assert (series["kind"], series["labels"]["type"], series["resolution"]) == ("counter", "success", "sample")
    assert [value for value in series["high"] if value is not None] == [0, 1, 2, 3]
    # A repetition, as after a lost answer, changes nothing.
    assert post(api, organization, request_v1(labels, samples).SerializeToString()).status_code == 204
    (again,) = chart(api, "dns/10.0.0.1:9153", "coredns_cache_hits_total")
    assert [value for value in again["high"] if value is not None] == [0, 1, 2, 3]


def test_version_2_joins_the_container_that_its_labels_name(api: TestClient, organization: Any) -> None:
    builder = BatchBuilder()
    cgroup = builder.resource(CGROUP, "/kubepods/x", 0)
    builder.fact(cgroup, "workload.namespace", "kube-system").fact(cgroup, "workload.pod", "coredns-1")
    builder.fact(cgroup, "workload.container", "coredns")
    assert api.post("/api/v1/ingest", content=builder.body(), headers=organization.ingest_headers).status_code == 200
    symbols = [
        "", "__name__", "container_cpu_cfs_throttled_periods_total", "namespace", "kube-system", "pod", "coredns-1",
        "container", "coredns",
    ]  # fmt: skip
    request = v2.Request(symbols=symbols)
    series = request.timeseries.add(labels_refs=list(range(1, 9)))
    series.metadata.type = v2.Metadata.METRIC_TYPE_COUNTER
    series.samples.add(timestamp=time.time_ns() // 1_000_000, value=7.5)
    series.exemplars.add()
    answer = post(api, organization, request.SerializeToString(), V2)
    assert answer.status_code == 204, answer.text
    assert answer.headers["X-Prometheus-Remote-Write-Exemplars-Written"] == "0"
    (found,) = chart(api, "kube-system/coredns-1/coredns", "container_cpu_cfs_throttled_periods_total")
    assert max(value for value in found["high"] if value is not None) == 7.5


def test_a_partial_write_keeps_what_is_good(api: TestClient, organization: Any) -> None:
    now_ms = time.time_ns() // 1_000_000
    request = request_v1({"__name__": "good", "job": "x"}, [(now_ms, 1.0), (now_ms + 24 * HOUR_MS, 2.0), (1, 3.0)])
    request.timeseries.add().samples.add(timestamp=now_ms, value=1)  # no name
    request.timeseries.add().histograms.add()
    answer = post(api, organization, request.SerializeToString())
    assert answer.status_code == 400
    assert answer.headers["X-Prometheus-Remote-Write-Samples-Written"] == "1"
    assert answer.json()["type"].endswith("partial-write")
    (series,) = chart(api, "x", "good")
    assert [value for value in series["high"] if value is not None] == [1]


@pytest.mark.parametrize(
    ("content_type", "encoding", "status"),
    [
        ("application/json", "snappy", 415),
        ("application/x-protobuf;proto=io.prometheus.write.v3.Request", "snappy", 415),
        (V1, "gzip", 415),
        (V1, "snappy", 400),
        (V2, "snappy", 400),
    ],
)
def test_what_is_not_understood_is_refused(
    client: TestClient, organization: Any, content_type: str, encoding: str, status: int
) -> None:
    headers = {"Content-Type": content_type, "Content-Encoding": encoding, **organization.ingest_headers}
    for body in (b"\xff\xff\xff\xff\xff", b"no snappy at all", b""):
        answer = client.post("/api/v1/write", content=body, headers=headers)
        assert answer.status_code in (status, 204 if body == b"" else status), answer.text
    bomb = b"\xff\xff\xff\xff\x07" + bytes(100)
    assert client.post("/api/v1/write", content=bomb, headers=headers).status_code in (status, 413)


def test_rows_of_an_hour_become_one(api: TestClient, organization: Any) -> None:
    hour_ms = time.time_ns() // 1_000_000 // HOUR_MS * HOUR_MS - 2 * HOUR_MS
    labels = {"__name__": "gauge", "job": "hourly"}
    for number in range(10):
        request = request_v1(labels, [(hour_ms + number * 15_000, float(number)), (hour_ms, 0.0)])
        assert post(api, organization, request.SerializeToString()).status_code == 204
    assert external.compact(organization.id, time.time_ns() // 1000) == 1
    assert external.compact(organization.id, time.time_ns() // 1000) == 0
    with db.organization_session(organization.id) as session:
        (identity,), _ = external_search.label_sets(session, Selection(), 0, 10, histogram=False)
        times, values = external.read(session, [identity.id], hour_ms * 1000, hour_ms * 1000 + 10**9)[identity.id]
    assert values.tolist() == list(map(float, range(10)))
    assert times.tolist() == [(hour_ms + number * 15_000) * 1000 for number in range(10)]


@pytest.mark.usefixtures("early_in_a_minute")
def test_series_are_limited_and_metadata_is_counted(
    api: TestClient, organization: Any, settings_override: Callable[..., Settings]
) -> None:
    settings_override(limit_external_series=5)
    now_ms = time.time_ns() // 1_000_000

    def write(first: int, last: int) -> Any:
        series = [({"__name__": f"x{number}"}, [(now_ms, 1.0)]) for number in range(first, last)]
        return post(api, organization, request_of(series).SerializeToString())

    def used() -> dict[str, int]:
        return {one["name"]: one["used"] for one in api.get("/api/v1/organizations/current/limits").json()}

    assert [write(0, 3).status_code, write(0, 3).status_code] == [204, 204]
    assert used()["external_series"] == 3
    refused = write(0, 6)
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:jitterscope:problem:organization-limit")
    assert "may use 5 series" in refused.json()["detail"]
    assert [write(3, 5).status_code, write(0, 5).status_code] == [204, 204], "what is known goes on"
    with db.organization_session(organization.id) as session:
        assert stored.count(session) == 5
    before = used()["unpacked_bytes"]
    content = v1.WriteRequest(metadata=[v1.MetricMetadata(metric_family_name="x", help="Help")]).SerializeToString()
    assert post(api, organization, content).status_code == 204
    assert used()["unpacked_bytes"] == before + len(content)


def test_the_cache_of_metadata_holds_no_texts(api: TestClient, organization: Any) -> None:
    content = v1.WriteRequest(metadata=[v1.MetricMetadata(metric_family_name="x", help="h" * 100_000)])
    assert post(api, organization, content.SerializeToString()).status_code == 204
    cached = external_metrics._caches.of(db.engine())[organization.id, "x"]
    assert len(cached[0]) == 16
    with db.organization_session(organization.id) as session:
        assert external_metrics.of(session, ["x"])["x"].help == "h" * 1000
