"""Home: what is wrong now, the map of the fleet, and the four main places of the UI."""

from __future__ import annotations

import re
import secrets

import httpx
import numpy as np
import psycopg
import pytest
from playwright.sync_api import Page, Route, expect

from tests.diagnosis.recorded import STEP_US
from tests.e2e.axe import settle, violations
from tests.e2e.conftest import PHONE, OpenWindow, Product, picture
from tests.e2e.looks import Look
from tests.e2e.members import PASSWORD, Newcomer, newcomer_of
from tests.e2e.recorded_batches import HEADERS
from tests.support.batches import now_us
from tests.support.tcp_servers import TICKS_PER_MINUTE, Serving, batches, minute_ago

TABS = {
    "Issues": {"Incidents": "/incidents", "Risks": "/risks", "Fixes": "/fixes"},
    "Explore": {
        "Containers": "/resources", "Services": "/services", "Nodes": "/resources?kind=node", "DNS": "/dns",
        "Pod start": "/startup", "Metrics": "/explore/metrics", "Compare": "/compare",
    },
}  # fmt: skip


@pytest.fixture
def newcomer(product: Product) -> Newcomer:
    return newcomer_of(product)


def enter(open_window: OpenWindow, email: str, size: tuple[int, int] = (1440, 1000), scheme: str = "dark") -> Page:
    page = open_window(size, scheme, anonymous=True).page
    page.goto("/")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    return page


def feed(product: Product, organization_id: int, servers: tuple[Serving, ...]) -> None:
    """Two minutes that just ended."""
    start_us = minute_ago(3, now_us())
    headers = {"Authorization": f"Bearer {product.stack.create_ingest_token(organization_id)}", **HEADERS}
    with httpx.Client(base_url=product.url, headers=headers, timeout=30) as client:
        for body in batches("calm-node", servers, start_us, 2 * TICKS_PER_MINUTE):
            client.post("/api/v1/ingest", content=body).raise_for_status()


def test_a_cell_of_the_map_leads_to_the_worst_tick(open_window: OpenWindow, product: Product) -> None:
    credited = product.node.recording.columns["cpu_throttled_us"]
    worst_us = int(np.argmax(credited)) * STEP_US + product.node.start_us
    page = open_window().page
    page.goto("/")
    fleet = page.get_by_role("region", name="Fleet")
    cell = fleet.get_by_role("link", name=re.compile(rf"^{product.node.pod}, .* on {product.node.node}: throttled"))
    expect(cell).to_have_accessible_name(re.compile(rf"throttled {credited.max() / 1e3:.3g} ms in its worst tick"))
    cell.click()
    expect(page).to_have_url(re.compile(rf"/resources/{product.subject_id}\?.*sel={worst_us}-{worst_us + STEP_US}"))
    expect(picture(page)).to_be_visible()
    expect(page.get_by_text("Selected 100 ms.")).to_be_visible()


@pytest.mark.usefixtures("services")
def test_the_map_by_keyboard(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/")
    fleet = page.get_by_role("region", name="Fleet")
    cells = fleet.locator("a[data-level]")
    expect(cells.first).to_be_visible()
    count = cells.count()
    assert count > 2
    page.get_by_role("button", name="By namespace").focus()
    page.keyboard.press("Tab")
    expect(cells.first).to_be_focused()
    page.keyboard.press("End")
    expect(cells.last).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(cells.nth(count - 2)).to_be_focused()
    told = cells.nth(count - 2).get_attribute("aria-label") or ""
    expect(fleet.get_by_text(told, exact=True)).to_be_visible()
    # One more stop leaves the map, however many cells it has.
    page.keyboard.press("Tab")
    assert fleet.locator("a[data-level]:focus").count() == 0
    page.keyboard.press("Shift+Tab")
    expect(cells.nth(count - 2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/resources/\d+"))


def test_the_map_by_namespace_says_so_in_the_address(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto("/")
    fleet = page.get_by_role("region", name="Fleet")
    expect(fleet.get_by_role("heading", name=product.node.node, exact=True)).to_be_visible()
    fleet.get_by_role("button", name="By namespace").click()
    expect(page).to_have_url(re.compile(r"\?by=namespace"))
    page.reload()
    expect(fleet.get_by_role("region", name=re.compile("^kube-system, ")).get_by_role("link").first).to_be_visible()
    expect(fleet.get_by_role("heading", name=product.node.node, exact=True)).to_have_count(0)


def test_what_was_fixed_says_how_much_it_gained(open_window: OpenWindow, verified_incident: int) -> None:
    page = open_window().page
    page.goto("/")
    fixed = page.get_by_role("region", name="Fixed", exact=True)
    row = fixed.get_by_role("listitem").filter(has=page.locator(f"a[href='/incidents/{verified_incident}']"))
    expect(row).to_contain_text("✓ verified")
    expect(row).to_contain_text(re.compile(r"[\d.]+ % → (0|[\d.]+|< 0\.01) %"))
    changes = page.get_by_role("region", name="Changes", exact=True)
    expect(changes).to_contain_text("CPU limit 0.5 CPU → no limit")
    fixed.get_by_role("link", name=re.compile("All fixes")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fixes")
    expect(page.get_by_role("region", name="Applied fixes").get_by_role("listitem").first).to_be_visible()


def test_a_newcomer_sees_what_to_do_and_a_viewer_whom_to_ask(
    open_window: OpenWindow, product: Product, newcomer: Newcomer
) -> None:
    page = enter(open_window, newcomer.email)
    expect(page.get_by_text("No collectors have reported yet")).to_be_visible()
    expect(page.get_by_text("Nothing is measured yet.")).to_be_visible()
    expect(page.get_by_text("No open incidents")).to_have_count(0)
    settle(page)
    assert violations(page) == []
    viewer = f"{secrets.token_hex(4)}@example.org"
    token = product.stack.create_api_token(newcomer.organization_id)
    invited = httpx.post(
        f"{product.url}/api/v1/members/invitations", json={"email": viewer, "role": "viewer"},
        headers={"Authorization": f"Bearer {token}"}, timeout=60,
    )  # fmt: skip
    assert invited.status_code == 201, invited.text
    theirs = open_window(anonymous=True).page
    theirs.goto(f"/accept#{invited.json()['token']}")
    theirs.get_by_label("Your name").fill("Vera")
    theirs.get_by_label("Password").fill(PASSWORD)
    theirs.get_by_role("button", name="Join").click()
    why = "Your role, viewer, cannot add collectors or revoke their tokens. Ask an editor or admin of Newcomers."
    expect(theirs.locator("main p").filter(has_text=why)).to_be_visible()
    expect(theirs.locator("main").get_by_role("button", name="Add collector")).to_have_accessible_description(why)
    expect(theirs.locator("main").get_by_role("link", name="Add collector")).to_have_count(0)
    page.locator("main").get_by_role("link", name="Add collector").click()
    expect(page.get_by_label("Token name")).to_be_visible()


def test_nothing_open_is_no_claim_about_what_is_not_measured(
    open_window: OpenWindow, product: Product, newcomer: Newcomer
) -> None:
    feed(product, newcomer.organization_id, (Serving("shop", 8080, 41), Serving("stock", 9090, 42)))
    page = enter(open_window, newcomer.email)
    expect(page.get_by_role("heading", level=1)).to_have_text("No open incidents")
    expect(page.get_by_text("Watching 2 containers. Highest 100 ms of the last hour: ")).to_be_visible()
    expect(page.get_by_text("Answers of all 2 containers were timed in the last hour.")).to_be_visible()
    expect(page.get_by_text("0 of 2 containers were throttled in the last hour.")).to_be_visible()
    for text in ("No risks found.", "No fix has been verified yet.", "No changes seen or reported."):
        expect(page.get_by_text(text)).to_be_visible()
    settle(page)
    assert violations(page) == []
    with psycopg.connect(product.stack.superuser_url, dbname="jitterscope", autocommit=True) as superuser:
        superuser.execute(
            "UPDATE collectors SET last_seen_at = now() - interval '1 min' WHERE organization_id = %s",
            (newcomer.organization_id,),
        )
    page.reload()
    expect(page.get_by_text("The only collector is silent: nothing is measured now.")).to_be_visible()
    expect(page.get_by_text("Watching")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("No open incidents")


def test_a_part_that_fails_leaves_the_others(open_window: OpenWindow, product: Product) -> None:
    window = open_window()
    page = window.page

    def refuse(route: Route) -> None:
        route.fulfill(status=503, content_type="application/problem+json",
                      body='{"type": "urn:x", "title": "Too busy", "status": 503, "detail": "Try again."}')  # fmt: skip

    page.route("**/api/v1/fleet?*", refuse)
    page.goto("/")
    expect(page.get_by_role("region", name="Fleet").get_by_role("alert")).to_contain_text("Too busy")
    expect(page.get_by_text("The number of containers with timed answers is unknown.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("critical")
    expect(page.get_by_role("region", name="Collectors")).to_contain_text(product.node.node)
    page.unroute("**/api/v1/fleet?*")
    page.get_by_role("region", name="Fleet").get_by_role("button", name="Try again").click()
    expect(page.get_by_role("region", name="Fleet").locator("a[data-level]").first).to_be_visible()
    assert all("503" in complaint for complaint in window.complaints)
    window.complaints.clear()


def test_four_places_hold_every_page(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/")
    places = page.get_by_role("navigation", name="Pages")
    expect(places.get_by_role("link")).to_have_text(["Home", "Issues", "Explore", "Evidence"])
    for place, tabs in TABS.items():
        places.get_by_role("link", name=place).click()
        pages = page.get_by_role("navigation", name=place)
        expect(pages.get_by_role("link")).to_have_text(list(tabs))
        for tab, address in tabs.items():
            pages.get_by_role("link", name=tab, exact=True).click()
            expect(page).to_have_url(address)
            expect(page.get_by_role("heading", level=1)).to_have_text(tab)
            expect(page).to_have_title(re.compile(rf"{tab} · Jitterscope$"))
            expect(pages.locator("[aria-current=page]")).to_have_text(tab)
            expect(places.locator("[aria-current]")).to_have_text(place)
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(places.locator("[aria-current]")).to_have_text("Home")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/collectors?add=true#top", "/settings/collectors?add=true#top"),
        ("/causes?cause=cpu%2Fgc_throttling#how", "/help/causes?cause=cpu%2Fgc_throttling#how"),
        ("/calibration#plot", "/fixes#plot"),
        ("/issues?state=closed", "/incidents?state=closed"),
        ("/explore?q=coredns", "/resources?q=coredns"),
        ("/help", "/help/causes"),
    ],
)
def test_an_old_address_leads_to_the_new_one(open_window: OpenWindow, old: str, new: str) -> None:
    page = open_window().page
    page.goto(old)
    expect(page).to_have_url(new)
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Page not found")


@pytest.mark.usefixtures("services", "verified_incident")
def test_it_fits_every_window(look: Look) -> None:
    page = look.page
    page.goto("/")
    expect(page.get_by_role("region", name="Fleet").locator("a[data-level]").first).to_be_visible()
    settle(page)
    look.at("home")
    assert look.violations() == []
    page.goto("/?by=namespace")
    expect(page.get_by_role("region", name="Fleet").locator("a[data-level]").first).to_be_visible()
    look.at("home-by-namespace")
    page.goto("/fixes")
    expect(page.get_by_role("region", name="Applied fixes").get_by_role("listitem").first).to_be_visible()
    look.at("fixes-page")
    assert look.violations() == []


@pytest.mark.usefixtures("services", "verified_incident")
def test_a_wide_window(open_window: OpenWindow) -> None:
    look = Look(open_window((1920, 1080), "dark").page, "wide", "dark", is_phone=False)
    look.page.goto("/")
    expect(look.page.get_by_role("region", name="Fleet").locator("a[data-level]").first).to_be_visible()
    look.at("home")


def test_a_newcomer_on_a_phone(open_window: OpenWindow, newcomer: Newcomer) -> None:
    page = enter(open_window, newcomer.email, PHONE, "light")
    look = Look(page, "phone", "light", is_phone=True)
    look.at("home-empty")
