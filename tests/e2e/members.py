"""Members of the running product besides its administrator, and an organization besides its own."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from playwright.sync_api import Page

from jitterscope.tenancy import founding
from tests.e2e.conftest import Product

PASSWORD = "a long enough password"
_OURS = {"X-Requested-With": "jitterscope"}


@dataclass(frozen=True, slots=True)
class Newcomer:
    """The administrator of an organization in which nothing has happened."""

    organization_id: int
    email: str


def newcomer_of(product: Product) -> Newcomer:
    email = f"{secrets.token_hex(4)}@example.org"
    made = founding.found_organization(product.stack.owner_database_url, "Newcomers", email, PASSWORD)
    return Newcomer(made.organization_id, email)


def sign_in_as(page: Page, email: str) -> None:
    """Without the form."""
    answer = page.request.post("/api/v1/auth/login", data={"email": email, "password": PASSWORD}, headers=_OURS)
    assert answer.ok, answer.text()


def join(page: Page, product: Product, role: str) -> str:
    """Sign the page's browser in as a new member with that role; returns the member's name."""
    name = f"{role} {secrets.token_hex(3)}"
    with product.client() as client:
        asked = {"email": f"{secrets.token_hex(6)}@example.org", "role": role}
        token = client.post("/api/v1/members/invitations", json=asked).raise_for_status().json()["token"]
    answer = page.request.post(
        "/api/v1/auth/accept", data={"token": token, "name": name, "password": PASSWORD}, headers=_OURS
    )
    assert answer.ok, answer.text()
    return name
