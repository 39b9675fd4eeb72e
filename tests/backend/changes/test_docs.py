"""The API accepts what docs/changes.md tells people to send."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

PAGE = (Path(__file__).parents[3] / "docs" / "changes.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
# As on the page of Flux's generic provider, except for severity and reason.
FLUX = {
    "involvedObject": {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "name": "webapp",
        "namespace": "apps",
        "uid": "7d0cdc51-ddcf-4743-b223-83ca5c699632",
    },
    "metadata": {"kustomize.toolkit.fluxcd.io/revision": "main/731f7eaddfb6af01cb2173e18f0f75b0ba780ef1"},
    "severity": "info",
    "reason": "ReconciliationSucceeded",
    "message": "service/apps/webapp configured",
    "reportingController": "kustomize-controller",
    "reportingInstance": "kustomize-controller-7c7b47f5f-8bhrp",
    "timestamp": "2022-10-28T07:26:19Z",
}


@pytest.fixture
def address(api: TestClient) -> Iterator[str]:
    """The API behind a socket, for `curl`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name: self.headers[name] for name in ("Authorization", "Content-Type")}
            answer = api.post(self.path, content=body, headers=headers)
            self.send_response(answer.status_code)
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def run(script: str, address: str, token: str, **variables: str) -> Any:
    """Run a pipeline step as its shell does."""
    script = script.replace("https://jitterscope.example.org", address)
    found = subprocess.run(
        ["bash", "-eu", "-c", script], env={"PATH": "/usr/bin:/bin", "JITTERSCOPE_TOKEN": token, **variables},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    return json.loads(found.stdout)


def test_the_step_of_github_actions(address: str, organization: Any) -> None:
    (step,) = yaml.safe_load(BLOCKS[0])
    made = run(
        step["run"], address, organization.api_token, GITHUB_SHA="731f7ea", GITHUB_ACTOR="ada", GITHUB_RUN_ID="42",
        GITHUB_RUN_ATTEMPT="1", GITHUB_SERVER_URL="https://github.com", GITHUB_REPOSITORY="shop/cart",
    )  # fmt: skip
    assert (made["text"], made["what"], made["author"]) == ("Deploy cart 731f7ea", "shop/cart", "ada")
    assert made["link"] == "https://github.com/shop/cart/actions/runs/42"
    assert made["external_id"] == "github/42/1"


def test_the_job_of_gitlab_ci(address: str, organization: Any) -> None:
    (script,) = yaml.safe_load(BLOCKS[1])["report-deploy"]["script"]
    made = run(
        script, address, organization.api_token, CI_COMMIT_SHA="731f7ea", GITLAB_USER_LOGIN="ada", CI_PIPELINE_ID="7",
        CI_PIPELINE_URL="https://gitlab.com/shop/cart/-/pipelines/7",
    )  # fmt: skip
    assert (made["text"], made["external_id"]) == ("Deploy cart 731f7ea", "gitlab/7")
    assert made["link"] == "https://gitlab.com/shop/cart/-/pipelines/7"


def test_the_template_of_argo_cd(api: TestClient) -> None:
    config = yaml.safe_load(BLOCKS[2])
    service = yaml.safe_load(config["service.webhook.jitterscope"])
    assert service["url"].endswith("/api/v1/changes")
    (trigger,) = yaml.safe_load(config["trigger.on-deployed-jitterscope"])
    assert trigger["send"] == ["jitterscope-change"]
    values = {
        ".app.metadata.name": "cart", ".app.metadata.uid": "d2f0", ".context.argocdUrl": "https://argocd.example.org",
        ".app.status.operationState.syncResult.revision": "731f7eaddfb6af01cb2173e18f0f75b0ba780ef1",
        ".app.status.operationState.finishedAt": "2026-11-25T09:30:00Z", ".app.spec.destination.namespace": "shop",
    }  # fmt: skip
    body = yaml.safe_load(config["template.jitterscope-change"])["webhook"]["jitterscope"]["body"]
    filled = re.sub(r"\{\{(.+?)\}\}", lambda found: values[found[1]], body)
    content = json.loads(filled) | {"at": None}
    answer = api.post("/api/v1/changes", json=content)
    assert answer.status_code == 201, answer.text
    assert answer.json()["text"] == "Sync cart 731f7eaddfb6af01cb2173e18f0f75b0ba780ef1"
    assert answer.json()["what"] == "namespace shop"


def event_now(**changed: Any) -> dict[str, Any]:
    from jitterscope.kit.instant import time_of
    from tests.support.batches import now_us

    return {**FLUX, "timestamp": time_of(now_us() // 1_000_000 * 1_000_000).isoformat(), **changed}


def flux(api: TestClient, **changed: Any) -> Any:
    event = event_now(**changed)
    answer = api.post("/api/v1/changes/flux", json=event, headers={"Gotk-Component": "kustomize-controller"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_event_of_flux(api: TestClient) -> None:
    _, provider, alert = yaml.safe_load_all(BLOCKS[3])
    assert (provider["spec"]["type"], provider["spec"]["address"][-5:]) == ("generic", "/flux")
    made = flux(api)
    assert made["text"] == "Kustomization webapp applied main/731f7eaddfb6af01cb2173e18f0f75b0ba780ef1"
    assert (made["what"], made["author"]) == ("namespace apps", "Flux")
    assert flux(api, timestamp=made["at"]) == made, "the controller tries again where it got no answer"
    of = flux(api, metadata={**FLUX["metadata"], **alert["spec"]["eventMetadata"]}, involvedObject={  # type: ignore[dict-item]
        "kind": "HelmRelease", "name": "cart", "namespace": "flux-system"}, reason="UpgradeSucceeded")  # fmt: skip
    assert of["what"] == "shop/cart"


def test_an_event_of_flux_that_applied_nothing_is_no_change(api: TestClient) -> None:
    assert flux(api, severity="error", reason="ValidationFailed") is None
    assert flux(api, reason="Progressing") is None
    assert flux(api, reason="TestSucceeded") is None
    assert api.get("/api/v1/changes").json()["items"] == []
    wrong = event_now(metadata={"namespace": "a b"})
    answer = api.post("/api/v1/changes/flux", json=wrong)
    assert (answer.status_code, answer.json()["errors"][0]["location"]) == (422, "body.metadata.namespace")
