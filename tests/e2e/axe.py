"""What axe-core finds on a page, whatever its impact."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.sync_api import Page, expect

from tests.e2e.conftest import ROOT

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async (rules) => {
  const only = rules.length > 0 ? {runOnly: {type: "rule", values: rules}} : {};
  const {violations} = await axe.run(document, {resultTypes: ["violations"], ...only});
  return violations.map(({id, impact, help, nodes}) =>
    `${id} (${impact}): ${help}: ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160)).join(" ")}`);
}"""
# The only rules whose result depends on the theme.
_OF_COLOR = ("color-contrast", "link-in-text-block")


def violations(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """`rules`: only these; default: all."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    return list(page.evaluate(_RUN, list(rules)))


def in_both_themes(page: Page) -> list[str]:
    """Switches the theme in place; without motion, so that no color is still on its way to the next one."""
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    dark = violations(page)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return dark + [f"in the light theme: {one}" for one in violations(page, _OF_COLOR)]


def settle(page: Page) -> None:
    """Until everything has loaded and is shown: what is below something that loads is hidden for a moment longer."""
    expect(page.locator("main")).to_be_visible()
    expect(page.locator("[role=status][aria-label^=Loading]")).to_have_count(0)
    expect(page.locator("main#main:not([data-settled])")).to_have_count(0)
