"""How far a page moves what is on the screen while it loads: the browser's own account, by page."""

from __future__ import annotations

from playwright.sync_api import Page

# Of a page's whole life, without what follows a hand within half a second.
_WATCH = """
(() => {
  window.shifts = [];
  const name = (node) => `${node?.nodeName} ${node?.className} ${node?.textContent.slice(0, 40)}`;
  new PerformanceObserver((list) => {
    for (const {value, hadRecentInput, sources} of list.getEntries()) {
      if (!hadRecentInput) window.shifts.push([value, sources.map(({node}) => name(node))]);
    }
  }).observe({type: 'layout-shift', buffered: true});
})()
"""
# What a hundredth of the screen moving by a tenth of it comes to: no eye follows that. A line of words that the browser
# writes anew in the font that has come is below it.
UNSEEN = 0.001


def watch(page: Page) -> None:
    """From the next page that it opens on."""
    page.add_init_script(_WATCH)


def seen(page: Page) -> list[str]:
    """What moved since the page was opened; empty where nothing did."""
    found = page.evaluate("window.shifts")
    if sum(value for value, _ in found) < UNSEEN:
        return []
    return [f"{value:.4f}: {', '.join(map(str, names))}" for value, names in found]
