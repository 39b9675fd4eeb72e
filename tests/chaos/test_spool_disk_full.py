"""A collector's spool disk fills up and is emptied: what waits stays in memory, is reported, and is sent once."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.chaos import drill as drills
from tests.chaos.drill import Drill


@pytest.mark.timeout(600)
def test_the_spools_disk_is_full_and_emptied(folder: Path, open_page: Callable[[str], Page]) -> None:
    with _small_disk(folder / "disk") as disk, drills.running(folder, arguments=("--spool-dir", str(disk))) as drill:
        page = open_page(drill.stack.url)
        drills.watch(drill, page)
        page.goto("/collectors")
        expect(page.get_by_text("● receiving")).to_be_visible()
        drill.mark()
        filler = _fill(disk)
        # Batches wait while they are not accepted, and there is no disk to wait on.
        drill.stack.supervisor.stop_program("api")
        drills.wait(lambda: drill.collector("spool_memory_batches") >= 3, "batches in memory")
        said = httpx.get(f"{drill.metrics_url}/readyz", timeout=30)
        assert (said.status_code, "no space left on device" in said.text) == (503, True)
        assert httpx.get(f"{drill.metrics_url}/healthz", timeout=30).status_code == 200
        drills.banner(page, "Cannot reach Jitterscope")
        drill.stack.supervisor.start_program("api")
        drills.wait(lambda: drill.sources()["spool"][0] == "degraded", "the state of the spool")
        assert "no space left on device" in drill.sources()["spool"][1]
        drills.calm(page)
        # Sent batches make room, and the next ones find it: other files take it again.
        with _kept_full(filler):
            expect(page.get_by_text("no space left on device").first).to_be_visible()
            # Reported once each time.
            told = drills.wait(lambda: _not_ready(drill), "a collector that is not ready")
            assert told["not ready"] == told["ready again"] + 1

        filler.unlink()
        # Either can be from just before: from one of the times when there was room for a while.
        drills.wait(
            lambda: httpx.get(f"{drill.metrics_url}/readyz", timeout=30).status_code == 200, "a ready collector"
        )
        drills.wait(lambda: drill.sources()["spool"][0] == "active", "a spool that is well")
        drill.every_tick_once()
        assert drill.client.get("/collectors").json()["items"][0]["dropped_batches"] == 0
        assert "spool_memory_batches 0" in httpx.get(f"{drill.metrics_url}/metrics", timeout=30).text
        _restarts(drill)


def _restarts(drill: Drill) -> None:
    """The collector survived all of it: its counters started once."""
    assert drill.collector("batches_sealed_total") > drill.collector("spool_write_failures_total") > 0


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _not_ready(drill: Drill) -> dict[str, int] | None:
    """How often the collector reported each state, if the last one was "not ready"."""
    said = [line["msg"] for line in drill.logged("collector") if line.get("msg") in ("not ready", "ready again")]
    return {one: said.count(one) for one in ("not ready", "ready again")} if said[-1:] == ["not ready"] else None


@contextlib.contextmanager
def _kept_full(filler: Path) -> Iterator[None]:
    """The room that others free is taken at once, until the context ends."""
    ended = threading.Event()

    def take() -> None:
        while not ended.wait(0.2):
            _fill(filler.parent)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        size = 1 << 16
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2
    return filler
