"""What the lab's node serves over HTTP: an image, at a registry's pace, and a kubelet's metrics page."""

from __future__ import annotations

import re
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_CHUNK = 64 << 10
# As in pkg/kubelet/metrics/metrics.go of Kubernetes.
_START = (0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600)
_DEFAULT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_OPERATION = tuple(0.005 * 2.5**i for i in range(14))
_FAMILIES = {
    "kubelet_pod_start_sli_duration_seconds": _START,
    "kubelet_pod_start_total_duration_seconds": _START,
    "kubelet_run_podsandbox_duration_seconds": _DEFAULT,
    "kubelet_runtime_operations_duration_seconds": _OPERATION,
    "kubelet_cgroup_manager_duration_seconds": _DEFAULT,
}


@dataclass(slots=True)
class _Histogram:
    bounds: tuple[float, ...]
    counts: list[int]
    total_s: float = 0.0


@dataclass(slots=True)
class KubeletPage:
    """Histograms of a kubelet by family and label; those without observations are absent."""

    _found: dict[tuple[str, str], _Histogram] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _read: threading.Event = field(default_factory=threading.Event)

    def wait_until_read(self, patience_s: float) -> bool:
        """Wait for one more scrape, so that what is observed later is new to the collector."""
        self._read.clear()
        return self._read.wait(patience_s)

    def observe(self, family: str, seconds: float, label: str = "") -> None:
        """`label` in the text format: operation_type="run_podsandbox"."""
        bounds = _FAMILIES[family]
        with self._lock:
            one = self._found.setdefault((family, label), _Histogram(bounds, [0] * (len(bounds) + 1)))
            one.counts[bisect_left(bounds, seconds)] += 1
            one.total_s += seconds

    def text(self) -> str:
        """The page in the Prometheus text format."""
        self._read.set()
        lines = ["# TYPE process_start_time_seconds gauge", f"process_start_time_seconds {_STARTED}"]
        lines += ["# TYPE kubelet_node_name gauge", 'kubelet_node_name{node="lab"} 1']
        with self._lock:
            for family in _FAMILIES:
                ours = [(label, one) for (name, label), one in self._found.items() if name == family]
                lines += [f"# TYPE {family} histogram"] if ours else []
                for label, one in ours:
                    lines += _rows(family, label, one)
        return "\n".join(lines) + "\n"


def image_path(size_bytes: int, seconds: float) -> str:
    """Path below the base URL of an image of that size, which the registry takes `seconds` to send."""
    return f"/image/{size_bytes}/{seconds:f}"


_STARTED = time.time()
_IMAGE = re.compile(r"/image/(?P<bytes>\d{1,12})/(?P<seconds>\d+(\.\d+)?)")


def _rows(family: str, label: str, one: _Histogram) -> Iterator[str]:
    before, below = f"{label}," if label else "", 0
    for bound, count in zip((*(f"{bound:g}" for bound in one.bounds), "+Inf"), one.counts, strict=True):
        below += count
        yield f'{family}_bucket{{{before}le="{bound}"}} {below}'
    labels = f"{{{label}}}" if label else ""
    yield f"{family}_sum{labels} {one.total_s!r}"
    yield f"{family}_count{labels} {below}"


@contextmanager
def serving(page: KubeletPage, port: int = 0) -> Iterator[str]:
    """Serve /metrics and images until the context ends; yields the base URL. `port` 0: any."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                body = page.text().encode()
                self._begin(len(body), "text/plain; version=0.0.4")
                self.wfile.write(body)
            elif (wanted := _IMAGE.fullmatch(self.path)) is not None:
                size = int(wanted["bytes"])
                self._begin(size, "application/octet-stream")
                self._slowly(size, float(wanted["seconds"]))
            else:
                self.send_error(404)

        def _begin(self, length: int, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length))
            self.end_headers()

        def _slowly(self, size: int, seconds: float) -> None:
            begin, sent = time.monotonic(), 0
            while sent < size:
                part = min(_CHUNK, size - sent)
                sent += part
                # Before each part: with the last part, the client is done.
                time.sleep(max(0.0, begin + seconds * sent / size - time.monotonic()))
                self.wfile.write(b"\0" * part)

        def log_message(self, format: str, *arguments: object) -> None:
            """Logs nothing: every scrape is a request."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
