"""Feeds a recording to a running service as if a collector sent it now."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import httpx
import numpy as np
import zstandard
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from jitterscope.pb import ingest_pb2 as pb
from jitterscope.recordings.batches import batch_of, slices
from jitterscope.recordings.model import Recording
from jitterscope.series.types import TICK_US

SLICE_US = 2_000_000
_GIVE_UP_S = 60
_TRIGGERS = (
    ("cpu_throttled_periods", "throttled"), ("dns_slow", "slow_query"), ("responses_slow", "slow_request"),
    ("dns_accept_backlog", "accept_backlog"), ("listen_drops", "listen_drop"), ("retransmits", "retransmission"),
    ("reconnections", "slow_handshake"),
)  # fmt: skip
_TELLING = (
    ("dns.error", "dns_error"), ("memory.oom_kill", "oom_kill"), ("fs.tracing", "dentry_growth"),
    ("bpf.load", "bpf_load"),
)  # fmt: skip


class ReplayFailed(Exception):
    """The service refused a batch, or could not be reached for a minute."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was sent: the number of batches, and the new window of the data (µs)."""

    batches: int
    from_us: int
    to_us: int
    node_key: str


def prepare(
    recording: Recording,
    shift_us: int,
    key_suffix: str,
    spool_id: bytes | None = None,
    first_sequence: int = 1,
    slice_us: int = SLICE_US,
) -> Iterator[pb.Batch]:
    """The batches of a replay, in order, each with what a collector adds: number, time of sealing, and triggers."""
    spool = spool_id or secrets.token_bytes(16)
    for number, (from_us, to_us) in enumerate(slices(recording, slice_us)):
        batch = batch_of(recording, from_us, to_us, shift_us, key_suffix)
        batch.spool_id, batch.sequence = spool, first_sequence + number
        batch.sealed_at_us = to_us + shift_us
        batch.collector_version = "replay"
        _add_triggers(batch, recording, from_us, to_us, shift_us)
        yield batch


def replay(
    recording: Recording,
    url: str,
    token: str,
    *,
    speed: float = 1.0,
    key_suffix: str = "-replay",
    sleep: Callable[[float], object] = time.sleep,
    ca_file: str | None = None,
) -> Replayed:
    """Send it so that the last tick arrives when it happens, at `speed` times the recorded pace (0: all at once).

    Times are shifted by whole ticks: with speed 1 the first tick is now, with speed 0 the last. Raises ReplayFailed.
    """
    length_us = recording.end_us - recording.start_us
    now_us = time.time_ns() // 1000
    lead_us = length_us if speed == 0 else int(length_us * (1 - 1 / speed))
    shift_us = now_us - lead_us - recording.start_us
    shift_us -= shift_us % TICK_US
    sent = 0
    with httpx.Client(timeout=30, verify=ca_file or True) as client:
        for batch in prepare(recording, shift_us, key_suffix):
            if speed > 0:
                done_us = batch.sealed_at_us - shift_us - recording.start_us
                sleep(max(0.0, (now_us + done_us / speed) / 1e6 - time.time()))
            post(client, url, token, batch)
            sent += 1
    start_us = recording.start_us + shift_us
    return Replayed(sent, start_us, start_us + length_us, recording.resources[0].key + key_suffix)


def replay_nodes(
    recordings: Mapping[str, Recording],
    url: str,
    token: str,
    *,
    speed: float = 1.0,
    loop: bool = False,
    tell: Callable[[Replayed], None] = lambda done: None,
) -> None:
    """Replay recordings concurrently, each as the node whose key has that suffix; with `loop` repeatedly, moved to now.

    Nodes begin one after the other within the time of a batch, as collectors do. Raises the first ReplayFailed.
    """

    def one(number: int, suffix: str) -> None:
        if speed > 0:
            time.sleep(SLICE_US / 1e6 * number / len(recordings))
        while not failed.is_set():
            tell(replay(recordings[suffix], url, token, speed=speed, key_suffix=suffix, sleep=failed.wait))
            if not loop:
                return

    failed = threading.Event()
    with ThreadPoolExecutor(len(recordings)) as pool:
        waiting = [pool.submit(one, number, suffix) for number, suffix in enumerate(recordings)]
        try:
            for done in as_completed(waiting):
                done.result()
        finally:
            failed.set()


def post(client: httpx.Client, url: str, token: str, batch: pb.Batch) -> None:
    """Send one batch; retried on outages, which is harmless: the service stores a batch once."""
    body = zstandard.ZstdCompressor(level=3).compress(batch.SerializeToString())
    retrying = Retrying(
        retry=retry_if_exception(_passes),
        wait=wait_random_exponential(multiplier=0.2, max=5),
        stop=stop_after_delay(_GIVE_UP_S),
        reraise=True,
    )
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-protobuf", "Content-Encoding": "zstd"}
    try:
        for attempt in retrying:
            with attempt:
                client.post(f"{url.rstrip('/')}/api/v1/ingest", content=body, headers=headers).raise_for_status()
    except httpx.HTTPStatusError as error:
        raise ReplayFailed(f"HTTP {error.response.status_code}: {error.response.text[:500]}") from error
    except httpx.HTTPError as error:
        raise ReplayFailed(f"{url} cannot be reached: {error}") from error


def _passes(error: BaseException) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500 or error.response.status_code == 429
    return isinstance(error, httpx.TransportError)


def _add_triggers(batch: pb.Batch, recording: Recording, from_us: int, to_us: int, shift_us: int) -> None:
    """Add triggers like a collector.

    The last throttled tick of each cgroup, the last slow answer and full accept queue of each server, the last
    significant event of each resource, and the captures of the flight recorder.
    """
    part = slice((from_us - recording.start_us) // TICK_US, (to_us - recording.start_us) // TICK_US)
    for index, resource in enumerate(recording.resources):
        for metric, reason in _TRIGGERS:
            values = resource.series.get(metric)
            if values is None:
                continue
            hot = np.flatnonzero(np.nan_to_num(values[part]) > 0)
            if len(hot):
                at_us = from_us + int(hot[-1]) * TICK_US + shift_us
                batch.triggers.add(resource=index, reason=reason, at_us=at_us)
        for kind, reason in _TELLING:
            times = [event.start_us for event in resource.events if event.kind == kind]
            times = [at_us for at_us in times if from_us <= at_us < to_us]
            if times:
                batch.triggers.add(resource=index, reason=reason, at_us=max(times) + shift_us)
    for sent in batch.captures:
        batch.triggers.add(resource=sent.resource, reason=sent.reason, at_us=min(sent.end_us, to_us + shift_us))
