"""How a change of a setting is displayed: "CPU limit 0.5 → 1 CPU", "coredns v1.11.1 → v1.12.0"."""

from __future__ import annotations

NOT_SET = "not set"


def changed(title: str, old: str | None, new: str | None) -> str:
    """Title, old, and new; a unit that both share is written once."""
    before, after = old or NOT_SET, new or NOT_SET
    number, _, unit = before.partition(" ")
    other, _, same = after.partition(" ")
    if unit and unit == same and _is_number(number) and _is_number(other):
        before = number
    return f"{title} {before} → {after}"


def measured(value: str | None, unit: str) -> str | None:
    """A number with its unit; anything else stays as it is."""
    return f"{value} {unit}" if unit and value is not None and _is_number(value) else value


def versions(old: str | None, new: str | None, separator: str) -> str | None:
    """ "cart 1 → 2" for "shop/cart:1" and "shop/cart:2"; None if they are not two versions of the same thing."""
    (name, before), (other, after) = _parts(old, separator), _parts(new, separator)
    return f"{name.rpartition('/')[2]} {before} → {after}" if name == other and before and after else None


def _parts(value: str | None, separator: str) -> tuple[str, str]:
    name, found, version = (value or "").rpartition(separator)
    # A registry can have a port: "registry:5000/cart".
    return (name, version) if found and "/" not in version else (value or "", "")


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).isdecimal()
