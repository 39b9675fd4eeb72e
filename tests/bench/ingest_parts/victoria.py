"""VictoriaMetrics as a child process, fed by its native import format."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np
import zstandard
from numpy.typing import NDArray

from jitterscope.devstack.ports import free_port
from tests.bench.ingest_parts.workload import METRICS, TICK_US, Values, Workload, cgroup_key

BINARY = "victoria-metrics"
# lib/encoding of VictoriaMetrics: below this it does not compress a block.
_MIN_COMPRESSED = 128
_CONST, _DELTA_CONST, _ZSTD_DELTA, _DELTA = 3, 2, 4, 6


def bodies(workload: Workload, values: dict[str, Values], per_batch: int) -> list[bytes]:
    """One native import request per batch: every series once, with `per_batch` samples."""
    names = [_name(metric, number) for metric in METRICS for number in range(workload.cgroups)]
    matrix = np.concatenate([values[metric] for metric in METRICS]).astype(np.int64)
    compressor = zstandard.ZstdCompressor(level=1)
    result = []
    for first in range(0, workload.ticks, per_batch):
        part = matrix[:, first : first + per_batch]
        start_ms = (workload.start_us + first * TICK_US) // 1000
        deltas, ends = _varints(np.diff(part, axis=1))
        head = _zigzag(start_ms)
        tail = (
            bytes([part.shape[1] & 0x7F | 0x80, part.shape[1] >> 7] if part.shape[1] > 127 else [part.shape[1]]) + b"\0"
        )
        constant = (part == part[:, :1]).all(axis=1)
        timestamps = _bytes(_zigzag(TICK_US // 1000))
        chunks = [np.array([start_ms * 2, (start_ms + part.shape[1] * 100) * 2], ">u8").tobytes()]
        begin = 0
        for row, end in enumerate(ends.tolist()):
            data, kind = deltas[begin:end], _DELTA
            begin = end
            if constant[row]:
                data, kind = b"", _CONST
            elif len(data) >= _MIN_COMPRESSED:
                packed = compressor.compress(data)
                if len(packed) < 0.9 * len(data):
                    data, kind = packed, _ZSTD_DELTA
            first_value = _zigzag(int(part[row, 0]))
            block = b"".join((head, first_value, tail, bytes([_DELTA_CONST, kind]), timestamps, _bytes(data)))
            chunks += (len(names[row]).to_bytes(4, "big"), names[row], len(block).to_bytes(4, "big"), block)
        result.append(b"".join(chunks))
    return result


def _name(metric: str, number: int) -> bytes:
    parts = (metric, "cgroup", cgroup_key(number), "node", "bench-node")
    return b"".join(part.encode() + b"\x01" for part in parts)


def _zigzag(value: int) -> bytes:
    return _varint((value << 1) ^ (value >> 63))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varints(rows: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
    """Zigzag varints of all rows back to back, and where each row ends."""
    codes = ((rows << 1) ^ (rows >> 63)).astype(np.uint64).reshape(-1)
    sizes = np.ones(len(codes), np.int64)
    for bits in range(7, 64, 7):
        sizes += codes >= np.uint64(1 << bits)
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    for byte in range(int(sizes.max(initial=1))):
        chosen = sizes > byte
        more = np.where(sizes[chosen] > byte + 1, 0x80, 0).astype(np.uint8)
        out[starts[chosen] + byte] = ((codes[chosen] >> np.uint64(7 * byte)) & np.uint64(0x7F)).astype(np.uint8) | more
    return out.tobytes(), np.cumsum(sizes.reshape(rows.shape).sum(axis=1)) if rows.shape[1] else np.zeros(
        len(rows), np.int64
    )


class Victoria:
    """`with Victoria(folder) as server`. Listens on loopback only."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        binary = shutil.which(BINARY)
        if binary is None:
            raise SystemExit(f"{BINARY} is not installed: apt-get install victoria-metrics")
        self.folder.mkdir(parents=True)
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    binary, f"-storageDataPath={self.folder / 'data'}", f"-httpListenAddr=127.0.0.1:{self.port}",
                    "-retentionPeriod=10y", "-search.maxPointsPerTimeseries=100000",
                    "-search.disableCache", "-dedup.minScrapeInterval=0s",
                ],
                stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if self.get("/health") == b"OK":
                    return self
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"VictoriaMetrics did not start: {(self.folder / 'log').read_text()[-2000:]}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=30)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def get(self, path: str, **parameters: Any) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("GET", f"{path}?{urlencode(parameters)}" if parameters else path)
            response = connection.getresponse()
            body = response.read()
            if response.status >= 300:
                raise SystemExit(f"VictoriaMetrics answered {response.status}: {body[:300]!r}")
            return body
        finally:
            connection.close()

    def settle(self) -> None:
        """Flush memory and merge everything into as few parts as possible, as it eventually does by itself."""
        self.get("/internal/force_flush")
        self.get("/internal/force_merge")
        before = -1
        for _ in range(120):
            time.sleep(0.5)
            merging = [
                line for line in self.get("/metrics").decode().splitlines() if line.startswith("vm_active_force_merges")
            ]
            size = self.size_bytes()
            if size == before and all(line.endswith(" 0") for line in merging):
                return
            before = size

    def size_bytes(self) -> int:
        """Bytes of samples and index on disk."""
        total = 0
        for part in ("data", "indexdb"):
            for folder, _, files in os.walk(self.folder / "data" / part):
                for name in files:
                    with contextlib.suppress(FileNotFoundError):  # already merged away
                        total += (Path(folder) / name).stat().st_size
        return total

    def count(self, workload: Workload) -> int:
        """Number of samples that it reports."""
        query = f'sum(count_over_time({{node="bench-node"}}[{workload.ticks * TICK_US // 1_000_000 + 60}s]))'
        at_s = (workload.start_us + workload.ticks * TICK_US) / 1e6 + 30
        answer = json.loads(self.get("/api/v1/query", query=query, time=at_s))
        return int(float(answer["data"]["result"][0]["value"][1]))
