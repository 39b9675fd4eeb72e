"""How a page looks: it fits its window and cuts no text off; JITTERSCOPE_SCREENSHOTS=DIR keeps the screenshots."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as NotInTime

from tests.e2e.axe import Scheme, in_both_themes, settle, switch, violations
from tests.e2e.widths import REDRAWN_MS, too_wide

# Where screenshots are kept; None: nowhere.
FOLDER = Path(os.environ["JITTERSCOPE_SCREENSHOTS"]) if "JITTERSCOPE_SCREENSHOTS" in os.environ else None

# Text wider than its box, unless a scroll bar or an ellipsis is meant to handle it.
_CUT_OFF = """() => [...document.querySelectorAll("body *")].filter((node) => {
  if (node.closest("svg, canvas, .visually-hidden, [aria-hidden=true]")) return false;
  const own = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim() !== "");
  if (!own || !node.checkVisibility({visibilityProperty: true}) || node.clientWidth <= 1) return false;
  const style = getComputedStyle(node);
  if (style.textOverflow === "ellipsis" || ["auto", "scroll"].includes(style.overflowX)) return false;
  return node.scrollWidth > node.clientWidth + 1;
}).map((node) => `${node.tagName} ${node.scrollWidth} px in ${node.clientWidth}: ${node.textContent.slice(0, 80)}`)"""


# Fonts are there, what moves has arrived, and two more frames are drawn.
_DRAWN = """async () => {
  await document.fonts.ready;
  const passing = document.getAnimations().filter(({timeline, effect}) =>
    timeline instanceof DocumentTimeline && effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(passing.map(({finished}) => finished));
  for (let i = 0; i < 2; i += 1) await new Promise(requestAnimationFrame);
}"""
# Canvases are drawn after the text around them, which only a picture shows.
_FOR_A_PICTURE_MS = 600


def cut_off(page: Page) -> list[str]:
    """What text is cut off, and by how much."""
    try:
        page.wait_for_function(f"() => ({_CUT_OFF})().length === 0", timeout=REDRAWN_MS)
    except NotInTime:
        return [f"cuts off: {one}" for one in page.evaluate(_CUT_OFF)]
    return []


def keep(page: Page, name: str, *, whole: bool = False) -> None:
    """A screenshot, if they are wanted."""
    if FOLDER is not None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=FOLDER / f"{name}.png", full_page=whole)


def look_at(page: Page, name: str) -> None:
    """Like `Look.at`, for pages outside of the shell; and what axe finds."""
    page.evaluate("document.fonts.ready")
    found = too_wide(page) + cut_off(page) + violations(page)
    assert found == [], f"{name}: {found}"
    keep(page, name, whole=True)


def settled(page: Page) -> None:
    """All content has arrived and is in its place."""
    settle(page)
    expect(page.get_by_text("live", exact=True).first).to_be_attached()
    page.evaluate(_DRAWN)
    if FOLDER is not None:
        page.wait_for_timeout(_FOR_A_PICTURE_MS)


def below_the_bar(page: Page, part: Locator, bar_px: int = 135) -> None:
    """Scrolls to a part, below the bar and the links to sections that stay on top."""
    part.evaluate("(node, bar) => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - bar)", bar_px)
    settled(page)


class Look:
    """A window of one size and theme; like every window of the tests it must log no console complaints.

    `narrower`: widths and heights that it also takes wherever it is checked. That costs less than another window.
    """

    def __init__(
        self, page: Page, size: str, scheme: Scheme, *, is_phone: bool, narrower: Sequence[tuple[int, int]] = ()
    ) -> None:
        self.page = page
        self.is_phone = is_phone
        self._size, self._scheme, self._narrower = size, scheme, narrower

    def windows(self) -> Iterator[None]:
        """The page in each of its sizes; it has its own again afterwards."""
        yield
        own = self.page.viewport_size
        assert own is not None
        for width, height in self._narrower:
            self.page.set_viewport_size({"width": width, "height": height})
            yield
        if self._narrower:
            self.page.set_viewport_size(own)

    def at(self, name: str) -> None:
        """Checks what the window shows once it is settled; `name` is its screenshot's."""
        for _ in self.windows():
            settled(self.page)
            found = too_wide(self.page) + cut_off(self.page)
            assert found == [], f"{name}, {self.page.viewport_size}: {found}"
        self.keep(name)

    def keep(self, name: str) -> None:
        keep(self.page, f"{name}-{self._size}-{self._scheme}")

    def violations(self) -> list[str]:
        """What axe finds in both themes; the window has its own again afterwards."""
        found: list[str] = []
        for _ in self.windows():
            found += in_both_themes(self.page)
            switch(self.page, self._scheme)
        return found
