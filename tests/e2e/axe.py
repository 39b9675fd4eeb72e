"""What axe-core finds on a page, whatever its impact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, expect

Scheme = Literal["light", "dark"]
AXE = Path(__file__).resolve().parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async (rules) => {
  const only = rules.length > 0 ? {runOnly: {type: "rule", values: rules}} : {};
  const {violations} = await axe.run(document, {resultTypes: ["violations"], ...only});
  return violations.map(({id, impact, help, nodes}) =>
    `${id} (${impact}): ${help}: ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160)).join(" ")}`);
}"""
# The only rules whose result depends on the theme.
_OF_COLOR = ("color-contrast", "link-in-text-block")
_IS_DARK = "() => matchMedia('(prefers-color-scheme: dark)').matches"
# Until no color is still on its way to the next one.
_SWITCHED = """async () => {
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  const running = document.getAnimations().filter((one) => one instanceof CSSTransition);
  await Promise.allSettled(running.map(({finished}) => finished));
}"""


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """`rules`: only these; default: all."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    return list(page.evaluate(_RUN, list(rules)))


def switch(page: Page, scheme: Scheme) -> None:
    page.emulate_media(color_scheme=scheme)
    page.evaluate(_SWITCHED)


def in_both_themes(page: Page) -> list[str]:
    """Switches to the other theme in place, and stays there."""
    found = violations(page)
    other: Scheme = "light" if page.evaluate(_IS_DARK) else "dark"
    switch(page, other)
    return found + [f"{other} after a switch: {one}" for one in violations(page, _OF_COLOR)]


def settle(page: Page) -> None:
    """Until everything has loaded and is shown: what is below something that loads is hidden for a moment longer."""
    expect(page.locator("main")).to_be_visible()
    expect(page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)
    expect(page.locator("main#main:not([data-settled])")).to_have_count(0)
