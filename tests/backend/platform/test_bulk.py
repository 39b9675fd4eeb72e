"""Only callers that keep expensive requests running are answered by the bulk lane."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from jitterscope.bulk import FORWARDED, Lanes
from jitterscope.settings import settings
from tests.support.patience import wait_for
from tests.support.serving import serving

# A window of its own: by default it ends with the current minute.
SERVICES = "/services?from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z"


def test_a_page_that_loads_its_charts_at_once_stays_and_a_loop_moves() -> None:
    lanes = Lanes()
    lanes.begin(4, at_s=0.0)
    page = [lanes.begin(1, at_s=0.0) for _ in range(8)]
    assert lanes.begin(3, at_s=0.0) is False
    assert [lanes.begin(3, at_s=0.0) for _ in range(9)][-1] is True
    for _ in page:
        lanes.end(1, at_s=0.3)
    assert not any(page)
    moved_at = None
    lanes.begin(4, at_s=99.0)
    for turn in range(300):  # two at once, without a pause
        at_s = 100 + turn * 0.1
        if lanes.begin(2, at_s) and moved_at is None:
            moved_at = at_s - 100
        lanes.begin(2, at_s)
        for _ in range(2):
            lanes.end(2, at_s + 0.1)
    assert moved_at is not None
    assert 2 < moved_at < 15
    assert not lanes.begin(1, at_s=131.0)


def test_who_is_alone_gives_way_to_nobody() -> None:
    lanes = Lanes()
    assert not any(lanes.begin(1, at_s=0.01 * turn) for turn in range(100))
    assert not lanes.begin(2, at_s=2.0)
    assert lanes.begin(1, at_s=3.0)
    assert not lanes.begin(1, at_s=90.0)


def forwarded() -> float:
    (metric,) = FORWARDED.collect()
    return sum(one.value for one in metric.samples if one.name.endswith("_total"))


def processes() -> list[int]:
    """Bulk lanes that this process started."""
    children = [int(pid) for one in Path("/proc/self/task").glob("*/children") for pid in one.read_text().split()]
    return [pid for pid in children if "jitterscope.bulk_process" in _command(pid)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:  # it has just ended
        return ""


@pytest.fixture
def url(settings_override: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The application, with settings that the process it starts also has."""
    settings_override(api_lane="front")
    for name, value in settings().model_dump(mode="python").items():
        secret = getattr(value, "get_secret_value", None)
        monkeypatch.setenv(f"JITTERSCOPE_{name.upper()}", str(value if secret is None else secret()))
    with serving() as base:
        yield f"{base}/api/v1"
    assert processes() == []


@pytest.mark.slow
def test_the_lane_answers_as_the_process_itself_does(
    url: str, api: Any, organization: Any, other_organization: Any
) -> None:
    with httpx.Client(timeout=120, headers=organization.headers) as http:
        here = http.get(f"{url}{SERVICES}")
        assert forwarded() == 0
        with ThreadPoolExecutor(8) as crowd:
            busy = True

            def keep_asking(_: int) -> set[int]:
                statuses = set()
                while busy:
                    statuses.add(http.get(f"{url}{SERVICES}").status_code)
                return statuses

            asking = [crowd.submit(keep_asking, number) for number in range(8)]
            try:
                assert http.get(f"{url}{SERVICES}", headers=other_organization.headers).status_code == 200
                wait_for(lambda: forwarded() > 0)
                there = http.get(f"{url}{SERVICES}")
                refused = http.get(f"{url}/dns/names", params={"node": 987654321})
                before = forwarded()
                # Light callers stay here, even then.
                assert http.get(f"{url}{SERVICES}", headers=other_organization.headers).status_code == 200
                (pid,) = processes()
                assert os.sched_getscheduler(pid) == os.SCHED_IDLE
                assert forwarded() >= before > 0
                os.kill(pid, signal.SIGKILL)
                wait_for(lambda: processes() not in ([], [pid]))
            finally:
                busy = False
        assert set.union(*(one.result() for one in asking)) <= {200, 429, 503}
    assert there.json() == here.json()
    assert set(here.headers) == set(there.headers)
    assert len(there.headers.get_list("x-request-id")) == 1
    assert refused.status_code == 404
    assert refused.json()["request_id"] == refused.headers["x-request-id"]
