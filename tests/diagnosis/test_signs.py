"""Signs: if a cause says that none shows, its detector finds nothing in the whole of the same window.

That the causes of scenarios show is checked in test_causes.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jitterscope.diagnosis.core.engine import judges, shows_nothing, signs_read
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Distribution, Snapshot
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from tests.support.narrowed import narrow

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "recordings").glob("*.jitterscope"))
# Nothing triggers for these, and nothing is wrong. The upstream of the last one needs 20 ms for each answer.
CALM = ("coredns-gc-healthy", "coredns-gc-limit", "search-domains-ndots", "coredns-oom-healthy")
WINDOW_US, EVERY_US = 10_000_000, 15_000_000


def windows(recording: Recording) -> Iterator[Snapshot]:
    """The whole, what there is of it after some seconds, and what a shorter window sees."""
    yield snapshot_of(recording)
    for end_us in range(recording.start_us + EVERY_US, recording.end_us, EVERY_US):
        yield snapshot_of(recording, recording.start_us, end_us)
        if end_us - WINDOW_US > recording.start_us:
            yield snapshot_of(recording, end_us - WINDOW_US, end_us)


def hidden(snapshot: Snapshot) -> list[str]:
    """Causes that are found although they do not show."""
    reads = signs_read(snapshot.subject.kind)
    assert reads is not None
    part = narrow(snapshot, reads)
    about = [cause for cause in all_causes().values() if judges(cause, snapshot)]
    silent = [cause for cause in about if cause.signs is not None and not cause.signs.shown(part)]
    return [cause.id for cause in silent if isinstance(cause.detect(snapshot), Found)]


def shown(part: Snapshot) -> set[str]:
    about = [cause for cause in all_causes().values() if judges(cause, part)]
    return {cause.id for cause in about if cause.signs is not None and cause.signs.shown(part)}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_what_is_found_in_a_recording_shows(path: Path) -> None:
    assert [found for one in windows(file.load(path)) for found in hidden(one)] == []


@pytest.mark.parametrize("name", CALM)
def test_a_calm_subject_shows_nothing(name: str) -> None:
    (path,) = (path for path in RECORDINGS if path.stem == name)
    snapshot = snapshot_of(file.load(path))
    reads = signs_read(snapshot.subject.kind)
    assert reads is not None
    assert shows_nothing(narrow(snapshot, reads))


def test_slow_answers_alone_are_no_sign_of_waiting() -> None:
    """Of neighbors or a disk: they show only if threads waited, too. The control: other causes show there."""
    (path,) = (path for path in RECORDINGS if path.stem == "dns-forward-healthy")
    part = narrow(snapshot_of(file.load(path)), signs_read("cgroup") or ())
    assert "unexplained/slow_answers" in shown(part)
    assert not shown(part) & {"cpu/neighbours", "io/disk_stall"}


def test_what_is_slow_for_every_answer_shows_once_one_is_late() -> None:
    """Answers of 20 ms are usual for this server; its answers, or a pause, of 100 ms are not."""
    (path,) = (path for path in RECORDINGS if path.stem == "coredns-oom-healthy")
    snapshot = snapshot_of(file.load(path))
    part = narrow(snapshot, signs_read("cgroup") or ())
    (server,) = part.dns_servers
    known = server.distributions["dns_latency_us"]
    late = Distribution(
        np.append(known.tick, 50), np.append(known.bucket, bucket_of(np.array([1e5]))), np.append(known.count, 1)
    )
    with_a_late_one = replace(server, distributions={**server.distributions, "dns_latency_us": late})
    pause = np.zeros(part.ticks)
    pause[50:52] = 30_000.0, 70_000.0
    stopped = replace(part.processes[0], series={**part.processes[0].series, "gc_pause_us": pause})
    assert shown(part) == set()
    assert shown(replace(part, dns_servers=(with_a_late_one,))) == {"runtime/gc_pause", "unexplained/slow_answers"}
    assert shown(replace(part, processes=(stopped,))) == {"runtime/gc_pause"}


@pytest.mark.parametrize("path", RECORDINGS[::4], ids=lambda path: path.stem)
def test_signs_read_what_they_name(path: Path) -> None:
    """A cause sees no more in what other causes' signs also read than in what its own do."""
    snapshot = snapshot_of(file.load(path))
    reads = signs_read(snapshot.subject.kind)
    assert reads is not None
    part = narrow(snapshot, reads)
    for cause in all_causes().values():
        assert cause.signs is not None
        if judges(cause, snapshot):
            assert cause.signs.shown(narrow(snapshot, cause.signs.reads)) == cause.signs.shown(part), cause.id
