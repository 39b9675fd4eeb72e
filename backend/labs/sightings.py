"""What the product says while a lab still runs: an incident's first wording, before later findings changed it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labs.errors import LabError
from labs.product import Product
from labs.repeating import Repeating

_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Sighting:
    """A whole incident as the REST API returned it, at `at_us` (µs since the epoch)."""

    at_us: int
    incident: dict[str, Any]


class Sightings(Repeating):
    """Polls incidents of the subjects four times a second, and keeps what it sees."""

    def __init__(self, product: Product, subject_ids: Sequence[int], since_us: int) -> None:
        self._product, self._subjects, self._since_us = product, subject_ids, since_us
        super().__init__(_EVERY_S)
        self._seen: list[Sighting] = []
        self._versions: dict[int, str] = {}

    def before(self, until_us: int | None) -> list[Sighting]:
        """Those before that time, or all of them, by time."""
        return [one for one in self._seen if until_us is None or one.at_us < until_us]

    def look(self, late_us: int) -> None:
        """Poll once."""
        for subject in self._subjects:
            try:
                self._ask(subject)
            except LabError:
                continue  # the product is briefly busy; whether it answers at all is checked at the end

    def _ask(self, subject: int) -> None:
        for line in self._product.incidents(subject, self._since_us):
            version = f"{line['last_seen_at']} {line['occurrences']}"
            if self._versions.get(line["id"]) != version:
                whole = self._product.incident(int(line["id"]))
                self._versions[line["id"]] = version
                self._seen.append(Sighting(time.time_ns() // 1000, whole))
