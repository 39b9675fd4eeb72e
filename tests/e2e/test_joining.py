"""From an invitation to a member and out again, and what a token says about its owner."""

from __future__ import annotations

import secrets

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import IDS, WINDOWS, OpenWindow, Product
from tests.e2e.looks import look_at


def _invite(product: Product, email: str) -> str:
    with product.client() as client:
        answer = client.post("/api/v1/members/invitations", json={"email": email, "role": "editor"})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])


@pytest.mark.parametrize(("size", "scheme"), WINDOWS, ids=IDS)
def test_an_invitation_says_what_it_is_for(
    open_window: OpenWindow, product: Product, size: tuple[int, int], scheme: str, request: pytest.FixtureRequest
) -> None:
    token = _invite(product, "ada@example.org")
    page = open_window(size, scheme, anonymous=True).page
    page.goto(f"/accept#{token}")
    expect(page.get_by_text("ada@example.org is invited to Jitterscope as editor.")).to_be_visible()
    expect(page.get_by_role("link", name="Sign in to join with it")).to_be_visible()
    look_at(page, f"accept-{request.node.callspec.id}")
    page.get_by_role("link", name="Sign in to join with it").click()
    expect(page.get_by_role("heading", name="Sign in to Jitterscope")).to_be_visible()
    sent, _, kept = page.url.partition("#")
    assert (token in sent, kept) == (False, token), "a server must never see it, not after a reload either"
    page.goto("/verify#made-up")
    page.reload()
    expect(page.get_by_role("heading", name="Verify your address")).to_be_visible()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    look_at(page, f"verify-{request.node.callspec.id}")


def test_a_member_joins_owns_tokens_and_is_removed(open_window: OpenWindow, product: Product) -> None:
    email, name = f"{secrets.token_hex(4)}@example.org", "Grace Hopper"
    theirs = open_window(anonymous=True).page
    theirs.goto(f"/accept#{_invite(product, email)}")
    theirs.get_by_label("Your name").fill(name)
    theirs.get_by_label("Password").fill("a long enough password")
    theirs.get_by_role("button", name="Join").click()
    expect(theirs.get_by_role("navigation", name="Pages")).to_be_visible()
    theirs.goto("/settings/account")
    expect(theirs.get_by_text("not verified")).to_be_visible()
    made = theirs.request.post(
        f"{product.url}/api/v1/collectors/tokens", data={"name": "node 9"}, headers={"X-Requested-With": "jitterscope"}
    )
    assert made.status == 201
    page = open_window().page
    page.goto("/settings/collectors")
    expect(page.get_by_role("row").filter(has_text="node 9")).to_contain_text(name)
    page.goto("/settings/members")
    page.get_by_role("button", name=f"Remove {name}").click()
    expect(page.get_by_role("dialog")).to_contain_text("owns 1 ingest token: node 9")
    page.get_by_role("button", name="Remove member, take over tokens").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("row").filter(has_text=email)).to_have_count(0)
    page.goto("/settings/collectors")
    expect(page.get_by_role("row").filter(has_text="node 9")).not_to_contain_text("left")
    page.goto("/settings/tokens")
    page.get_by_label("Name").fill("grafana")
    page.get_by_label("Expires").select_option("in 30 days")
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_text("Copy it now.")).to_be_visible()
