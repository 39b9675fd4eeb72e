"""Signs: if a cause says that none shows, its detector finds nothing in the whole of the same window.

That the causes of scenarios show is checked in test_causes.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jitterscope.diagnosis.core.engine import judges, shows_nothing, signs_read
from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.recordings import file
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from tests.support.narrowed import narrow

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "recordings").glob("*.jitterscope"))
# Nothing triggers for these, and nothing is wrong.
CALM = ("coredns-gc-healthy", "coredns-gc-limit", "search-domains-ndots")
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
    (path,) = (path for path in RECORDINGS if path.stem == "coredns-oom-healthy")
    part = narrow(snapshot_of(file.load(path)), signs_read("cgroup") or ())
    shown = {
        cause.id for cause in all_causes().values() if judges(cause, part) and cause.signs and cause.signs.shown(part)
    }
    assert "unexplained/slow_answers" in shown
    assert not shown & {"cpu/neighbours", "io/disk_stall"}


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
