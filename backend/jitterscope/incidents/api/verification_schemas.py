"""REST shapes of verifications: did a fix do what it was predicted to, as measured before and after."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.quantity import Better, Unit
from jitterscope.kit.schema import Schema

VerificationState = Literal["waiting", "verified", "did_not_help", "made_worse", "replaced"]


class SettingStep(Schema):
    """One setting that changed, with readable values. Null: not set, or not known."""

    name: str  # of the fact ("cpu.quota_us"), "seen.…" of what only a window shows, or "restart"
    title: str
    old: str | None
    new: str | None


class BlockLane(Schema):
    """One figure over blocks; null where a block has no data of that kind."""

    id: str  # of the measure, or "load.…"
    title: str
    unit: str
    values: list[float | None]


class BlockSeries(Schema):
    """Lanes with one entry per block of `step_us`: deciding measures first, the compared load last."""

    t_us: list[int]
    step_us: int
    lanes: list[BlockLane]


class VerifiedMeasure(Schema):
    """One figure before and after, with the test that tells them apart and what was predicted."""

    metric: str  # id of the measure, as the cause's area declares it
    title: str
    unit: Unit
    better: Better
    before: float | None
    after: float | None
    # after / before with its 90 % interval (bootstrap over blocks); null where there was nothing before
    ratio: Interval | None
    p_value: float | None  # two-sided: that both are the same
    test: str | None  # what p_value is from, in words
    decides: bool  # part of the verdict, or shown beside it
    predicted: Interval | None  # for the setting that was applied, from data before it
    promised: Interval | None  # of the recommended fix, while the incident was open
    inside: bool | None  # the outcome lies in `predicted`


class VerificationResult(Schema):
    """What was measured so far: the stored part of a Verification."""

    after_from: datetime | None = None
    after_to: datetime | None = None
    measures: list[VerifiedMeasure] = Field(default_factory=list)
    before: BlockSeries | None = None
    after: BlockSeries | None = None
    notes: list[str] = Field(default_factory=list)
    needed_s: float | None = None
    collected_s: float | None = None


class Verification(Schema):
    """One attempt to fix an incident. While it waits, its figures are as measured so far."""

    id: int
    state: VerificationState
    started_by: str  # "jitterscope" where facts told, or a user's name
    applied_at: datetime
    fix_id: str | None  # null: a change that no fix of the incident proposes
    fix_title: str
    changes: list[SettingStep]
    subject_id: int  # where it is measured after: the same cgroup, or the one that took its place
    subject_name: str
    before_from: datetime
    before_to: datetime
    after_from: datetime | None
    after_to: datetime | None
    waiting_for: str | None  # only while waiting: what a verdict still needs
    # Seconds under comparable load, only while more of it is what is waited for
    needed_s: float | None
    collected_s: float | None
    verdict: str | None  # a sentence, once there is one
    measures: list[VerifiedMeasure]
    before: BlockSeries | None
    after: BlockSeries | None
    notes: list[str]
    finished_at: datetime | None


class VerifyRequest(Schema):
    fix_id: str | None = Field(default=None, max_length=100, description="A fix of the incident; null: another change")
    applied_at: datetime | None = Field(default=None, description="With a time zone; null: now")
    note: str | None = Field(default=None, max_length=2000)


class FixLanding(Schema):
    """How Jitterscope sees that a fix was applied, and which measures judge it."""

    fix_id: str
    seen: bool  # false: say that it was applied (POST …/verify)
    text: str  # how it is seen, or why it cannot be
    measures: list[str]  # titles, what decides first
    lab: str | None  # the command that tries it


class FixPrediction(Schema):
    fix_id: str
    at: datetime
    figures: dict[str, Interval]  # by measure; 90 %


class MetricCalibration(Schema):
    metric: str
    title: str
    outcomes: int
    inside_ratio: float | None  # share of outcomes in their 90 % interval, 0..1
    median_error_ratio: float | None  # median of |predicted − measured| / max(measured, a tenth of what was before)


class FixCalibration(Schema):
    """How predictions of one kind of fix turned out. Figures are null without outcomes."""

    fix_id: str
    verifications: int
    verified: int
    did_not_help: int
    made_worse: int
    outcomes: int
    inside_ratio: float | None
    median_error_ratio: float | None
    metrics: list[MetricCalibration]


class PredictionOutcome(Schema):
    """One prediction beside what was measured."""

    id: int
    at: datetime
    incident_id: int
    verification_id: int
    subject_name: str
    fix_id: str
    metric: str
    title: str
    unit: Unit
    predicted: Interval
    measured: float
    before: float | None
    inside: bool
    error_ratio: float


class Explained(Schema):
    """All answers over 20 ms in the last `days`, and those that came during an incident with a known cause; up to
    10 min old."""

    days: int
    slow_answers: int
    explained: int
    ratio: float | None


class Calibration(Schema):
    """Jitterscope's track record. `level`: the share of outcomes that should be inside the interval."""

    level: float
    outcomes: int
    inside_ratio: float | None
    median_error_ratio: float | None
    explained: Explained
    fixes: list[FixCalibration]
    recent: list[PredictionOutcome]
