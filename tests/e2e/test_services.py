"""The page Services and everything else that shows servers of requests, in a browser."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.e2e.conftest import OpenWindow, Product
from tests.e2e.crowded_map import crowded
from tests.e2e.looks import Look, below_the_bar
from tests.e2e.served import MINUTES, SERVERS, SLOW
from tests.support.tcp_servers import TICKS_PER_MINUTE


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has_text=name)


def listed(page: Page) -> list[str]:
    """The names of the servers in their order."""
    return [text.split("\n")[0].split(" ")[0] for text in page.get_by_role("rowheader").all_inner_texts()]


@pytest.mark.usefixtures("services")
def test_every_server_with_its_figures(open_window: OpenWindow, product: Product) -> None:
    page = open_window().page
    page.goto("/incidents")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Explore").click()
    page.get_by_role("navigation", name="Explore").get_by_role("link", name="Services").click()
    checkout = row(page, "checkout :8080")
    expect(checkout).to_contain_text("shop/checkout-5d8/checkout")
    for text in ("shop-node", "300 requests/s", "Go 1.25.3", "▲ throttled", "TCP", "5xx 0.1/s"):
        expect(checkout).to_contain_text(text)
    share = len(SLOW) * 3 / (30 * MINUTES * TICKS_PER_MINUTE)
    expect(checkout).to_contain_text(f"{share * 100:.2g} %")
    expect(checkout.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(rf"^Slowest answer 103 ms at ..:..; over 20 ms in 2 of {MINUTES} minutes$")
    )
    for text in ("→ stock :9090", "→ 203.0.113.20:443", "up to 103 ms · 300 calls/s"):
        expect(checkout).to_contain_text(text)
    stock = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="stock :9090"))
    expect(stock).to_contain_text("not throttled")
    dns = row(page, product.node.pod)
    expect(dns).to_contain_text("queries/s")
    dns.get_by_role("link", name=product.title).click()
    expect(page).to_have_url(f"/incidents/{product.incident_id}")


@pytest.mark.usefixtures("services")
def test_headings_sort_and_a_text_filters(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/services?q=shop-node")
    expect(page.get_by_role("rowheader")).to_have_count(len(SERVERS))
    heading = page.get_by_role("columnheader", name="p50")
    heading.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("rowheader").nth(1)).to_contain_text("stock")
    assert listed(page) == ["cart", "stock", "checkout"]
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_role("rowheader").first).to_contain_text("checkout")
    page.get_by_role("searchbox", name="Service, container or node").fill("stock")
    expect(page.get_by_role("rowheader")).to_have_count(1)
    expect(page).to_have_url("/services?q=stock&order=p50&direction=up")
    page.reload()
    expect(page.get_by_role("searchbox", name="Service, container or node")).to_have_value("stock")
    page.get_by_role("button", name="24 h").click()
    expect(page.get_by_role("rowheader")).to_have_count(1)
    page.get_by_role("searchbox", name="Service, container or node").fill("no such thing")
    expect(page.get_by_role("heading", name="No services match")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("main").click(position={"x": 5, "y": 5})
    page.keyboard.press("g")
    page.keyboard.press("v")
    expect(page).to_have_url("/services")


def test_what_the_page_says_where_the_list_cannot_be_had(open_window: OpenWindow) -> None:
    def refuse(route: Route) -> None:
        problem = {"type": "urn:jitterscope:problem:missing-scope", "title": "Not permitted", "status": 403,
                   "detail": "This needs the scope resources:read.", "fix": "Ask an administrator."}  # fmt: skip
        route.fulfill(status=403, content_type="application/problem+json", body=json.dumps(problem))

    window = open_window()
    page = window.page
    page.route("**/api/v1/services*", refuse)
    page.goto("/services")
    expect(page.get_by_role("alert")).to_contain_text("This needs the scope resources:read.")
    page.unroute("**/api/v1/services*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Services")).to_be_visible()
    # The browser itself reports the answer.
    window.complaints[:] = [one for one in window.complaints if "403" not in one]


@pytest.mark.usefixtures("services")
def test_tcp_servers_among_the_resources(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/resources?kind=tcp_server&all=true")
    expect(page.get_by_role("combobox", name="Kind")).to_have_value("tcp_server")
    page.get_by_role("link", name="checkout :8080").click()
    expect(page.get_by_role("heading", name="checkout :8080")).to_be_visible()
    expect(page.get_by_role("region", name="Timeline")).to_be_visible()


@pytest.mark.usefixtures("services")
def test_a_server_has_its_requests_by_kind(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/services?q=shop-node")
    page.get_by_role("link", name="checkout :8080").click()
    table = page.get_by_role("table", name="Requests by kind")
    orders = table.get_by_role("row").filter(has_text="GET /users/{id}/orders")
    for text in ("90/s", "5 ms", "103 ms", "5 %", "1 %", "2 %"):
        expect(orders).to_contain_text(text)
    expect(table.get_by_role("row").last).to_contain_text("other kinds")
    page.goto("/services?q=shop-node")
    expect(row(page, "cart :3000")).to_contain_text("gRPC errors 0.1/s")
    page.get_by_role("rowheader").get_by_role("link", name="cart :3000").click()
    add = page.get_by_role("table", name="Requests by kind").get_by_role("row").filter(has_text="POST /shop.Carts/Add")
    for text in ("gRPC 14 UNAVAILABLE 7.5 %, 5 NOT_FOUND 2.5 %", "2.5 %", "7.5 %"):
        expect(add).to_contain_text(text)
    page.goto("/services?q=shop-node")
    page.get_by_role("rowheader").get_by_role("link", name="stock :9090").click()
    expect(page.get_by_role("region", name="Requests by kind")).to_contain_text("No requests recognized")


@pytest.mark.usefixtures("services")
def test_the_map_leads_along_calls_to_the_page_of_a_server(open_window: OpenWindow) -> None:
    page = open_window().page
    page.goto("/services?q=shop-node&minutes=15")
    page.get_by_role("group", name="Show services as").get_by_role("button", name="Map").click()
    expect(page).to_have_url("/services?q=shop-node&minutes=15&show=map")
    drawing = page.get_by_role("group", name="Map of 4 calls between 5 places")
    hop = (
        page.get_by_role("table", name="Calls").get_by_role("row").filter(has_text="checkout").filter(has_text="stock")
    )
    for text in ("TCP", "103 ms", "300/s", "△"):
        expect(hop).to_contain_text(text)
    drawing.get_by_role("link", name="cart").focus()
    page.keyboard.press("ArrowRight")
    expect(drawing.get_by_role("link", name="stock")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="stock :9090")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/resources/\d+\?minutes=15$"))
    near = page.get_by_role("region", name="Callers and calls")
    expect(near.get_by_role("group", name="Map of 3 calls between 4 places")).to_be_visible()
    near.get_by_role("button", name="2 hops").click()
    expect(page).to_have_url(re.compile(r"[?&]hops=2$"))
    near.get_by_role("table", name="Calls").get_by_role("link", name="cart").click()
    expect(page.get_by_role("heading", name="cart :3000")).to_be_visible()


@pytest.mark.usefixtures("services")
def test_looks_of_the_map(look: Look) -> None:
    page = look.page
    page.goto("/services?show=map&q=shop-node")
    expect(page.get_by_text("203.0.113.20:443").first).to_be_visible()
    look.at("services-map")
    page.get_by_role("link", name="stock").first.click()
    region = page.get_by_role("region", name="Callers and calls")
    expect(region.get_by_text("orders-db").first).to_be_visible()
    below_the_bar(page, region)
    look.at("service-neighborhood")
    page.route("**/api/v1/services/map*", lambda route: route.fulfill(json=crowded()))
    page.goto("/services?show=map")
    expect(page.get_by_text("orders-reports-postgresql-primary").first).to_be_visible()
    look.at("services-map-crowded")
    if not look.is_phone:
        page.get_by_title(re.compile("^billing-api,")).focus()
        page.keyboard.press("ArrowDown")
        look.at("services-map-focused")
    page.goto("/services?show=map&q=nothing")
    page.unroute("**/api/v1/services/map*")
    page.reload()
    expect(page.get_by_role("heading", name="No calls match")).to_be_visible()
    look.at("services-map-empty")


@pytest.mark.usefixtures("services")
def test_looks(look: Look) -> None:
    look.page.goto("/services")
    expect(row(look.page, "checkout :8080")).to_be_visible()
    look.at("services")
    look.page.get_by_role("link", name="checkout :8080").click()
    region = look.page.get_by_role("region", name="Requests by kind")
    expect(region.get_by_role("table")).to_be_visible()
    below_the_bar(look.page, region)
    look.at("request-kinds")
    look.page.goto("/services?q=nothing-of-that-name")
    expect(look.page.get_by_role("heading", name="No services match")).to_be_visible()
    look.at("services-empty")
