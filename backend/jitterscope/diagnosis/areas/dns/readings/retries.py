"""Answers that only came after a retry: latencies clustered just above the timeouts, with none in between.

CoreDNS's forward gives an attempt 2 s (plugin/pkg/proxy), glibc and Go's resolver retry after 5 s (resolv.conf(5)
`timeout`, Go net/dnsconfig_unix.go). A slow upstream gives latencies in between; a lost datagram does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray
from jitterscope.diagnosis.programs.resolv_conf import DEFAULT_TIMEOUT_S

ATTEMPT_US = 2_000_000
CLIENT_US = int(DEFAULT_TIMEOUT_S * 1e6)
QUICK_US = 100_000
# Chance would put this many losses into the seconds with fewer queries; if there are (nearly) none, the rate is the
# reason.
EXPECTED_LOSSES = 6.0


@dataclass(frozen=True, slots=True)
class Retries:
    """Queries of one server. Indices: `again` were answered right after a timeout, `lost` never.

    Counts: `quick`, and `between` for late ones without such a pattern. `after_us` is the timeout that fits, 2 s or 5
    s.
    """

    queries: int
    quick: int
    again: IntArray
    between: int
    lost: IntArray
    after_us: int

    @property
    def suspects(self) -> int:
        return len(self.again) + len(self.lost)


def retries(queries: Queries, asked: float, quick_us: float, attempt_us: int = ATTEMPT_US) -> Retries:
    """Find retries.

    `asked`: queries in total (not all quick ones are kept); `quick_us`: usual maximum of the path's time.
    """
    took, answered = queries.latency_us, queries.result != TIMEOUT
    slack = max(150_000.0, quick_us)
    again = np.zeros(len(took), dtype=np.bool_)
    for after in (attempt_us, 2 * attempt_us, CLIENT_US):
        again |= (took >= 0.995 * after) & (took <= 1.01 * after + slack)
    again &= answered
    late = answered & (took > max(float(QUICK_US), quick_us)) & ~again
    lost = np.flatnonzero(~answered)
    of_client = int((again & (took >= 0.995 * CLIENT_US)).sum())
    after_us = CLIENT_US if of_client > 0.5 * again.sum() or not again.any() else attempt_us
    between = int(late.sum())
    total = max(int(asked), len(took))
    quick = total - between - int(again.sum()) - len(lost)
    return Retries(total, quick, np.flatnonzero(again), between, lost, after_us)


def spread_ratio(snapshot: Snapshot, sent_us: FloatArray) -> float:
    """Distinct ticks with a loss, relative to the expected number for as many random losses; 1 is chance."""
    ticks = float(ticks_of(snapshot, sent_us).sum())
    return ticks / (snapshot.ticks * (1 - float(np.exp(-len(sent_us) / snapshot.ticks))))


def by_rate(snapshot: Snapshot, server: ResourceView, sent_us: FloatArray) -> bool:
    """Whether the losses are confined to the seconds with more queries; chance would hit the others too."""
    starts = np.arange(0, snapshot.ticks, 10)
    asked = np.add.reduceat(np.nan_to_num(series(server, "dns_queries", snapshot.ticks)), starts)
    second = np.clip((sent_us - snapshot.start_us) // (10 * snapshot.step_us), 0, len(asked) - 1).astype(np.int64)
    lost = np.bincount(second, minlength=len(asked))
    busy = asked > 1.5 * float(np.median(asked))
    calm = ~busy
    if not busy.any() or not asked[busy].sum():
        return False
    expected = float(lost[busy].sum() / asked[busy].sum() * asked[calm].sum())
    return expected >= EXPECTED_LOSSES and float(lost[calm].sum()) < 0.2 * expected


def ticks_of(snapshot: Snapshot, sent_us: FloatArray) -> BoolArray:
    """The ticks in which queries were sent."""
    mask = np.zeros(snapshot.ticks, dtype=np.bool_)
    mask[np.clip((sent_us - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1).astype(np.int64)] = True
    return mask


def asks_again(server: ResourceView) -> bool:
    """Whether the server retries: CoreDNS tries for 5 s; dnsmasq leaves it to its client."""
    return server.fact("dns.software") in ("coredns", "node-cache")
