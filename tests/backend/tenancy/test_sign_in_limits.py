"""Guessing is slowed down, without locking out whoever knows the password."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from jitterscope.kit.secretbox import new_key
from jitterscope.main import create_app
from jitterscope.settings import Settings, settings
from jitterscope.tenancy import devices
from tests.backend.conftest import Organization

HERE = {"X-Requested-With": "jitterscope"}
FROM = {"here": "198.51.100.7", "beside": "198.51.100.200", "elsewhere": "203.0.113.9", "ipv6": "2001:db8:1:2::3"}


@pytest.fixture
def at(client: TestClient) -> Iterator[Callable[[str], TestClient]]:
    """Clients of the same application at other addresses."""
    made: list[TestClient] = []

    def make(place: str) -> TestClient:
        made.append(TestClient(client.app, client=(FROM[place], 50000), raise_server_exceptions=False))
        return made[-1]

    yield make
    for one in made:
        one.close()


def sign_in(client: TestClient, organization: Organization, password: str | None = None, **more: Any) -> int:
    body = {"email": organization.email, "password": password or organization.password}
    return client.post("/api/v1/auth/login", json=body, **more).status_code


def guess(client: TestClient, organization: Organization) -> list[int]:
    return [sign_in(client, organization, f"guess {number}") for number in range(11)]


@pytest.mark.usefixtures("early_in_a_minute")
def test_guesses_lock_out_neither_other_networks_nor_known_browsers(
    at: Callable[[str], TestClient], organization: Organization, other_organization: Organization
) -> None:
    mine = at("here")
    assert sign_in(mine, organization) == 200
    attacker = at("beside")
    assert guess(attacker, organization) == [401] * 10 + [429]
    assert sign_in(at("elsewhere"), organization) == 200, "a new browser in another network"
    assert sign_in(mine, organization) == 200, "a browser that has signed in before, in the attacker's network"
    assert sign_in(at("here"), organization) == 429, "a stranger in the attacker's network, whatever it sends"
    # A known browser does not circumvent the limit, and one of another account does not count as known.
    assert guess(mine, organization) == [401] * 10 + [429]
    assert sign_in(attacker, other_organization) == 200
    assert sign_in(attacker, organization) == 429


@pytest.mark.usefixtures("early_in_a_minute")
def test_one_network_cannot_try_all_accounts(
    at: Callable[[str], TestClient], organization: Organization, settings_override: Callable[..., Settings]
) -> None:
    settings_override(login_attempts_per_network=3)
    attacker = at("ipv6")
    answers = [
        attacker.post("/api/v1/auth/login", json={"email": f"user{n}@example.org", "password": "password"}).status_code
        for n in range(4)
    ]
    assert answers == [401, 401, 401, 429]
    assert sign_in(at("here"), organization) == 200


def own_account_of(client: TestClient, address: str, organization: Organization) -> str:
    """An organization's own account of somebody's address, as its administrator can make one; returns its password."""
    invited = client.post(
        "/api/v1/members/invitations", json={"email": address, "role": "viewer"}, headers=organization.headers
    ).json()
    password = secrets.token_urlsafe(12)
    body = {"token": invited["token"], "name": "Squatter", "password": password}
    assert client.post("/api/v1/auth/accept", json=body).status_code == 200
    client.cookies.clear()
    return password


@pytest.mark.usefixtures("early_in_a_minute")
def test_an_own_account_of_an_address_opens_no_way_around_the_limits(
    at: Callable[[str], TestClient], organization: Organization, other_organization: Organization
) -> None:
    """Neither resetting the count by signing in to it, nor the device cookie that this gives."""
    attacker = at("here")
    own = own_account_of(attacker, organization.email, other_organization)
    answers = []
    for number in range(4):
        assert sign_in(attacker, organization, own) == 200
        answers += [sign_in(attacker, organization, f"guess {number} {one}") for one in range(4)]
    # Each time it signs in, that is one wrong password for the other account of the address.
    assert answers.count(401) == 8
    assert answers[8:] == [429] * 8
    assert sign_in(at("beside"), organization) == 429, "the owner's new browser in the attacker's network waits"
    assert sign_in(at("elsewhere"), organization) == 200


@pytest.mark.usefixtures("early_in_a_minute")
def test_a_device_of_another_account_of_the_address_counts_for_the_network(
    at: Callable[[str], TestClient], organization: Organization, other_organization: Organization,
    settings_override: Callable[..., Settings],
) -> None:  # fmt: skip
    settings_override(login_attempts_per_network=3)
    attacker = at("here")
    own = own_account_of(attacker, organization.email, other_organization)
    assert sign_in(attacker, organization, own) == 200
    assert [sign_in(attacker, organization, f"guess {one}") for one in range(4)] == [401, 401, 429, 429]
    assert sign_in(attacker, organization, own) == 200, "its own account stays open to the browser that knows it"


def test_devices_stay_known_while_the_key_is_rotated(
    client: TestClient, organization: Organization, settings_override: Callable[..., Settings]
) -> None:
    assert sign_in(client, organization) == 200
    cookie = client.cookies["jitterscope_device"]
    user_id = client.get("/api/v1/me").json()["user_id"]
    old, new = settings().secret_key.get_secret_value(), new_key()
    settings_override(secret_key=SecretStr(f"{new},{old}"))
    assert devices.known(cookie, user_id) is not None
    renewed = devices.issue(user_id)
    assert renewed is not None
    settings_override(secret_key=SecretStr(new))
    assert devices.known(renewed, user_id) is not None, "signed with the first key"
    assert devices.known(cookie, user_id) is None
    assert devices.known(renewed, user_id + 1) is None


def test_many_accounts_of_an_address_lock_nobody_out(
    client: TestClient, make_organization: Callable[[], Organization]
) -> None:
    address = f"{secrets.token_hex(4)}@example.org"
    for _ in range(5):
        own_account_of(client, address, make_organization())
    sixth = make_organization()
    body = {"email": address, "password": own_account_of(client, address, sixth), "organization_id": sixth.id}
    assert client.post("/api/v1/auth/login", json=body).status_code == 200
    change = {"current_password": body["password"], "new_password": "another long password"}
    assert client.post("/api/v1/me/password", json=change, headers=HERE).status_code == 204
    body["password"] = change["new_password"]
    assert client.post("/api/v1/auth/login", json=body).status_code == 200
    body["organization_id"] = 2**70
    assert client.post("/api/v1/auth/login", json=body).status_code == 400


@pytest.mark.parametrize("trusted", ["", "198.51.100.0/24"])
def test_a_proxy_that_is_not_trusted_is_told_everywhere(
    organization: Organization, client: TestClient, settings_override: Callable[..., Settings], trusted: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    settings_override(trusted_proxies=trusted)
    with TestClient(create_app(), client=(FROM["here"], 50000), raise_server_exceptions=False) as proxied:
        forwarded = {"X-Forwarded-For": FROM["elsewhere"]}
        assert sign_in(proxied, organization, headers=forwarded) == 200
        assert "warnings" not in proxied.get("/readyz", headers=forwarded).json(), "anybody can send the header"
        assert proxied.get("/api/v1/me", headers=forwarded).status_code == 200
        # The note is written concurrently with the request.
        for _ in range(200):
            ready = proxied.get("/readyz").json()
            if trusted or "warnings" in ready:
                break
        warnings = proxied.get("/api/v1/me").json()["warnings"]
        entry = proxied.get("/api/v1/audit").json()["items"][0]
        viewer_sees = proxied.get("/api/v1/me", headers=organization.ingest_headers).json()["warnings"]
    logged = [line for line in capsys.readouterr().err.splitlines() if "proxy_not_trusted" in line]
    if trusted:
        assert (logged, warnings, "warnings" in ready) == ([], [], False)
        assert entry["detail"]["address"] == FROM["elsewhere"]
    else:
        assert len(logged) == 1
        assert FROM["here"] in logged[0]
        assert "JITTERSCOPE_TRUSTED_PROXIES" in warnings[0]["what_to_do"]
        assert "JITTERSCOPE_TRUSTED_PROXIES" in ready["warnings"][0]
        assert FROM["here"] not in str(ready) + str(warnings), "addresses inside are for the log"
        assert (entry["detail"]["address"], viewer_sees) == (FROM["here"], [])
