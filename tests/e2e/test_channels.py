"""Notification channels against the running product: added, edited, tested, and removed, by whoever may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import expect

from tests.e2e.axe import violations
from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.looks import Look
from tests.support.receiver import Receiver

FORM = "/settings/channels"


@contextmanager
def a_channel(product: Product, receiver: Receiver) -> Iterator[None]:
    """A channel that matches little, holds messages at night, and has a message to show."""
    with product.client() as client:
        content = {
            "kind": "webhook", "name": "night shift", "min_severity": "critical",
            "config": {"url": receiver.url, "secret": "a key of sixteen characters"},
            "conditions": {"namespaces": ["kube-system"], "causes": ["cpu/*", "dns/*"]},
            "quiet_hours": {"days": ["mon", "tue", "wed", "thu", "fri"], "start": "22:00", "end": "07:00",
                            "time_zone": "Europe/Berlin"},
        }  # fmt: skip
        made = client.post("/api/v1/channels", json=content).raise_for_status().json()
        yield
        client.delete(f"/api/v1/channels/{made['id']}")


def test_the_form_says_what_it_would_have_sent(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto(FORM)
    status = page.get_by_role("status").filter(has_text="Would have sent")
    expect(status).to_have_text(re.compile(r"Would have sent \d+ messages? about \d+ incidents? in the last 7 days\."))
    page.get_by_text("Show the last").click()
    expect(page.get_by_role("table", name="Messages it would have sent")).to_contain_text(product.title)
    page.get_by_label("Namespaces", exact=True).fill("no-such-namespace")
    expect(status).to_have_text("Would have sent no messages in the last 7 days.")
    page.get_by_label("Namespaces", exact=True).fill("x" * 201)
    expect(page.get_by_text("A pattern has at most 200 characters.")).to_be_visible()
    page.get_by_label("Namespaces", exact=True).fill("")
    page.get_by_text("More conditions").click()
    page.get_by_label("Hold messages in quiet hours").check()
    page.get_by_label("Time zone", exact=True).fill("Mars/Olympus")
    expect(page.get_by_text("There is no time zone Mars/Olympus.")).to_be_visible()
    page.get_by_label("Time zone", exact=True).fill("Europe/Berlin")
    expect(status).to_have_text(re.compile(r"Would have sent \d+ messages? about"))


def test_a_channel_is_edited_without_its_secrets_and_removed_when_confirmed(
    open_window: OpenWindow, product: Product, receiver: Receiver, nothing_left: None
) -> None:
    page = open_window().page
    with a_channel(product, receiver):
        page.goto(FORM)
        row = page.get_by_role("main").get_by_role("listitem").filter(has_text="night shift")
        expect(row).to_contain_text("Quiet Mon to Fri 22:00 to 07:00, Europe/Berlin, except for critical incidents.")
        row.get_by_role("button", name="Edit").click()
        form = page.get_by_role("form", name="Edit night shift")
        expect(form.get_by_label("Causes", exact=True)).to_have_value("cpu/*, dns/*")
        form.get_by_label("Name", exact=True).fill("day shift")
        form.get_by_label("Causes", exact=True).fill("memory/*")
        form.get_by_label("Sat", exact=True).check()
        form.get_by_role("button", name="Save channel").click()
        row = page.get_by_role("main").get_by_role("listitem").filter(has_text="day shift")
        expect(row).to_contain_text("namespace kube-system, cause memory/*")
        expect(row).to_contain_text("Quiet Mon to Sat 22:00 to 07:00")
        row.get_by_role("button", name="Send test").click()
        expect(page.get_by_text("day shift accepted the test message").first).to_be_visible()
        page.get_by_role("button", name="Remove day shift").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(row).to_be_visible()
        page.get_by_role("button", name="Remove day shift").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove channel").click()
        expect(page.get_by_text("No channels yet")).to_be_visible()


def test_a_viewer_sees_why_buttons_do_nothing(
    open_window: OpenWindow, product: Product, receiver: Receiver, nothing_left: None
) -> None:
    with a_channel(product, receiver), product.client() as client:
        body = {"email": "viewer-of-channels@example.com", "role": "viewer"}
        invited = client.post("/api/v1/members/invitations", json=body).raise_for_status().json()
        page = open_window(anonymous=True).page
        joined = page.request.post(
            "/api/v1/auth/accept",
            data={"token": invited["token"], "name": "Viewer", "password": "correct horse battery"},
            headers={"X-Requested-With": "jitterscope"},
        )
        assert joined.ok, joined.text()
        page.goto(FORM)
        expect(page.get_by_text("Your role, viewer, cannot change channels.").first).to_be_visible()
        for name in ("Send test", "Pause", "Edit", "Remove night shift", "Add channel"):
            expect(page.get_by_role("button", name=name)).to_be_disabled()
        expect(page.get_by_role("button", name="Deliveries")).to_be_enabled()
        assert violations(page) == []


def test_how_it_looks(look: Look, product: Product, receiver: Receiver, nothing_left: None) -> None:
    page = look.page
    with a_channel(product, receiver):
        page.goto(FORM)
        page.get_by_role("button", name="Edit").click()
        expect(page.get_by_role("status").filter(has_text="Would have sent").first).to_be_visible()
        look.at("channels-edit")
        assert look.violations() == []
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Kind", exact=True).select_option("webhook")
        page.get_by_text("More conditions").click()
        page.get_by_label("Hold messages in quiet hours").check()
        page.get_by_text("Show the last").click()
        look.at("channels-new")
        assert look.violations() == []
        page.get_by_role("button", name="Remove night shift").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        look.at("channels-remove")
        assert look.violations() == []
