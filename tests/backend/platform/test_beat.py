"""Beat goes on sending tasks after an outage of Valkey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from celery.beat import PersistentScheduler, SchedulingError

from jitterscope import worker
from tests.backend.conftest import Database


def test_a_task_that_meets_a_closed_channel_is_sent_by_another(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    producers: list[bool] = []
    beat = worker.Beat(app=worker.app, schedule_filename=str(tmp_path / "schedule"))
    sends = PersistentScheduler.apply_async

    # As kombu raised it once after Valkey had been full.
    def closed(self: Any, entry: Any, producer: Any = None, **options: Any) -> Any:
        producers.append(producer is not None)
        if producer is None:
            return sends(self, entry, producer=None, **options)
        try:
            raise AttributeError("'NoneType' object has no attribute 'client'")
        except AttributeError:
            raise SchedulingError("Couldn't apply scheduled task")  # noqa: B904  as celery raises it

    monkeypatch.setattr(PersistentScheduler, "apply_async", closed)
    try:
        entry = next(iter(beat.schedule.values()))
        assert beat.apply_async(entry, producer=beat.producer, advance=False) is not None
    finally:
        beat.close()
    assert producers == [True, False]
