"""Every page of the product, from the running router's own table and the navigation of the pages themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from playwright.sync_api import Page

from tests.e2e.axe import settle

# Routes with a page of their own: neither layouts nor redirects.
_ROUTES = """() => Object.values(__TSR_ROUTER__.routesById)
  .filter(({children, options}) => children === undefined && options.component !== undefined)
  .map(({id, fullPath}) => ({path: fullPath, inside: id.startsWith("/signed-in/")}))"""
# Tabs, sections of Settings, places; breadcrumbs only lead back.
_LINKS = """() => [...document.querySelectorAll("nav:not([aria-label=Breadcrumbs]) a[href^='/']")]
  .map((link) => link.getAttribute("href")).filter((href) => !href.includes("#"))"""


@dataclass(frozen=True, slots=True)
class Route:
    """`path` as the router has it, such as /incidents/$incidentId. `inside`: only for members who are signed in."""

    path: str
    inside: bool

    def address(self, values: Mapping[str, str]) -> str:
        """With the values of its parameters, by name. Raises KeyError for a parameter that no test knows."""
        return re.sub(r"\$(\w*)", lambda match: values[match[1]], self.path)


def routes(page: Page) -> list[Route]:
    return [Route(**one) for one in page.evaluate(_ROUTES)]


def walk(
    page: Page,
    values: Mapping[str, str],
    visit: Callable[[str], object],
    *,
    more: Sequence[str] = (),
    inside: bool = False,
) -> Iterator[str]:
    """Visit every page once, and yield its address when it has settled.

    `page` shows some page of the product. `more`: other addresses. `inside`: only pages for signed-in members.
    """
    queue = [route.address(values) for route in routes(page) if route.inside or not inside]
    queue = list(dict.fromkeys([*queue, *more]))
    for address in queue:
        visit(address)
        settle(page)
        yield address
        # The list grows while it is walked.
        known = {_page(one) for one in queue}
        queue += {_page(link): link for link in page.evaluate(_LINKS) if _page(link) not in known}.values()


def _page(address: str) -> tuple[str, tuple[str, ...]]:
    """Links that differ only in the values of their parameters, such as to each cause, lead to one page."""
    path, _, search = address.partition("?")
    return path, tuple(sorted(re.findall(r"(?:^|&)([^=&]+)", search)))


def within_the_product(page: Page) -> Callable[[str], object]:
    """Visits a page as a link does, without loading the product again."""
    return lambda address: page.evaluate("(href) => __TSR_ROUTER__.navigate({href})", address)
