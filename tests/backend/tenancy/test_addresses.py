"""Who owns an address: an invitation cannot take over an account, and mails prove who has the mailbox."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jitterscope.settings import Settings
from jitterscope.tenancy import members
from tests.backend.conftest import Organization
from tests.support.mailbox import Mailbox

HERE = {"X-Requested-With": "jitterscope"}
THIEF, OWN = "the password of a thief", "the password of the owner"


@pytest.fixture
def mailbox(client: TestClient, settings_override: Callable[..., Settings]) -> Iterator[Mailbox]:
    with Mailbox() as running:
        settings_override(**running.settings())
        yield running


@pytest.fixture
def email() -> str:
    return f"ceo-{secrets.token_hex(4)}@victim.example"


def invite(client: TestClient, organization: Organization, email: str, role: str = "viewer", status: int = 201) -> Any:
    body = {"email": email, "role": role}
    response = client.post("/api/v1/members/invitations", json=body, headers=organization.headers)
    assert response.status_code == status, response.text
    return response.json()


def accept(client: TestClient, token: str, password: str | None = None, status: int = 200) -> Any:
    body = {"token": token} if password is None else {"token": token, "name": "Somebody", "password": password}
    response = client.post("/api/v1/auth/accept", json=body, headers=HERE)
    assert response.status_code == status, response.text
    return response.json()


def sign_in(client: TestClient, email: str, password: str, **more: Any) -> Any:
    client.cookies.clear()
    return client.post("/api/v1/auth/login", json={"email": email, "password": password, **more})


def test_who_invites_an_address_takes_nothing_elsewhere(
    client: TestClient, organization: Organization, other_organization: Organization, email: str
) -> None:
    """A thief in one organization, the owner of the address in another: two accounts that stay separate."""
    accept(client, invite(client, organization, email)["token"], THIEF)
    client.cookies.clear()
    joined = accept(client, invite(client, other_organization, email)["token"], OWN)
    assert (joined["organization"]["id"], joined["email_verified"]) == (other_organization.id, False)
    assert [one["id"] for one in joined["organizations"]] == [other_organization.id]
    theirs, own = sign_in(client, email, THIEF).json(), sign_in(client, email, OWN).json()
    assert [one["id"] for one in theirs["organizations"]] == [organization.id]
    assert own["user_id"] == joined["user_id"] != theirs["user_id"]
    assert sign_in(client, email, THIEF, organization_id=other_organization.id).status_code == 403


def test_one_password_in_two_organizations_opens_the_one_that_is_named(
    client: TestClient, organization: Organization, other_organization: Organization, email: str
) -> None:
    for one in (organization, other_organization):
        client.cookies.clear()
        accept(client, invite(client, one, email)["token"], OWN)
    for one in (organization, other_organization):
        assert sign_in(client, email, OWN, organization_id=one.id).json()["organization"]["id"] == one.id


def test_accepting_tells_nothing_about_passwords(
    client: TestClient, organization: Organization, other_organization: Organization
) -> None:
    """A known address's correct password and a wrong one are both just the password of a new, separate account."""
    answers = []
    for password in (other_organization.password, "certainly not the password"):
        token = invite(client, organization, other_organization.email)["token"]
        client.cookies.clear()
        joined = accept(client, token, password)
        assert [one["id"] for one in joined["organizations"]] == [organization.id]
        answers.append({**joined, "user_id": None})
        gone = client.delete(f"/api/v1/members/{joined['user_id']}", headers=organization.headers)
        assert gone.status_code == 204
    assert answers[0] == answers[1]


@pytest.mark.parametrize("role", ["viewer", "admin"])
def test_an_invitation_changes_no_membership(client: TestClient, organization: Organization, role: str) -> None:
    """One's own viewer invitation cannot demote the last administrator, nor can an administrator's raise a viewer."""
    token = invite(client, organization, organization.email, role)["token"]
    assert sign_in(client, organization.email, organization.password).status_code == 200
    refused = accept(client, token, status=409)
    assert refused["type"] == "urn:jitterscope:problem:already-a-member"
    assert accept(client, token, OWN, status=409)["type"] == refused["type"]
    assert client.get("/api/v1/me").json()["role"] == "admin"


def test_an_invitation_is_for_its_address(
    client: TestClient, organization: Organization, other_organization: Organization, email: str
) -> None:
    token = invite(client, organization, email)["token"]
    sign_in(client, other_organization.email, other_organization.password)
    assert accept(client, token, status=409)["type"] == "urn:jitterscope:problem:other-address"


def test_a_mailed_invitation_proves_the_address(
    client: TestClient, organization: Organization, other_organization: Organization, mailbox: Mailbox, email: str
) -> None:
    answer = invite(client, organization, email)
    assert (answer["token"], answer["accept_url"]) == (None, None), "only the mailbox knows the link"
    to, token = mailbox.link()
    assert to == email
    told = client.post("/api/v1/auth/invitation", json={"token": token}).json()
    assert (told["email"], told["role"], told["known"]) == (email, "viewer", False)
    assert accept(client, token, OWN)["email_verified"] is True
    # Now the address is known: another organization's invitation is for this account only.
    client.cookies.clear()
    invite(client, other_organization, email)
    _, token = mailbox.link()
    assert client.post("/api/v1/auth/invitation", json={"token": token}).json()["known"] is True
    assert accept(client, token, THIEF, status=409)["type"] == "urn:jitterscope:problem:sign-in-needed"
    sign_in(client, email, OWN)
    joined = accept(client, token)
    assert {one["id"] for one in joined["organizations"]} == {organization.id, other_organization.id}


def test_a_mailed_link_verifies_only_the_account_that_asked(
    client: TestClient, organization: Organization, other_organization: Organization, mailbox: Mailbox, email: str,
    settings_override: Callable[..., Settings],
) -> None:  # fmt: skip
    settings_override(smtp_host="")
    for one, password in ((organization, THIEF), (other_organization, OWN)):
        client.cookies.clear()
        accept(client, invite(client, one, email)["token"], password)
    settings_override(smtp_host="127.0.0.1")
    confirm = "/api/v1/me/verification/confirm"
    # The thief has a mail sent to the owner, who follows the link.
    sign_in(client, email, THIEF)
    assert client.post("/api/v1/me/verification", headers=HERE).status_code == 202
    to, of_thief = mailbox.link()
    assert to == email
    sign_in(client, email, OWN)
    refused = client.post(confirm, json={"token": of_thief}, headers=HERE)
    assert (refused.status_code, client.get("/api/v1/me").json()["email_verified"]) == (404, False)
    assert client.post("/api/v1/me/verification", headers=HERE).status_code == 202
    _, own = mailbox.link()
    assert client.post(confirm, json={"token": own}, headers=HERE).status_code == 204
    assert client.get("/api/v1/me").json()["email_verified"] is True
    assert client.post(confirm, json={"token": own}, headers=HERE).status_code == 404, "it works once"
    # Even with the link, the thief's account stays within its organization.
    sign_in(client, email, THIEF)
    taken = client.post(confirm, json={"token": of_thief}, headers=HERE)
    assert (taken.status_code, taken.json()["type"]) == (409, "urn:jitterscope:problem:address-taken")


def test_a_mail_that_is_refused_leaves_no_invitation(
    client: TestClient, organization: Organization, mailbox: Mailbox, email: str
) -> None:
    mailbox.refuse = True
    assert invite(client, organization, email, status=503)["type"] == "urn:jitterscope:problem:mail-not-sent"
    listed = client.get("/api/v1/members/invitations", headers=organization.headers).json()
    assert listed["items"] == []


def test_mails_to_an_address_are_limited(
    client: TestClient, organization: Organization, mailbox: Mailbox, email: str
) -> None:
    for _ in range(5):
        invite(client, organization, email)
    assert invite(client, organization, email, status=429)["type"] == "urn:jitterscope:problem:too-many-attempts"
    assert len(mailbox.mails) == 5


def test_one_organizations_mails_keep_no_other_from_writing(
    client: TestClient, organization: Organization, other_organization: Organization, mailbox: Mailbox, email: str
) -> None:
    for _ in range(5):
        invite(client, organization, email)
    invite(client, organization, email, status=429)
    invite(client, other_organization, email)


def test_tests_of_email_channels_count_as_mails(
    client: TestClient, organization: Organization, mailbox: Mailbox, email: str
) -> None:
    made = {"kind": "email", "name": "ops", "config": {"to": email}}
    channel = client.post("/api/v1/channels", json=made, headers=organization.headers).json()["id"]
    path = f"/api/v1/channels/{channel}/test"
    answers = [client.post(path, headers=organization.headers).status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]
    assert len(mailbox.mails) == 5


def test_open_invitations_are_limited(
    client: TestClient, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "MOST_INVITATIONS", 3)
    for number in range(3):
        invite(client, organization, f"person{number}@example.org")
    refused = invite(client, organization, "person4@example.org", status=409)
    assert refused["type"] == "urn:jitterscope:problem:too-many-invitations"


@pytest.mark.parametrize("name", ["jitterscope", " Jitterscope ", "token deploy", "TOKEN\u00a0x", "\uff4aitterscope"])
def test_nobody_is_called_like_the_service_or_a_token(
    client: TestClient, organization: Organization, email: str, name: str
) -> None:
    token = invite(client, organization, email)["token"]
    body = {"token": token, "name": name, "password": OWN}
    assert client.post("/api/v1/auth/accept", json=body).status_code == 422
    assert client.post("/api/v1/auth/accept", json=body | {"name": "Tokenu Jitterscopes"}).status_code == 200


def test_a_removed_member_can_be_invited_again(client: TestClient, organization: Organization, email: str) -> None:
    for password in (THIEF, OWN):
        client.cookies.clear()
        joined = accept(client, invite(client, organization, email)["token"], password)
        path = f"/api/v1/members/{joined['user_id']}"
        assert client.delete(path, headers=organization.headers).status_code == 204
