"""Valkey is full: data are stored as before, guessing stays limited, what waits is done once there is room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import redis
from playwright.sync_api import Page

from jitterscope.recordings import file
from jitterscope.recordings.replay import replay
from tests.chaos import drill as drills
from tests.chaos.drill import Drill
from tests.support.minutes import early_in_a_minute

RECORDING = Path(__file__).parents[1] / "fixtures" / "recordings" / "coredns-gc-fault.jitterscope"
FULL = "is full: it refuses to store anything"


@pytest.mark.timeout(600)
def test_valkey_is_full(folder: Path, open_page: Callable[[str], Page]) -> None:
    with drills.running(folder) as drill, redis.Redis.from_url(drill.stack.valkey_url) as valkey:
        page = open_page(drill.stack.url)
        drills.watch(drill, page)
        token = drill.stack.create_ingest_token()
        drill.mark()
        _fill(valkey)

        # While it fills up it might be too busy to answer.
        ready = drills.wait(
            lambda: answer if FULL in (answer := drill.readyz())[1]["checks"]["valkey"] else None, "a full Valkey"
        )
        assert (ready[0], ready[1]["status"], ready[1]["checks"]["database"]) == (200, "degraded", "ok")
        assert ready[1]["checks"]["valkey"].startswith(f"{FULL}. Meanwhile diagnoses and notifications wait")
        drills.banner(page, f"Valkey {FULL}.")
        # What does not need Valkey continues: data are accepted and read.
        sent = drill.collector("batches_sent_total")
        drills.wait(lambda: drill.collector("batches_sent_total") >= sent + 3, "more batches")
        assert drill.collector("send_failures_total") == 0
        replay(file.load(RECORDING), drill.stack.url, token, speed=0, key_suffix="-full")
        # The limits on guessing hold, and the right password gets in.
        early_in_a_minute(30)
        assert _sign_in(drill, "nobody@example.com", "wrong", times=11) == [401] * 10 + [429]
        assert _sign_in(drill, *drill.stack.admin) == [200]
        assert [line["why"] for line in drill.events("api", "valkey_unavailable")] == [FULL]
        assert len(drills.wait(lambda: drill.events("beat", "valkey_unavailable"), "a word of beat")) == 1
        assert drill.complaints() == []

        valkey.config_set("maxmemory", "512mb")
        drills.wait(lambda: drill.readyz()[1]["status"] == "ready", "readiness")
        drills.calm(page)
        # Diagnoses that became due in the meantime run by themselves.
        drills.wait(lambda: _incidents(drill), "the incident of the recording")
        assert [line["failures"] > 1 for line in drill.events("api", "valkey_available")] == [True]
        assert drill.complaints() == []
        drill.every_tick_once()
        assert len(_incidents(drill)) == 1


def _fill(valkey: redis.Redis) -> None:
    """4 MiB of other data where 4 MiB is the maximum: no freed buffer makes room."""
    for number in range(1024):
        valkey.set(f"filler:{number}", b"x" * 4096)
    valkey.config_set("maxmemory", "4mb")
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        valkey.set("more", b"x")


def _sign_in(drill: Drill, email: str, password: str, times: int = 1) -> list[int]:
    body = {"email": email, "password": password}
    return [httpx.post(f"{drill.stack.url}/api/v1/auth/login", json=body, timeout=60).status_code for _ in range(times)]


def _incidents(drill: Drill) -> list[object]:
    """Incidents of the recording's node."""
    found = drill.client.get("/incidents", params={"limit": 200}).json()["items"]
    nodes = {
        one["subject"]["resource_id"]: drill.client.get(f"/resources/{one['subject']['resource_id']}") for one in found
    }
    return [one for one in found if nodes[one["subject"]["resource_id"]].json()["node"]["key"].endswith("-full")]
