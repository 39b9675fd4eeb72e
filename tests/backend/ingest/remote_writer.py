"""Sends by remote write as Prometheus does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import cramjam
from fastapi.testclient import TestClient

from jitterscope.pb import prometheus_v1_pb2 as v1

V1 = "application/x-protobuf"

Series = tuple[Mapping[str, str], Sequence[tuple[int, float]]]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def post(client: TestClient, organization: Any, content: bytes, content_type: str = V1, **headers: str) -> Any:
    sent = {"Content-Type": content_type, "Content-Encoding": "snappy", **organization.ingest_headers, **headers}
    return client.post("/api/v1/write", content=bytes(cramjam.snappy.compress_raw(content)), headers=sent)


def request_of(series: Iterable[Series]) -> v1.WriteRequest:
    """Labels (with __name__), and samples as (ms, value)."""
    request = v1.WriteRequest()
    for labels, samples in series:
        one = request.timeseries.add()
        for name, label in labels.items():
            one.labels.add(name=name, value=label)
        for at_ms, value in samples:
            one.samples.add(timestamp=at_ms, value=value)
    return request


def send(client: TestClient, organization: Any, series: Iterable[Series], **headers: str) -> None:
    answer = post(client, organization, request_of(series).SerializeToString(), **headers)
    assert answer.status_code == 204, answer.text


def every(seconds: int, values: Sequence[float], until_ms: int | None = None) -> list[tuple[int, float]]:
    """Samples at fixed intervals, the last one now."""
    end_ms = now_ms() if until_ms is None else until_ms
    return [(end_ms - (len(values) - 1 - at) * seconds * 1000, value) for at, value in enumerate(values)]
