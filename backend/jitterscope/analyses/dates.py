"""Dates as `date` prints them."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
# "Wed Oct 11 14:50:57 UTC 2023" (C locale), "Wed Oct 11 02:50:57 PM UTC 2023" and "Wed 11 Oct 2023 02:50:57 PM UTC".
_C = re.compile(
    r"\w{3} (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<clock>[\d:]{8})(?P<half> [AP]M)? "
    r"(?P<zone>\S+) (?P<year>\d{4})"
)
_EN = re.compile(
    r"\w{3} (?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) (?P<clock>[\d:]{8})(?P<half> [AP]M)? "
    r"(?P<zone>\S+)"
)
_OFFSETS_H = {"UTC": 0, "GMT": 0, "Z": 0, "CET": 1, "CEST": 2, "BST": 1, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5,
              "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "JST": 9}  # fmt: skip


def parse_date(text: str) -> int | None:
    """µs since the epoch of `date`, `date -Is`, or RFC 3339 output; else None. An unknown zone counts as UTC."""
    text = text.strip()
    match = _C.fullmatch(text) or _EN.fullmatch(text)
    if match is None:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            return None
        return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1e6)
    try:
        hour, minute, second = map(int, match["clock"].split(":"))
        if match["half"]:
            hour = hour % 12 + (12 if match["half"].strip() == "PM" else 0)
        moment = datetime(
            int(match["year"]), _MONTHS[match["month"]], int(match["day"]), hour, minute, second, tzinfo=UTC
        )
    except (ValueError, KeyError):
        return None
    zone = match["zone"]
    offset_h = int(zone) if re.fullmatch(r"[+-]\d\d", zone) else _OFFSETS_H.get(zone, 0)
    return round((moment.timestamp() - offset_h * 3600) * 1e6)
