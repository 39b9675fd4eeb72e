"""What a cause module exports: one `CAUSE` with a detector and the texts around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.core.finding import Fix, Found, Result
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

SubjectKind = Literal["cgroup", "node"]


@dataclass(frozen=True, slots=True)
class Cause:
    """A rule. `id` is "<area>/<file name>", never reused; it names the fault, not the fix.

    `needs` are metric names without which `detect` must return NotEnoughData. `relies_on` are metrics and facts whose
    absence it takes as "did not happen": correct for a collector, which looks for them, wrong for a file that cannot
    contain them. `rivals` are ids of causes that can look the same; each must be judged in every Found. `spreads`: if
    found on several subjects at the same time, it is one fault of what they share, and so one incident. `subjects` are
    the kinds of subjects that it is about: `detect` never sees a snapshot of another kind. `excludes`: rivals that its
    own figures exclude, so that it is no less certain if their detectors lack data. `yields_to`: rivals that measured
    directly what it infers, so that it is not reported beside their harm, whatever the scores. `signs`: without any of
    them `detect` finds nothing, even with all data; None: there is no such sign, so every look reads everything.
    `after_all`: it covers what the others leave unexplained. It is called last instead of `detect`, with the results of
    every other cause about the subject. All of them are its rivals, and its incident becomes that of the cause that
    explains the same harm (`is_residual`). `of_pods`: a pod's cgroup can have it in addition to its containers, through
    what it holds beyond them: pages of files in its volumes. `looks_like_freezes`: late answers that wait for a freeze
    of the whole node look like it, so it is not found where most of them do (core/freezes.py).
    """

    id: str
    title: str
    summary: str
    mechanism: str
    needs: tuple[str, ...]
    rivals: tuple[str, ...]
    detect: Callable[[Snapshot], Result]
    propose: Callable[[Snapshot, Found], list[Fix]]
    false_positives: tuple[str, ...]
    references: tuple[str, ...]
    spreads: bool = False
    relies_on: tuple[str, ...] = ()
    subjects: tuple[SubjectKind, ...] = ("cgroup",)
    excludes: tuple[str, ...] = ()
    yields_to: tuple[str, ...] = ()
    signs: Signs | None = None
    after_all: Callable[[Snapshot, Sequence[Result]], Result] | None = None
    of_pods: bool = False
    looks_like_freezes: bool = False

    @property
    def is_residual(self) -> bool:
        return self.after_all is not None
