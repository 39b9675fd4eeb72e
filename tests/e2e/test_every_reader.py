"""Every page for whoever is no administrator, for an organization without data, and while the API refuses all requests.

On desktop in dark and on a phone in light: what both show is checked in both themes. Pages whose markup was already
checked are not checked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route

from tests.e2e.axe import settle, switch, violations
from tests.e2e.conftest import WINDOWS, OpenWindow, Product, Window
from tests.e2e.looks import cut_off
from tests.e2e.members import join, newcomer_of, sign_in_as
from tests.e2e.places import walk, within_the_product
from tests.e2e.widths import too_wide

# Without what differs each time: generated IDs, figures, times.
_MARKUP = "document.querySelector('main').outerHTML.replace(/_r_[0-9a-z]+_/g, '').replace(/[0-9.]+/g, '0')"
PROBLEM = {"type": "urn:jitterscope:problem:x", "title": "Too much data", "status": 422, "detail": "Choose less."}


@dataclass(frozen=True, slots=True)
class Checked:
    """What was already checked, by width and theme."""

    markups: set[tuple[int, str, str]] = field(default_factory=set)

    def problems(self, page: Page) -> list[str]:
        found: list[str] = []
        for (width, height), scheme in WINDOWS:
            page.set_viewport_size({"width": width, "height": height})
            switch(page, scheme)
            found += [f"{width} px: {one}" for one in too_wide(page) + cut_off(page)]
            markup = width, scheme, page.evaluate(_MARKUP)
            if markup not in self.markups:
                self.markups.add(markup)
                found += [f"{width} px: {one}" for one in violations(page)]
        return found


@pytest.fixture(scope="module")
def checked() -> Checked:
    return Checked()


def everywhere(window: Window, subjects: Mapping[str, str], checked: Checked) -> dict[str, list[str]]:
    """What is wrong, by address."""
    page = window.page
    page.goto("/")
    settle(page)
    found = {
        address: here
        for address in walk(page, subjects, within_the_product(page), inside=True)
        if (here := checked.problems(page))
    }
    # The browser's own words about refused requests and about what another organization does not have.
    window.complaints[:] = [one for one in window.complaints if "Failed to load resource" not in one]
    return found


@pytest.mark.parametrize("role", ["editor", "viewer"])
def test_pages_of_a_role(
    open_window: OpenWindow, product: Product, subjects: dict[str, str], checked: Checked, role: str
) -> None:
    window = open_window(anonymous=True)
    join(window.page, product, role)
    assert everywhere(window, subjects, checked) == {}


def test_pages_without_data(
    open_window: OpenWindow, product: Product, subjects: dict[str, str], checked: Checked
) -> None:
    window = open_window(anonymous=True)
    sign_in_as(window.page, newcomer_of(product).email)
    assert everywhere(window, subjects, checked) == {}


def test_pages_that_fail(open_window: OpenWindow, subjects: dict[str, str], checked: Checked) -> None:
    window, refused = open_window(), set[str]()

    def refuse(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path.endswith(("/auth/session", "/events/stream")):
            route.continue_()
        else:
            refused.add(path)
            route.fulfill(status=422, content_type="application/problem+json", body=json.dumps(PROBLEM))

    window.page.route("**/api/v1/**", refuse)
    assert everywhere(window, subjects, checked) == {}
    assert len(refused) > 20, "pages must have asked for something"
