"""Adds a simulated server's calls to another one: as seen at its own end, and as the other recorded them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, IntArray, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.distributions import distribution_of
from jitterscope.diagnosis.scenarios.telemetry import TICK_US, view

ADDRESS = "10.0.0.5:5432"
UPSTREAM, ASKED = 20, 30


def asking(
    snapshot: Snapshot,
    waits: bool,
    *,
    usual_us: float = 600.0,
    ratio: float = 1.0,
    on_node: bool = True,
    answers_at_once: bool = False,
    unread: float = 0.0,
    connections: int | None = None,
    seed: int = 1,
) -> Snapshot:
    """Every request of its TCP server, or a `ratio` of them, makes a call that takes `usual_us`.

    With `waits`, a late request spent all its additional time waiting for that call. `connections`: at most this many
    concurrent calls. `on_node`: the server behind it is known, and recorded the same; with `answers_at_once` it was
    quick. `unread`: the share of the time in which its requests waited unread in its socket.
    """
    random = np.random.default_rng(seed)
    single = snapshot.tcp_servers[0].queries
    assert single is not None
    whole = single.latency_us.astype(np.float64)
    read = np.zeros(len(whole)) if single.queue_wait_us is None else single.queue_wait_us.astype(np.float64)
    took = np.full(len(whole), usual_us) * (0.8 + 0.4 * random.random(len(whole)))
    if waits:
        took = np.maximum(took, whole - read - 800.0)
    chosen = random.random(len(whole)) < ratio
    sent = single.sent_us + read.astype(np.int64) + 200
    if connections is not None:
        chosen &= _fits(sent, took, connections)
    order = np.argsort(sent[chosen], kind="stable")
    sent, length = sent[chosen][order], took[chosen][order].astype(np.int64)
    upstream = _upstream(snapshot, sent, length, on_node)
    if not on_node:
        return replace(snapshot, tcp_upstreams=(upstream,))
    own = np.full(len(length), int(usual_us)) if answers_at_once else np.maximum(1, length - 100)
    return replace(snapshot, tcp_upstreams=(upstream,), called_servers=(_server(snapshot, sent, own, unread),))


def _fits(sent: IntArray, took: FloatArray, connections: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    free = np.zeros(connections)
    fits = np.zeros(len(sent), np.bool_)
    for i, at in enumerate(sent):
        first = int(np.argmin(free))
        if free[first] <= at:
            fits[i], free[first] = True, at + took[i]
    return fits


def _upstream(snapshot: Snapshot, sent: IntArray, took: IntArray, on_node: bool) -> ResourceView:
    facts = {"upstream.server": "/lab/database:5432"} if on_node else {}
    made = view(
        UPSTREAM, "tcp_upstream", f"{snapshot.subject.key}>{ADDRESS}",
        {
            "upstream_calls": _per_tick(snapshot, sent + took),
            "upstream_calls_slow": _per_tick(snapshot, (sent + took)[took > SLOW_US]),
            "upstream_unanswered": np.zeros(snapshot.ticks),
        },
        facts,
    )  # fmt: skip
    told = {"upstream_latency_us": _distribution(snapshot, sent + took, took)}
    return replace(made, queries=_queries(snapshot, sent, took, None), distributions=told)


def _server(snapshot: Snapshot, sent: IntArray, took: IntArray, unread: float) -> ResourceView:
    answered = sent + took
    made = view(
        ASKED, "tcp_server", "/lab/database:5432",
        {
            "requests": _per_tick(snapshot, sent), "responses": _per_tick(snapshot, answered),
            "responses_slow": _per_tick(snapshot, answered[took > SLOW_US]),
            "requests_unanswered": np.zeros(snapshot.ticks),
        },
        {"tcp.program": "postgres", "tcp.process": "5151:1", "tcp.addresses": f'["{ADDRESS}"]'},
    )  # fmt: skip
    waited = (unread * took).astype(np.int64)
    told = {"request_latency_us": _distribution(snapshot, answered, took)}
    return replace(made, queries=_queries(snapshot, sent, took, waited), distributions=told)


def _queries(snapshot: Snapshot, sent: IntArray, took: IntArray, waited: IntArray | None) -> Queries:
    whole = ((snapshot.start_us, snapshot.end_us),)
    return Queries(sent, took, np.zeros(len(took), np.int64), waited, complete=whole)


def _ticks(snapshot: Snapshot, at: IntArray) -> IntArray:
    return np.clip((at - snapshot.start_us) // TICK_US, 0, snapshot.ticks - 1)


def _per_tick(snapshot: Snapshot, at: IntArray) -> FloatArray:
    return np.bincount(_ticks(snapshot, at), minlength=snapshot.ticks).astype(np.float64)


def _distribution(snapshot: Snapshot, at: IntArray, took: IntArray) -> Distribution:
    return distribution_of(_ticks(snapshot, at), took)
