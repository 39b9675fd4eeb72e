"""A risk of the product's own processes is not listed as one of its user's, and a user's PostgreSQL always is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.engine import Diagnosis, diagnose
from jitterscope.incidents.lifecycle.apply import apply_diagnosis
from jitterscope.incidents.scheduling.snapshots import load
from jitterscope.inventory.types import FactRow
from jitterscope.recordings.model import RecordedResource, Recording
from tests.backend.incidents.stories import changed, moved

KEY = "/kubepods/burstable/pod9118fc9a-5622-43c2-a6a9-ea0a582ea247/postgres"
PART_OF = "workload.part_of"


def postgres(recording: Recording, *part_of: str) -> Recording:
    """The run in a container `postgres` whose pod had these labels, one after the other."""

    def said(one: RecordedResource) -> RecordedResource:
        if one.kind != "cgroup":
            return one
        labels = (FactRow(PART_OF, value, recording.start_us + at) for at, value in enumerate(part_of))
        return replace(one, facts=(*one.facts, *labels))

    return changed(moved(recording, KEY, "postgres-0", container="postgres"), said)


def risk_of(service: Any, recording: Recording) -> int:
    """Make its finding a risk; returns the subject's ID."""
    subject_id = int(service.feed(recording))
    with organization_session(service.organization.id) as session:
        loaded = load(session, subject_id, 120_000_000)
        assert loaded is not None
        harmless = diagnose(loaded.snapshot).findings[0].model_copy(update={"severity": None, "harm": "none"})
        window = (loaded.snapshot.start_us, loaded.snapshot.end_us)
        apply_diagnosis(
            session,
            loaded.subject,
            Diagnosis(findings=[harmless], not_found=[], not_enough_data=[]),
            window,
            loaded.clock_us,
        )
    return subject_id


@pytest.mark.parametrize("labels", [(), ("shop",), ("jitterscope", "shop")])
def test_a_users_own_is_a_risk(service: Any, gc_fault: Recording, labels: tuple[str, ...]) -> None:
    subject_id = risk_of(service, postgres(gc_fault, *labels))
    [risk] = service.get("/risks")["items"]
    assert (risk["subject"]["resource_id"], risk["subject"]["name"]) == (
        subject_id, "kube-system/postgres-0/postgres",
    )  # fmt: skip
    assert service.get("/risks", own=True)["items"] == []


def test_the_products_own_is_listed_where_it_is_asked_for(service: Any, gc_fault: Recording) -> None:
    subject_id = risk_of(service, postgres(gc_fault, "jitterscope"))
    assert service.get("/risks")["items"] == []
    for asked in ({"own": True}, {"subject": subject_id}):
        [risk] = service.get("/risks", **asked)["items"]
        assert risk["subject"]["resource_id"] == subject_id
