"""The clock of a collector's machine steps by an hour, both ways: what is stored, what is rejected, and who is told."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import psycopg
import pytest

from jitterscope.devstack.stack import Stack
from labs.vm.clock_steps import collect
from tests.support.lab_plan import live

HOUR_TICKS = 36_000


@pytest.mark.timeout(900)
@live(60)
def test_steps_of_an_hour(tmp_path: Path) -> None:
    with Stack(tmp_path / "stack", collector=False, durable=False, owner_pid=os.getpid()) as stack:
        collected = collect(tmp_path / "vm", print)
        headers = {"Authorization": f"Bearer {stack.create_ingest_token()}"}
        stored: list[int] = []
        refused: list[int] = []
        with httpx.Client(base_url=f"{stack.url}/api/v1", headers=headers, timeout=60) as client:
            for batch in [*collected.batches, *collected.batches[-3:]]:
                answer = client.post("/ingest", content=batch.body)
                assert answer.status_code in (200, 400), answer.text
                if answer.status_code == 400:
                    assert answer.json()["type"] == "urn:jitterscope:problem:clock-ahead"
                    refused += batch.ticks
                elif not answer.json()["duplicate"]:
                    stored += batch.ticks
        # Exactly what was written an hour ahead is rejected; what was written an hour behind is stored. Of a batch in
        # which the clock was set, only the part from the future is dropped.
        now = collected.true_tick
        assert refused
        assert all(tick > now + HOUR_TICKS // 2 for tick in refused)
        stored = [tick for tick in stored if tick < now + HOUR_TICKS // 2]
        behind = [tick for tick in stored if tick < now - HOUR_TICKS // 2]
        right = [tick for tick in stored if abs(tick - now) < HOUR_TICKS // 2]
        assert len(behind) > 20
        assert len(right) > 60
        assert len(stored) == len(behind) + len(right)
        with psycopg.connect(stack.owner_database_url, autocommit=True) as connection:
            connection.execute(
                "SELECT set_config('jitterscope.organization_id', %s, false)", (str(stack.organization_id),)
            )
            rows = connection.execute(
                "SELECT round(extract(epoch FROM time) * 10)::bigint FROM series_samples "
                "WHERE metric = 'collector_tick' AND step_us = 100000 ORDER BY 1"
            ).fetchall()
        assert [int(row[0]) for row in rows] == sorted(stored)
        assert len(set(stored)) == len(stored)
        # Reported: both backward steps in the collector's log, the clock that is ahead on the page Collectors and in
        # the API's log.
        assert collected.log.count("the clock was set back") == 2
        api = {"Authorization": f"Bearer {stack.create_api_token()}"}
        (row,) = httpx.get(f"{stack.url}/api/v1/collectors", headers=api, timeout=30).json()["items"]
        (spool,) = [source for source in row["sources"] if source["name"] == "spool"]
        assert (spool["state"], "in the future" in spool["detail"]) == ("degraded", True)
        assert stack.log("api").read_text().count('"clock_ahead"') == 1
