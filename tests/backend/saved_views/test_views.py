"""Saved views: who owns them, who sees them, who may change them."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.backend.conftest import Database, Organization
from tests.backend.tenancy.principals import Cast, bearer

BODY = {"page": "/services", "name": "slow DNS", "search": "?q=dns&minutes=15", "shared": False}


class Member:
    """A member of an organization, with a token that has all scopes of their role."""

    def __init__(self, client: TestClient, cast: Cast, role: str) -> None:
        self._client, self._headers = client, bearer(cast.token(cast.member(role), "*:*"))

    def __call__(self, method: str, path: str = "", body: Any = None) -> Any:
        return self._client.request(method, f"/api/v1/views{path}", json=body, headers=self._headers)

    def sees(self) -> list[str]:
        return [one["name"] for one in self("GET").json()["items"]]


@pytest.fixture
def cast(database: Database, organization: Organization) -> Cast:
    return Cast(database, organization)


def test_a_view_is_its_owners_until_it_is_shared(client: TestClient, cast: Cast) -> None:
    one, other, admin = (Member(client, cast, role) for role in ("editor", "editor", "admin"))
    viewer = Member(client, cast, "viewer")
    made = one("POST", body=BODY)
    assert made.status_code == 201, made.text
    view = f"/{made.json()['id']}"
    change = {"name": "slow", "search": "", "shared": True}
    assert [member.sees() for member in (one, other, admin, viewer)] == [["slow DNS"], [], [], []]
    assert other("PUT", view, change).status_code == 404
    assert admin("DELETE", view).status_code == 404
    assert one("PUT", view, change).json()["name"] == "slow"
    assert [member.sees() for member in (one, other, admin, viewer)] == [["slow"]] * 4
    assert (
        other("GET").json()["items"][0] | {"mine": False, "may_change": False, "shared": True}
        == other("GET").json()["items"][0]
    )
    assert other("PUT", view, change).status_code == 403
    assert viewer("DELETE", view).status_code == 403
    assert admin("DELETE", view).status_code == 200
    assert one.sees() == []


def test_viewers_keep_views_of_their_own_and_share_none(client: TestClient, cast: Cast) -> None:
    viewer, editor = Member(client, cast, "viewer"), Member(client, cast, "editor")
    assert viewer("POST", body=BODY | {"shared": True}).status_code == 403
    made = viewer("POST", body=BODY)
    assert (made.status_code, made.json()["may_change"]) == (201, True)
    view = f"/{made.json()['id']}"
    change = {"name": "mine", "search": "", "shared": False}
    assert viewer("PUT", view, change | {"shared": True}).json()["type"].endswith("may-not-share")
    assert viewer("PUT", view, change).json()["name"] == "mine"
    assert (viewer.sees(), editor.sees()) == (["mine"], [])
    assert viewer("DELETE", view).status_code == 200


def test_a_member_who_may_no_longer_share_changes_no_shared_view(client: TestClient, cast: Cast) -> None:
    user = cast.member("editor")
    headers = bearer(cast.token(user, "*:*"))
    view = client.post("/api/v1/views", json=BODY | {"shared": True}, headers=headers).json()
    cast.administer("UPDATE memberships SET role = 'viewer' WHERE user_id = %s", user)
    (seen,) = client.get("/api/v1/views", headers=headers).json()["items"]
    assert (seen["mine"], seen["may_change"]) == (True, False)
    for method, body in (("PUT", {"name": "x", "search": "", "shared": False}), ("DELETE", None)):
        assert client.request(method, f"/api/v1/views/{view['id']}", json=body, headers=headers).status_code == 403


def test_a_token_shares_with_its_own_scope(client: TestClient, cast: Cast) -> None:
    user = cast.member("editor")
    own, both = (
        bearer(cast.token(user, *scopes)) for scopes in (["views:write"], ["views:write", "shared_views:write"])
    )
    shared = BODY | {"shared": True}
    assert client.post("/api/v1/views", json=shared, headers=own).status_code == 403
    assert client.post("/api/v1/views", json=BODY, headers=own).status_code == 201
    assert client.post("/api/v1/views", json=shared, headers=both).status_code == 201


def test_views_stay_in_their_organization_and_end_with_their_owner(
    client: TestClient, cast: Cast, database: Database, other_organization: Organization
) -> None:
    user = cast.member("editor")
    headers = bearer(cast.token(user, "*:*"))
    assert client.post("/api/v1/views", json=BODY | {"shared": True}, headers=headers).status_code == 201
    assert Member(client, Cast(database, other_organization), "admin").sees() == []
    admin = Member(client, cast, "admin")
    assert admin.sees() == ["slow DNS"]
    cast.administer("DELETE FROM memberships WHERE user_id = %s", user)
    assert admin.sees() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"page": "//elsewhere.example"}, {"page": "https://elsewhere.example"}, {"search": "q=dns"},
        {"search": "?a b"}, {"name": " "},
    ],
)  # fmt: skip
def test_a_view_leads_to_a_page_and_nowhere_else(api: TestClient, wrong: dict[str, str]) -> None:
    assert api.post("/api/v1/views", json=BODY | wrong).status_code == 422


@pytest.mark.slow
def test_a_member_has_so_many_and_pages_list_their_own(api: TestClient) -> None:
    for number in range(3):
        page = "/services" if number else "/resources"
        assert api.post("/api/v1/views", json=BODY | {"name": f"{number}", "page": page}).status_code == 201
    first = api.get("/api/v1/views", params={"page": "/services", "limit": 1}).json()
    second = api.get("/api/v1/views", params={"page": "/services", "limit": 1, "cursor": first["next_cursor"]}).json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["2", "1"]
    assert second["next_cursor"] is None
    for number in range(197):
        api.post("/api/v1/views", json=BODY | {"name": f"more {number}"})
    assert api.post("/api/v1/views", json=BODY).status_code == 409
