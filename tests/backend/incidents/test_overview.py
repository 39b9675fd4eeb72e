"""GET /overview and GET /fixes: what Home says about the present and about what was fixed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jitterscope.recordings.model import Recording
from tests.backend.incidents.stories import story, visit

pytestmark = pytest.mark.slow


def test_nothing_is_open(service: Any) -> None:
    assert service.get("/overview") == {"counts": [], "muted": 0, "not_known": 0, "worst": []}
    assert service.get("/fixes") == {"items": [], "next_cursor": None}


def test_the_worst_come_first_whatever_is_newest(service: Any, fault: Recording) -> None:
    ids = []
    for suffix, severity in (("-a", "warning"), ("-b", "critical"), ("-c", "warning"), ("-d", "info")):
        service.diagnose(service.feed(fault, suffix=suffix))
        made = service.get("/incidents")["items"][0]["id"]
        assert made not in ids, "each node has an incident of its own"
        service.change(made, severity=severity)
        ids.append(made)
    first, critical, newest, info = ids
    found = service.get("/overview", worst=10)
    assert [(one["severity"], one["incidents"]) for one in found["counts"]] == [
        ("critical", 1), ("warning", 2), ("info", 1)
    ]  # fmt: skip
    assert [one["id"] for one in found["worst"]] == [critical, newest, first, info]
    assert [one["id"] for one in service.get("/overview", worst=1)["worst"]] == [critical]

    # The list of incidents has the same order, over its pages as well.
    listed = service.get("/incidents", order="worst", limit=3)
    rest = service.get("/incidents", order="worst", limit=3, cursor=listed["next_cursor"])
    assert [one["id"] for one in listed["items"] + rest["items"]] == [critical, newest, first, info]
    assert [one["id"] for one in service.get("/incidents")["items"]] == [info, newest, critical, first]
    service.get("/incidents", cursor=listed["next_cursor"], status=400)

    # Muted ones still do harm, so they count; those still to be looked at come first.
    service.change(critical, muted=True)
    found = service.get("/overview")
    assert (found["muted"], [one["id"] for one in found["worst"]]) == (1, [newest, first, info])
    service.change(critical, muted=True, muted_until=datetime.now(UTC) - timedelta(minutes=1))
    assert service.get("/overview")["worst"][0]["id"] == critical

    # Acknowledged is not over; resolved is.
    service.post(f"/incidents/{critical}/acknowledge")
    service.post(f"/incidents/{newest}/resolve")
    found = service.get("/overview")
    assert [one["id"] for one in found["worst"]] == [critical, first, info]
    assert sum(one["incidents"] for one in found["counts"]) == 3


def test_a_fix_says_what_it_gained(service: Any, fault: Recording, more_cpu: Recording) -> None:
    incident = visit(service, story(service, fault, more_cpu))
    (fix,) = service.get("/fixes")["items"]
    assert (fix["state"], fix["incident_id"], fix["incident_title"]) == ("verified", incident["id"], incident["title"])
    assert fix["fix_title"] == incident["verification"]["fix_title"]
    decided = next(one for one in incident["verification"]["measures"] if one["decides"] and one["after"] is not None)
    assert fix["measure"] == decided
    assert fix["measure"]["after"] < fix["measure"]["before"]
    assert service.get("/fixes", state="made_worse")["items"] == []
    assert len(service.get("/fixes", state=["verified", "made_worse"])["items"]) == 1


def test_what_did_not_help_is_listed_and_pages_follow_one_another(
    service: Any, fault: Recording, fault_again: Recording
) -> None:
    incident = visit(service, story(service, fault, fault_again))
    (fix,) = service.get("/fixes")["items"]
    assert (fix["state"], fix["incident_id"]) == ("did_not_help", incident["id"])
    service.diagnose(service.feed(fault, suffix="-b"))
    another = service.get("/incidents")["items"][0]["id"]
    service.post(f"/incidents/{another}/verify", {"note": "another try"})
    first = service.get("/fixes", limit=1)
    assert first["items"][0]["state"] == "waiting"
    assert first["items"][0]["finished_at"] is None
    rest = service.get("/fixes", limit=1, cursor=first["next_cursor"])
    assert ([one["id"] for one in rest["items"]], rest["next_cursor"]) == ([fix["id"]], None)
    service.get("/fixes", 400, cursor="nonsense")
