"""What goes on while a release changes: senders of batches, which retry as collectors do, and readers.

Each sender is a node whose only series, `collector_tick`, has its tick number as the value: what is stored can be
compared with what was sent, tick by tick.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import httpx
import numpy as np
import zstandard

from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US
from labs.errors import LabError

TICK = METRICS["collector_tick"]
_TICKS = 3
_EVERY_S = _TICKS * TICK_US / 1e6
_GIVE_UP_S = 60.0
_TIMEOUT_S = 10.0
_READ_EVERY_S = 0.1
_LOW_BITS = 0x7FFFFFFF


@dataclass(slots=True)
class Requests:
    """Requests of one phase. `retried`: reason for a retry → count. `slowest_s`: including retries."""

    answered: int = 0
    retried: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0

    @property
    def failed(self) -> dict[str, int]:
        """Those that were refused, reset, or answered with an error; an answer that is late has other causes too."""
        return {why: count for why, count in self.retried.items() if not why.endswith("Timeout")}


@dataclass(slots=True)
class Sender:
    """A node: what it sent, in whole ticks."""

    key: str
    spool_id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    batches: int = 0
    from_us: int = 0
    to_us: int = 0

    def next_batch(self, to_us: int) -> pb.Batch:
        """All ticks since the last batch."""
        ticks = np.arange(self.to_us // TICK_US, to_us // TICK_US) & _LOW_BITS
        batch = pb.Batch(spool_id=self.spool_id, sequence=self.batches + 1, sealed_at_us=to_us, collector_version="lab")
        batch.resources.add(kind=pb.RESOURCE_KIND_NODE, key=self.key)
        batch.blocks.add(
            start_us=self.to_us,
            step_us=TICK_US,
            tick_count=len(ticks),
            encoding=pb.ENCODING_I32,
            resource=[0],
            metric=[TICK.id],
            values=ticks.astype("<i4").tobytes(),
        )
        return batch


class Traffic:
    """Senders and readers of a product; `phase` names what is being done at the time.

    `signed_in` authenticates the reads.
    """

    def __init__(self, url: str, ingest_token: str, signed_in: httpx.Cookies, senders: int, readers: int) -> None:
        self.senders = [Sender(f"lab-sender-{number}") for number in range(1, senders + 1)]
        self.phases: dict[str, Requests] = {}
        self._url, self._token, self._signed_in, self._readers = url, ingest_token, signed_in, readers
        self._lock, self._ends = threading.Lock(), threading.Event()
        self._failed: list[str] = []
        self._phase = ""

    def phase(self, name: str) -> None:
        """From now on, count requests under this phase."""
        with self._lock:
            self._phase = name
            self.phases.setdefault(name, Requests())

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send and read until the context ends; by then each sender's last batch is acknowledged.

        Raises LabError if a request was rejected, or got no answer within a minute.
        """
        works = [partial(self._send, one) for one in self.senders] + [self._read] * self._readers
        threads = [threading.Thread(target=self._guarded, args=(work,), daemon=True) for work in works]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            for thread in threads:
                thread.join(_GIVE_UP_S + _TIMEOUT_S)
        if self._failed:
            raise LabError("; ".join(dict.fromkeys(self._failed)))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (LabError, ValueError) as error:
            self._failed.append(str(error))

    def _send(self, sender: Sender) -> None:
        """Send over a kept connection, as collectors do."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/x-protobuf"}
        headers["Content-Encoding"] = "zstd"
        sender.from_us = sender.to_us = _now_us()
        with httpx.Client(timeout=_TIMEOUT_S, headers=headers, trust_env=False) as client:
            while not self._ends.wait(_EVERY_S):
                until = _now_us()
                body = zstandard.compress(sender.next_batch(until).SerializeToString())
                self._ask("ingest", partial(client.post, f"{self._url}/api/v1/ingest", content=body))
                sender.batches, sender.to_us = sender.batches + 1, until

    def _read(self) -> None:
        """Read over a new connection each time, which goes wherever the Service routes it at that moment."""

        def get() -> httpx.Response:
            with httpx.Client(timeout=_TIMEOUT_S, cookies=self._signed_in, trust_env=False) as client:
                return client.get(f"{self._url}/api/v1/incidents", params={"limit": 1})

        while not self._ends.wait(_READ_EVERY_S):
            self._ask("read", get)

    def _ask(self, what: str, request: Callable[[], httpx.Response]) -> None:
        """Retry until it is answered. Raises LabError if it never is."""
        began = time.monotonic()
        while (why := self._attempt(request)) is not None:
            with self._lock:
                self.phases[self._phase].retried[f"{what}: {why}"] += 1
            if time.monotonic() - began > _GIVE_UP_S:
                raise LabError(f"{what}: {why}, for {_GIVE_UP_S:.0f} s")
            time.sleep(random.uniform(0.1, 0.3))  # noqa: S311
        with self._lock:
            phase = self.phases[self._phase]
            phase.answered += 1
            phase.slowest_s = max(phase.slowest_s, time.monotonic() - began)

    def _attempt(self, request: Callable[[], httpx.Response]) -> str | None:
        """Why to retry; None: answered. Raises LabError if a retry is useless."""
        try:
            response = request()
        except httpx.TransportError as error:
            return type(error).__name__
        if response.status_code == httpx.codes.OK:
            return None
        if response.status_code >= 500 or response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            return f"HTTP {response.status_code}"
        raise LabError(f"{response.request.url}: HTTP {response.status_code}: {response.text[:300]}")


def _now_us() -> int:
    return time.time_ns() // 1000 // TICK_US * TICK_US
