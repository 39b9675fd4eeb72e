"""How a page uses the width of its window."""

from __future__ import annotations

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as NotInTime

TABLET, ULTRAWIDE = (1024, 768), (3440, 1440)
# Of the window's width, on a page with a table or a picture.
USED = 0.75
# Of the window as it was opened: on a phone, `innerWidth` grows with what does not fit.
_FITS = "(width) => document.documentElement.scrollWidth <= width"
# What reaches furthest to the right, unless it scrolls in a box of its own.
_WIDEST = """(width) => [...document.querySelectorAll("body *")].filter((node) => {
  if (node.getBoundingClientRect().right <= width || node.children.length > 0) return false;
  for (let box = node; box !== document.body; box = box.parentElement)
    if (getComputedStyle(box).overflowX !== "visible") return false;
  return true;
}).slice(0, 3).map((node) => `${node.tagName} ${node.textContent.slice(0, 80)}`)"""
_USES = """(least) => {
  const boxes = [...document.querySelectorAll(":is(main table, main [role=application], main figure):not(form *)")]
    .map((node) => node.getBoundingClientRect()).filter(({width}) => width > 1);
  const used = Math.max(...boxes.map(({right}) => right)) - Math.min(...boxes.map(({left}) => left));
  return boxes.length === 0 || used >= least * innerWidth;
}"""
# A page is laid out and drawn again in its new width a moment after the window has it; later beside other tests.
REDRAWN_MS = 15_000


def too_wide(page: Page) -> list[str]:
    """Whether the page scrolls sideways."""
    assert page.viewport_size is not None
    width = page.viewport_size["width"]
    try:
        page.wait_for_function(_FITS, arg=width, timeout=REDRAWN_MS)
    except NotInTime:
        reached = page.evaluate("() => document.documentElement.scrollWidth")
        return [f"scrolls sideways: {reached} px of {width}: {page.evaluate(_WIDEST, width)}"]
    return []


def unused(page: Page) -> list[str]:
    """Whether tables and pictures leave much of the window empty."""
    try:
        page.wait_for_function(_USES, arg=USED, timeout=REDRAWN_MS)
    except NotInTime:
        return [f"tables and pictures use less than {100 * USED:.0f} % of the width"]
    return []


def in_other_windows(page: Page) -> list[str]:
    """The same page in a small and an ultrawide window; leaves the window as it was."""
    before = page.viewport_size
    found: list[str] = []
    for width, height in (TABLET, ULTRAWIDE):
        page.set_viewport_size({"width": width, "height": height})
        problems = too_wide(page) + (unused(page) if (width, height) == ULTRAWIDE else [])
        found += [f"{width}x{height}: {one}" for one in problems]
    if before is not None:
        page.set_viewport_size(before)
    return found
