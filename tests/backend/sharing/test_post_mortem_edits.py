"""Post-mortems that members edit: stored with author and time, and no edit silently replaces another."""

from __future__ import annotations

from typing import Any

import pytest

from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from tests.backend.conftest import Database, Organization
from tests.backend.incidents.conftest import Service, service
from tests.backend.incidents.stories import recorded
from tests.backend.tenancy.principals import Cast

pytestmark = pytest.mark.slow

__all__ = ["service"]  # fixture


@pytest.fixture
def path(service: Service) -> str:
    service.diagnose(service.feed(recorded(Workload(seconds=30))))
    return f"/api/v1/incidents/{service.get('/incidents')['items'][0]['id']}/post-mortem"


@pytest.fixture
def cast(database: Database, organization: Organization) -> Cast:
    return Cast(database, organization)


def test_an_edit_is_kept_and_told(service: Service, path: str, cast: Cast) -> None:
    client, headers = service.client, cast.session(cast.member("editor"))
    written = client.get(path, headers=headers)
    assert (written.headers["etag"], written.text[:14]) == ('"0"', "# Post-mortem:")
    assert client.get(f"{path}/edits", headers=headers).json() == {
        "version": 0, "content": None, "edited_by": None, "edited_at": None
    }  # fmt: skip
    kept = client.put(f"{path}/edits", json={"content": "# Ours", "version": 0}, headers=headers).json()
    assert (kept["version"], kept["content"], kept["edited_by"]) == (1, "# Ours", "editor")
    viewer = cast.session(cast.member("viewer"))
    assert client.get(f"{path}/edits", headers=viewer).json() == kept
    shown = client.get(path, headers=viewer)
    assert (shown.text, shown.headers["etag"]) == ("# Ours", '"1"')
    anew = client.get(path, params={"from_data": True}, headers=viewer)
    assert (anew.text.partition("as of")[0], anew.headers["etag"]) == (written.text.partition("as of")[0], '"0"')
    body: Any = {"content": "# Mine", "version": 1}
    assert client.put(f"{path}/edits", json=body, headers=viewer).status_code == 403
    trail = [one for one in service.get("/audit")["items"] if one["action"].startswith("post_mortem.")]
    assert [(one["action"], one["actor"], one["detail"]) for one in trail] == [
        ("post_mortem.edited", "editor", {"version": 1, "characters": 6})
    ]


def test_a_conflict_is_told_and_loses_neither_text(service: Service, path: str, cast: Cast) -> None:
    client, headers = service.client, cast.session(cast.member("editor"))

    def put(content: str, version: int, status: int = 200) -> dict[str, Any]:
        answer = client.put(f"{path}/edits", json={"content": content, "version": version}, headers=headers)
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    put("# First", 0)
    told = put("# Second", 0, 409)
    assert told["type"].endswith("edited-meanwhile")
    assert "edited by editor at" in told["detail"]
    assert client.get(path, headers=headers).text == "# First"
    assert put("# Second", 1)["version"] == 2
    assert put("# Second", 2)["version"] == 2  # nothing changes
    assert client.delete(f"{path}/edits", params={"version": 1}, headers=headers).status_code == 409
    assert client.delete(f"{path}/edits", params={"version": 2}, headers=headers).json()["version"] == 0
    assert client.get(path, headers=headers).text.startswith("# Post-mortem:")
    assert "was discarded" in put("# Third", 2, 409)["detail"]
    put("", 0, 422)
    put("a\0b", 0, 422)


def test_it_stays_in_its_organization(service: Service, path: str, other_organization: Organization) -> None:
    answer = service.client.put(
        f"{path}/edits", json={"content": "x", "version": 0}, headers=other_organization.headers
    )
    assert answer.status_code == 404
