"""How far a page's content moves while it loads, by the browser's own measurement, by page."""

from __future__ import annotations

from playwright.sync_api import Page

# Over a page's whole life, except for half a second after each input.
_WATCH = """
(() => {
  window.shifts = [];
  const name = ({node, previousRect: {y: before}, currentRect: {y: after}}) =>
    `${node?.nodeName} ${node?.className} ${node?.textContent.slice(0, 40)} from ${before} to ${after} px`;
  new PerformanceObserver((list) => {
    for (const {value, hadRecentInput, sources} of list.getEntries()) {
      if (!hadRecentInput) window.shifts.push([value, sources.map(name)]);
    }
  }).observe({type: 'layout-shift', buffered: true});
})()
"""
# Equals a hundredth of the screen moving by a tenth of it, which no eye follows. A line of words that the browser
# redraws in a font that has just loaded is below it.
UNSEEN = 0.001


def watch(page: Page) -> None:
    """From the next page that it opens on."""
    page.add_init_script(_WATCH)


def seen(page: Page) -> list[str]:
    """What moved since the page was opened; empty if nothing did."""
    found = page.evaluate("window.shifts")
    if sum(value for value, _ in found) < UNSEEN:
        return []
    return [f"{value:.4f}: {', '.join(map(str, names))}" for value, names in found]
