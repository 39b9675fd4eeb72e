"""Guessing is slowed down, without locking out whoever knows the password."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jitterscope.main import create_app
from jitterscope.settings import Settings
from tests.backend.conftest import Organization

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
