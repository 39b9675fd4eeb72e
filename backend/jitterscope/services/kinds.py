"""A server's requests by kind: routes of HTTP, methods of gRPC, commands of Redis, statements of PostgreSQL and MySQL.

The collector sums up answered requests over some seconds and sends each sum as one event (contracts/metrics.toml).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.inventory import service as inventory
from jitterscope.series import service as series
from jitterscope.series.quantiles import GAMMA, quantiles_us
from jitterscope.series.types import IntArray, StoredEvent
from jitterscope.services.grpc_codes import CODES, OK, SERVER_ERRORS

EVENT = "requests.kinds"
# For an hour, with some to spare: one comes every 10 s.
MAX_EVENTS = 400
# Ratio of the latency buckets: each covers three of a distribution's.
_RATIO = GAMMA**3
_BUCKETS = 401


@dataclass(slots=True)
class Kind:
    """Answered requests of one kind; `name` is empty for those that are not distinguished. `slow`: over 20 ms.

    `judged`: requests while statuses were read, on which the error counts are based. `grpc`: answers by gRPC code.
    """

    name: str
    requests: int = 0
    slow: int = 0
    judged: int = 0
    client_errors: int = 0
    server_errors: int = 0
    total_us: int = 0
    max_us: int = 0
    grpc: Counter[int] = field(default_factory=Counter)
    latency: IntArray = field(default_factory=lambda: np.zeros(_BUCKETS, np.int64))

    def share_of_judged(self, errors: int) -> float | None:
        """Errors per judged request; None if no status was read, which differs from no errors."""
        return errors / self.judged if self.judged else None

    def quantile_us(self, quantile: float) -> float | None:
        """The quantile within 6 %; None unless the latencies of all requests are known."""
        if self.latency.sum() < self.requests:
            return None
        (found,) = quantiles_us(self.latency[None, :], (quantile,), _RATIO)
        return min(float(found[0]), float(self.max_us))


def read(session: Session, server_id: int, from_us: int, to_us: int) -> tuple[list[Kind], float]:
    """Kinds with the most total answer time first, and the seconds that were recorded."""
    events = series.read_events(session, [server_id], from_us, to_us, [EVENT], MAX_EVENTS).get(server_id, [])
    return merged(events), sum(event.duration_us for event in events) / 1e6


def are_estimates(session: Session, server_id: int, from_us: int, to_us: int) -> bool:
    """Whether some requests of the window were not looked into: others stand for them."""
    known = inventory.facts(session, [server_id], from_us, to_us, names=["tcp.timed_one_in"])[server_id]
    return any(one.value != "1" for one in known)


def merged(events: Iterable[StoredEvent]) -> list[Kind]:
    """The sum of all events. Unreadable rows are left out."""
    found: dict[str, Kind] = {}
    for event in events:
        latencies = _pairs(event.attributes.get("latency", ""), _BUCKETS)
        codes = _pairs(event.attributes.get("grpc", ""), len(CODES))
        for index, row in enumerate(_list(event.attributes.get("rows", ""))):
            if not _fits(row):
                continue
            name, *counts = row
            one = found.setdefault(name, Kind(name))
            one.requests += counts[0]
            one.slow += counts[1]
            told = 0
            if index < len(codes):
                told = _add_codes(one, codes[index])
            if counts[2] is not None:
                one.judged += max(counts[0], told)
                one.client_errors += counts[2]
                one.server_errors += counts[3]
            else:
                one.judged += told
            one.total_us += counts[4]
            one.max_us = max(one.max_us, counts[5])
            if index < len(latencies):
                np.add.at(one.latency, latencies[index][::2], latencies[index][1::2])
    # Of a request whose status alone is in the window, nothing else is known.
    counted = (one for one in found.values() if one.requests)
    return sorted(counted, key=lambda one: (one.name == "", -one.total_us, one.name))


def _add_codes(one: Kind, pairs: IntArray) -> int:
    """Add answers by gRPC code, [code, answers, …], and return how many."""
    for code, answers in zip(pairs[::2].tolist(), pairs[1::2].tolist(), strict=True):
        one.grpc[code] += answers
        if code in SERVER_ERRORS:
            one.server_errors += answers
        elif code != OK:
            one.client_errors += answers
    return int(pairs[1::2].sum())


def _pairs(text: str, below: int) -> list[IntArray]:
    """[index, count, …] of each of the first rows; empty if any is unreadable, as they match rows by position.

    `below`: no index is as large.
    """
    lists = _list(text)
    return [np.array(one, np.int64) for one in lists] if all(_counts(one, below) for one in lists) else []


def _list(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _fits(row: object) -> bool:
    if not isinstance(row, list) or len(row) != 7 or not isinstance(row[0], str):
        return False
    statuses = row[3:5]
    counts = [*row[1:3], *row[5:], *([] if statuses == [None, None] else statuses)]
    return all(map(_is_count, counts))


def _counts(pairs: object, below: int) -> bool:
    if not isinstance(pairs, list) or len(pairs) % 2 or not all(map(_is_count, pairs)):
        return False
    return all(index < below for index in pairs[::2])


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**53
