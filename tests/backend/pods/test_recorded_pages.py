"""Pages of kubelets and Cilium agents of several releases, over real HTTP, through the collector, to the figures."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import zstandard
from google.protobuf import json_format

from jitterscope.devstack.stack import COLLECTOR
from jitterscope.pb import ingest_pb2 as pb
from tests.backend.conftest import Organization

pytestmark = pytest.mark.slow

PAGES = Path(__file__).parents[3] / "collector" / "internal" / "podmetrics" / "testdata"
# Means of the four pods that start between the two pages, in seconds (see the README beside them).
SLI, WHOLE, SANDBOX, CONTAINER, PULL = 3.95, 7.075, 2.15, 0.35, 12.5 / 4
LOAD = (0.9 + 0.95 + 1.1) / 3


@pytest.fixture
def serve() -> Iterator[Callable[[str], tuple[str, threading.Event]]]:
    """Serves the page from before the pods started, and the one from after once the event is set."""
    running: list[ThreadingHTTPServer] = []

    def begin(program: str) -> tuple[str, threading.Event]:
        started = threading.Event()

        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                when = "after" if started.is_set() else "before"
                body = (PAGES / f"{program}-{when}.txt").read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}", started

    yield begin
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("kubelet", "cilium", "basis"),
    [
        ("1.36.1", "1.19.3", "sli"),
        ("1.30.5", "1.14.1", "sli"),
        ("1.24.4-gke.300", "1.12.3", None),
        ("1.15.12", "1.4.9", None),
    ],
)
def test_a_start_is_taken_apart(
    client: Any, organization: Organization, serve: Any, tmp_path: Path, kubelet: str, cilium: str, basis: str | None
) -> None:
    urls, events = zip(serve(f"kubelet-{kubelet}"), serve(f"cilium-{cilium}"), strict=True)
    batches = collected(tmp_path, urls[0], urls[1], events)
    for batch in batches:
        body = zstandard.compress(batch.SerializeToString())
        response = client.post("/api/v1/ingest", content=body, headers=organization.ingest_headers)
        assert response.status_code < 300, response.text
    page = client.get("/api/v1/pod-starts", headers=organization.headers).json()
    assert page["kubelet"] == f"v{kubelet}"
    assert page["basis"] == basis
    if basis is None:
        # One image of 12.5 s is part of the only starts that these kubelets report.
        assert any("counts image pulls" in note for note in page["notes"]), page["notes"]
        return
    assert page["cilium"] == cilium
    assert (page["starts"]["starts"], page["starts"]["late"]) == (4, 1)
    parts = {part["id"]: part for part in page["parts"]}
    means = {name: part["mean_us"] / 1e6 for name, part in parts.items()}
    assert means["sandbox"] == pytest.approx(SANDBOX, rel=0.03)
    assert means["container"] == pytest.approx(CONTAINER, rel=0.03)
    assert means["image_pull"] == pytest.approx(PULL, rel=0.03)
    assert means["bpf_load"] * 4 == pytest.approx(LOAD * 3, rel=0.03)
    top = [part["mean_us"] for part in page["parts"] if part["inside"] is None and part["in_objective"]]
    assert sum(top) / 1e6 == pytest.approx(SLI, rel=0.03)
    assert parts["bpf_load"]["inside"] == "cni"
    assert page["with_images"]["starts"] == 4


def collected(folder: Path, kubelet: str, cilium: str, started: tuple[threading.Event, ...]) -> list[pb.Batch]:
    """What a collector that reads both pages sends, before and after."""
    assert COLLECTOR.exists(), f"{COLLECTOR} is missing: run `make build` first"
    config = folder / "collector.toml"
    config.write_text(
        f'[sources.kubelet_metrics]\nurl = "{kubelet}"\nevery_s = 0.5\n'
        f'[sources.cni_metrics]\nurl = "{cilium}"\nevery_s = 0.5\n'
    )
    command = [
        str(COLLECTOR), "dump", "--seconds", "6", "--config", str(config), "--node-key", "pages",
        "--sources", "kubelet_metrics,cni_metrics,self",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(2.5)
        for event in started:
            event.set()
        output, complaints = process.communicate(timeout=60)
    assert process.returncode == 0, complaints
    return [json_format.ParseDict(json.loads(line), pb.Batch()) for line in output.splitlines()]
