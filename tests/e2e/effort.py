"""What a task costs its user, counted by listeners in the page: clicks, keys, filled fields, and addresses opened."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page

# In the session's storage, which outlives a page that the browser loads anew. Neither an element's listener nor the
# product can hide an event from a capturing listener of the window.
_WATCH = """
(() => {
  const kept = "effort";
  const note = (change) => {
    const spent = JSON.parse(sessionStorage.getItem(kept) ?? '{"clicks": 0, "keys": 0, "fields": [], "loads": 0}');
    change(spent);
    sessionStorage.setItem(kept, JSON.stringify(spent));
  };
  const isField = (node) => node instanceof Element && node.matches("input, select, textarea");
  const fill = ({target}) => {
    if (!isField(target)) return;
    const field = `${location.pathname}: ${target.labels?.[0]?.textContent.trim() ?? target.ariaLabel ?? target.name}`;
    note((spent) => { if (!spent.fields.includes(field)) spent.fields.push(field); });
  };
  addEventListener("pointerdown", (event) => { if (event.isTrusted) note((spent) => { spent.clicks += 1; }); }, true);
  addEventListener("keydown", (event) => {
    const alone = ["Shift", "Control", "Alt", "Meta"].includes(event.key);
    if (event.isTrusted && !alone && !isField(event.target)) note((spent) => { spent.keys += 1; });
  }, true);
  addEventListener("input", fill, true);
  addEventListener("change", fill, true);
  // Blank pages have no storage.
  if (location.protocol.startsWith("http")) note((spent) => { spent.loads += 1; });
})()
"""


@dataclass(frozen=True, slots=True)
class Effort:
    """`fields`: those with a new value. `loads`: pages opened by their address instead of by a link."""

    clicks: int = 0
    keys: int = 0
    fields: tuple[str, ...] = ()
    loads: int = 0


def watch(page: Page) -> None:
    """From the next page that it opens on."""
    page.add_init_script(_WATCH)


def forget(page: Page) -> None:
    """Count from here."""
    page.evaluate("sessionStorage.removeItem('effort')")


def spent(page: Page) -> Effort:
    found = page.evaluate("JSON.parse(sessionStorage.getItem('effort') ?? '{}')")
    return Effort(**{**found, "fields": tuple(found.get("fields", ()))})
