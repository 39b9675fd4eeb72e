"""GET /compare: a window compared with another time or another resource, using verification's tests."""

from __future__ import annotations

import time
from typing import Any

import pytest

from jitterscope.recordings.model import Recording
from tests.backend.conftest import Organization
from tests.backend.incidents.conftest import Service, gc_fault, healthy, quiet, service

pytestmark = pytest.mark.slow

__all__ = ["gc_fault", "healthy", "quiet", "service"]

SECOND_US = 1_000_000


def compared(service: Service, subject: int, span: tuple[int, int], status: int = 200, **other: Any) -> dict[str, Any]:
    window = {"resource": subject, "from": str(span[0]), "to": str(span[1])}
    return dict(service.get("/compare", status, **window, **other))


def by_metric(answer: dict[str, Any]) -> dict[str, Any]:
    return {one["metric"]: one for one in answer["measures"]}


def test_a_fault_differs_from_the_calm_before_it_and_says_how_sure_that_is(
    service: Service, gc_fault: Recording, quiet: Recording
) -> None:
    end_us = time.time_ns() // 1000 // 100_000 * 100_000
    length_us = gc_fault.ticks * 100_000
    calm_us = quiet.ticks * 100_000
    middle_us = end_us - length_us
    service.feed(quiet, ends_us=middle_us)
    subject = service.feed(gc_fault, ends_us=end_us)
    span_us = min(length_us, calm_us)
    answer = compared(service, subject, (end_us - span_us, end_us), other_from=str(middle_us - span_us))
    throttled = by_metric(answer)["throttled_ms_per_min"]
    assert throttled["this"] > throttled["other"]
    assert throttled["differs"]
    assert throttled["p_value"] <= throttled["adjusted_p"] < 0.05
    assert throttled["test"]
    assert answer["measures"][0]["differs"], "the surest differences come first"
    assert answer["this"]["blocks"] == answer["other"]["blocks"] == span_us // (10 * SECOND_US)
    assert {"cpu"} <= {one["id"] for one in answer["loads"]}
    assert answer["this"]["from_us"] - answer["other"]["from_us"] == end_us - span_us - (middle_us - span_us)


def test_two_halves_of_the_same_fault_are_not_said_to_differ(service: Service, gc_fault: Recording) -> None:
    """The control: without a difference, none is found."""
    end_us = time.time_ns() // 1000 // 100_000 * 100_000
    subject = service.feed(gc_fault, ends_us=end_us)
    half_us = gc_fault.ticks // 200 * 100 * 100_000
    answer = compared(service, subject, (end_us - half_us, end_us), other_from=str(end_us - 2 * half_us))
    assert answer["measures"]
    assert [one["metric"] for one in answer["measures"] if one["differs"]] == []


def test_another_resource_and_a_window_without_data(service: Service, gc_fault: Recording, quiet: Recording) -> None:
    end_us = time.time_ns() // 1000 // 100_000 * 100_000
    here = service.feed(gc_fault, ends_us=end_us)
    there = service.feed(quiet, ends_us=end_us, suffix="-2")
    span_us = min(gc_fault.ticks, quiet.ticks) * 100_000
    span = (end_us - span_us, end_us)
    answer = compared(service, here, span, other_resource=there)
    assert answer["other"]["resource"]["id"] == there != here
    assert by_metric(answer)["throttled_ms_per_min"]["differs"]
    empty = compared(service, here, span, other_from=str(end_us - 3600 * SECOND_US))
    assert (empty["measures"], empty["other"]["blocks"]) == ([], 0)
    assert empty["this"]["blocks"] > 0


def test_what_cannot_be_compared_is_refused(
    service: Service, gc_fault: Recording, other_organization: Organization
) -> None:
    subject = service.feed(gc_fault)
    assert compared(service, subject, (0, 3600 * SECOND_US + 1), 422)["type"].endswith("invalid-window")
    assert compared(service, subject, (0, SECOND_US), 422)["type"].endswith("invalid-comparison")
    assert compared(service, 999_999_999, (0, SECOND_US), 404, other_from="5")["status"] == 404
    parameters: dict[str, Any] = {"resource": subject, "from": "0", "to": "1000000", "other_from": "5"}
    answer = service.client.get("/api/v1/compare", params=parameters, headers=other_organization.headers)
    assert answer.status_code == 404


@pytest.mark.parametrize("side", ["resource", "other_resource"])
def test_neither_side_shows_another_organization(
    service: Service, gc_fault: Recording, other_organization: Organization, side: str
) -> None:
    foreign = Service(service.client, other_organization).feed(gc_fault)
    own = service.feed(gc_fault)
    parameters: dict[str, Any] = {
        "resource": own,
        "other_resource": own,
        side: foreign,
        "from": "0",
        "to": "1000000",
        "other_from": "5",
    }
    answer = service.client.get("/api/v1/compare", params=parameters, headers=service.organization.headers)
    assert answer.status_code == 404
