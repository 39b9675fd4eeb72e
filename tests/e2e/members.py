"""Members of the running product besides its administrator."""

from __future__ import annotations

import secrets

from playwright.sync_api import Page

from tests.e2e.conftest import Product


def join(page: Page, product: Product, role: str) -> str:
    """Sign the page's browser in as a new member with that role; returns the member's name."""
    name = f"{role} {secrets.token_hex(3)}"
    with product.client() as client:
        asked = {"email": f"{secrets.token_hex(6)}@example.org", "role": role}
        token = client.post("/api/v1/members/invitations", json=asked).raise_for_status().json()["token"]
    answer = page.request.post(
        "/api/v1/auth/accept",
        data={"token": token, "name": name, "password": "a long enough password"},
        headers={"X-Requested-With": "jitterscope"},
    )
    assert answer.ok, answer.text()
    return name
