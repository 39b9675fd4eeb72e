"""Whether late answers are those during which threads of the server waited for a CPU, a disk, or a page."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.served import metric, read_served, slow_of, summed, usual_us
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.signs import shows
from jitterscope.diagnosis.core.slow import loosest_us, may_be_slow, quickest_us
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, DoseResponse, dilate, dose_response

# What `slow_or_untimed` reads.
SIGNS = (
    "dns_queries", "dns_slow", "dns_timeouts", "dns_servfail", "requests", "responses_slow", "requests_unanswered",
)  # fmt: skip
# A request was held up if threads waited for at least this share of its time.
HELD_UP = 0.3
# Longer answers span whole ticks, so waiting and answering can be aligned.
RESOLVED_US = 150_000
# A program whose threads do not run answers nothing meanwhile: if less than this share of the answers beside a long one
# were late, that one waited for something else.
LEAST_SLOW = 0.1
# If answers are late all the time, there is nothing to compare with: at least this share of the window must be left.
LEAST_REST = 0.1


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Late answers (`of`) and those during which threads waited for at least 0.3 of the time (`hits`).

    `typical_us`: their median answer time; `dose`: whether a larger share of the answers is late in ticks with more
    waiting.

    `inside` and `outside`: waiting per time while late answers were in flight, and in the rest of the window (NaN:
    there is hardly any rest). `covered`: the part of `inside` beyond the rest, per answer that was late at the same
    time. `slow_ratio`: the share of late answers among all while late ones were in flight (NaN: not counted).
    """

    hits: int
    of: int
    typical_us: float
    dose: DoseResponse
    inside: float = 0.0
    outside: float = 0.0
    covered: float = 0.0
    slow_ratio: float = math.nan

    @property
    def told(self) -> bool:
        """Whether the late answers have waiting in common, and it is not there all the time anyway."""
        long = self.typical_us >= RESOLVED_US and not self.others_quick
        return self.often and (long or self.by_dose)

    @property
    def often(self) -> bool:
        """Whether threads waited during at least half of the late answers."""
        return self.hits >= 0.5 * self.of

    @property
    def others_quick(self) -> bool:
        """Whether answers are long, arrive while others are quick, and are no more frequent where threads wait more."""
        return self.typical_us >= RESOLVED_US and self.slow_ratio < LEAST_SLOW and not self.by_dose

    @property
    def by_dose(self) -> bool:
        return self.dose.rho >= 0.2 and self.dose.p < 0.01

    @property
    def by_dose_words(self) -> str:
        """ "more waiting, a larger share of late answers: rank correlation 0.62, p = 0.001"."""
        dose = f"rank correlation {self.dose.rho:.2f}, p = {say.probability(self.dose.p)}"
        return f"more waiting, a larger share of late answers: {dose}"

    @property
    def numbers(self) -> dict[str, float]:
        told = {
            "hits": self.hits, "of": self.of, "rho": self.dose.rho, "p_value": self.dose.p, "inside": self.inside,
            "outside": self.outside, "covered": self.covered, "slow_ratio": self.slow_ratio,
        }  # fmt: skip
        return {name: value for name, value in told.items() if math.isfinite(value)}

    @property
    def contrast(self) -> str:
        """ "blocked threads: 1.2 while an answer was late, 0.1 otherwise"."""
        otherwise = f", {self.outside:.2g} otherwise" if math.isfinite(self.outside) else ""
        return f"blocked threads: {self.inside:.2g} while an answer was late{otherwise}"

    @property
    def apart(self) -> bool:
        """Like `told`, if something else in the program may wait all the time, such as a background writer.

        Late answers must differ from the rest of the time, or nearly all of their own time must be waiting.
        """
        differs = math.isfinite(self.outside) and self.inside >= 2 * self.outside
        return self.often and (self.by_dose or differs or self.covered >= 0.5)


def held_up(snapshot: Snapshot, waited_us: FloatArray, late_us: float, *, usual: bool = False) -> HeldUp:
    """For the answers later than `late_us`: single ones if they were kept, else the slowest of each tick.

    `waited_us` per tick; NaN: not recorded. `usual`: threads wait while answers are quick, too; an answer is held up by
    what exceeds that.
    """
    begun, took = late_answers(snapshot, late_us)
    late = _late(snapshot, late_us)
    usual_us = usual_wait_us(snapshot, waited_us) if usual else 0.0
    count = np.concatenate([[0.0], np.cumsum(np.maximum(0.0, np.nan_to_num(waited_us) - usual_us))])
    first = np.clip((begun - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    last = np.clip((begun + took - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    waits = (count[last + 1] - count[first]) >= HELD_UP * took
    hits = int(waits[_stall_of(begun, took)].sum())
    dose = dose_response(waited_us, _late_share(snapshot, late))
    edges = np.zeros(snapshot.ticks + 1)
    np.add.at(edges, first, 1)
    np.add.at(edges, last + 1, -1)
    during = np.cumsum(edges[:-1]) > 0
    inside = _per_time(snapshot, waited_us, during)
    outside = _per_time(snapshot, waited_us, ~during) if during.mean() <= 1 - LEAST_REST else math.nan
    beyond = max(0.0, inside - (outside if math.isfinite(outside) else 0.0))
    # How many were late at the same time; a tick is longer than a short answer.
    at_once = max(1.0, float(took.sum()) / max(1.0, float(during.sum()) * snapshot.step_us))
    return HeldUp(
        hits,
        len(took),
        float(np.median(took)) if len(took) else 0.0,
        dose,
        inside,
        outside,
        beyond / at_once,
        _slow_ratio(snapshot, late, during),
    )


def _late(snapshot: Snapshot, late_us: float) -> FloatArray:
    """Answers of each tick that took longer than `late_us`."""
    return summed(snapshot, [slow_of(snapshot, server, late_us) for server in read_served(snapshot).servers])


def _stall_of(begun: IntArray, took: IntArray) -> IntArray:
    """For each late answer the first one that was in flight when it began, maybe itself: both waited for the same.

    When a lock is released, all who wanted it run at once. They wait for a CPU then, which is little compared with the
    first one's time, and most of that of the last ones.
    """
    order = np.argsort(begun, kind="stable")
    latest_end = np.maximum.accumulate((begun + np.maximum(1, took))[order])
    return np.asarray(order[np.searchsorted(latest_end, begun, side="right")])


def usual_wait_us(snapshot: Snapshot, waited_us: FloatArray) -> float:
    """The most that threads wait in nine of ten ticks in which all answers are quick; 0 if there is hardly any such."""
    slow = (np.nan_to_num(_late(snapshot, SLOW_US)) > 0) | (late_time_us(snapshot, SLOW_US) > 0)
    quick = (read_served(snapshot).answers > 0) & ~slow & np.isfinite(waited_us)
    return float(np.quantile(waited_us[quick], 0.9)) if quick.mean() >= LEAST_REST else 0.0


def _late_share(snapshot: Snapshot, late: FloatArray) -> FloatArray:
    """The late share of each tick's answers; NaN without answers.

    Their number would follow the load where most are late, as it does the waiting.
    """
    answers = read_served(snapshot).answers
    share = np.full(snapshot.ticks, np.nan)
    np.divide(late, answers, out=share, where=answers > 0)
    return share


def _slow_ratio(snapshot: Snapshot, late: FloatArray, ticks: BoolArray) -> float:
    answers = float(np.nansum(read_served(snapshot).answers[ticks]))
    known = bool(np.isfinite(late[ticks]).any()) and answers > 0
    return float(np.nansum(late[ticks])) / answers if known else math.nan


def _per_time(snapshot: Snapshot, waited_us: FloatArray, ticks: BoolArray) -> float:
    known = waited_us[ticks & np.isfinite(waited_us)]
    return float(known.mean()) / snapshot.step_us if len(known) else 0.0


def late_time_us(snapshot: Snapshot, late_us: float) -> FloatArray:
    """The time (µs) of each tick in which at least one answer that took longer than `late_us` was in flight."""
    begun, took = late_answers(snapshot, late_us)
    ticks = snapshot.start_us + np.arange(snapshot.ticks + 1) * snapshot.step_us
    if not len(begun):
        return np.zeros(snapshot.ticks)
    order = np.argsort(begun, kind="stable")
    start, end = begun[order], np.maximum.accumulate((begun + took)[order])
    apart = np.flatnonzero(start[1:] > end[:-1]) + 1
    start, end = start[np.concatenate([[0], apart])], end[np.concatenate([apart - 1, [len(end) - 1]])]
    so_far = np.concatenate([[0], np.cumsum(end - start)])
    at = np.interp(ticks, np.stack([start, end]).T.ravel(), np.stack([so_far[:-1], so_far[1:]]).T.ravel())
    return np.asarray(np.diff(at), dtype=np.float64)


def late_answers(snapshot: Snapshot, late_us: float) -> tuple[IntArray, IntArray]:
    """(begin, duration) in µs of late answers; a lost one began 5 s before it was given up."""
    begun, took = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for server in read_served(snapshot).servers:
        # Only some of the quicker ones are kept.
        if server.queries is not None and len(server.queries.sent_us) and late_us >= SLOW_US:
            late = (server.queries.latency_us > late_us) | (server.queries.result == TIMEOUT)
            begun.append(server.queries.sent_us[late])
            took.append(server.queries.latency_us[late])
            continue
        peak = series(server, metric(server, "latency_max"), snapshot.ticks)
        late_ticks = np.flatnonzero(np.nan_to_num(peak) > late_us)
        length = peak[late_ticks].astype(np.int64)
        begun.append(snapshot.start_us + (late_ticks + 1) * snapshot.step_us - length)
        took.append(length)
    first, length = np.concatenate(begun), np.concatenate(took)
    # A recording knows how answers ended that the end of the window cut off; their waits have not been counted yet.
    ended = first + length <= snapshot.end_us
    return first[ended], length[ended]


def apart(snapshot: Snapshot, spans: BoolArray) -> BoolArray:
    """The spans; all ticks if less than a tenth of them is calm, because then nothing shows the baseline."""
    return spans if calm(snapshot, spans).mean() >= 0.1 else np.ones_like(spans)


def calm(snapshot: Snapshot, spans: BoolArray) -> BoolArray:
    """A backlog from a span is worked off after it, so that second does not count as calm."""
    return ~dilate(spans, 1, 1_000_000 // snapshot.step_us)


def late_us(snapshot: Snapshot, spans: BoolArray) -> float:
    """The time (µs) after which an answer of any server is late, by the baseline well away from the spans.

    Where nothing is calm, the quickest answers are the baseline: whatever all answers take is not the waiting.
    """
    quiet = calm(snapshot, spans)
    servers = read_served(snapshot).servers
    return loosest_us([lateness.late(one, usual_us(one, quiet) or quickest_us(snapshot, one)) for one in servers])


def slow_or_untimed(snapshot: Snapshot) -> bool:
    """A sign: answers of the subject's servers were late or lost, or were not timed."""
    served = [one for one in read_served(snapshot).servers if has(one, metric(one, "requests"))]
    if not served or not all(has(one, metric(one, "slow")) for one in served):
        return True
    return any(may_be_slow(one) or shows([one], metric(one, "lost"), "dns_servfail") for one in served)
