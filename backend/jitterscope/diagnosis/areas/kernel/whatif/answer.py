"""Freeing dentries as a what-if: how long the kernel would be busy."""

from __future__ import annotations

from jitterscope.diagnosis.areas.kernel.whatif.dentry_drop import Pause, predict
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.whatif import Answer, Figure, InvalidSettingError, Range, Settings, Trials, Tried

_COUNTS = (
    ("negative_dentries", "Negative dentries"),
    ("positive_dentries", "Unused dentries of real files"),
    ("inodes", "Inodes"),
)
# From here on users notice a program that does not run.
NOTICED_S = 0.1


def answer(snapshot: Snapshot, trials: Trials) -> Answer:
    """By what freeing and creating dentries took on this node before."""
    everything = predict(snapshot)
    if everything is None:
        why = snapshot.unavailable.get("dentry_state", "no data from the collector source dentry_state in this window")
        return Answer(cannot_tell=f"How many dentries there are is not known: {why}.")
    amounts = (everything.negative, everything.positive, everything.inodes)
    held = dict(zip((name for name, _ in _COUNTS), amounts, strict=True))
    return Answer(
        settings=held,
        figures=tuple(Figure(name, title, "1", held[name]) for name, title in _COUNTS),
        tried=tuple(_tried(snapshot, number, one) for number, one in enumerate(trials.settings)),
        ranges={name: Range(10_000, 100_000_000) for name, _ in _COUNTS},
    )


def _tried(snapshot: Snapshot, number: int, given: Settings) -> Tried:
    wanted: list[float | None] = []
    for name, _ in _COUNTS:
        value = given.get(name)
        wanted.append(float(value) if isinstance(value, float | int) else None)
    said = predict(snapshot, *wanted)
    if said is None:
        raise InvalidSettingError(number, "negative_dentries", "This number is too large to model.")
    return Tried(
        settings={"negative_dentries": said.negative, "positive_dentries": said.positive, "inodes": said.inodes},
        figures=(
            Figure("pause_ms", "Time the kernel is busy", "ms", interval=said.seconds.model_copy(
                update={name: getattr(said.seconds, name) * 1000 for name in ("low", "expected", "high")})),
            Figure("each_us", "Per negative dentry", "us", said.cost.each_us),
            Figure("waiting", "Wait for a CPU, relative to the kernel time", "1", said.waiting),
        ),
        outcome="no noticeable stall" if said.seconds.high < NOTICED_S else "programs stall",
        good=said.seconds.high < NOTICED_S,
        notes=_notes(said),
    )  # fmt: skip


def _notes(said: Pause) -> tuple[str, ...]:
    notes = [f"{said.cost.each_us:.2g} µs per negative dentry: {said.cost.basis}."]
    if said.waiting > 1.05:
        notes.append(f"Other tasks need the CPUs too, so it takes {said.waiting:.2g} × the kernel time.")
    return tuple(notes)
