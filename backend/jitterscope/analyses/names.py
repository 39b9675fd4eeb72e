"""Queried names by client and result: a bounded table like the collector's."""

from __future__ import annotations

import json
from dataclasses import dataclass

from jitterscope.analyses.report import Table
from jitterscope.diagnosis.core.snapshot import Event

_MOST = 20_000
SHOWN = 30
_IN_EVENT = 200


@dataclass(slots=True)
class Asked:
    queries: int = 0
    nxdomain: int = 0
    servfail: int = 0
    latency_us: float = 0.0
    slowest_us: float = 0.0


class Names:
    """Counts by (client, name, type). Beyond 20,000 of them, new ones only count in the totals."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, str], Asked] = {}
        self.queries = self.nxdomain = self.servfail = self.unlisted = 0

    def add(self, client: str, name: str, type: str, result: str, latency_us: float) -> None:
        """Add one answered query; `latency_us` 0 if unknown."""
        self.queries += 1
        self.nxdomain += result == "NXDOMAIN"
        self.servfail += result == "SERVFAIL"
        key = (client, name.rstrip(".").lower() or ".", type)
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= _MOST:
                self.unlisted += 1
                return
            row = self._rows[key] = Asked()
        row.queries += 1
        row.nxdomain += result == "NXDOMAIN"
        row.servfail += result == "SERVFAIL"
        row.latency_us += latency_us
        row.slowest_us = max(row.slowest_us, latency_us)

    def by_name(self) -> list[tuple[str, Asked]]:
        """Names with all their clients and types together, most queried first."""
        merged: dict[str, Asked] = {}
        for (_, name, _), row in self._rows.items():
            whole = merged.setdefault(name, Asked())
            whole.queries += row.queries
            whole.nxdomain += row.nxdomain
            whole.servfail += row.servfail
            whole.latency_us += row.latency_us
            whole.slowest_us = max(whole.slowest_us, row.slowest_us)
        return sorted(merged.items(), key=lambda item: (-item[1].queries, item[0]))

    def table(self) -> Table:
        """The most queried names."""
        names = self.by_name()
        rows: list[list[str | float | None]] = [
            [
                name, float(row.queries), float(row.nxdomain), float(row.servfail),
                round(row.latency_us / row.queries / 1000, 3) if row.latency_us else None,
                round(row.slowest_us / 1000, 3) if row.latency_us else None,
            ]
            for name, row in names[:SHOWN]
        ]  # fmt: skip
        return Table(
            id="names",
            title="Most queried names",
            columns=["name", "queries", "NXDOMAIN", "SERVFAIL", "mean (ms)", "slowest (ms)"],
            rows=rows,
            left_out=max(0, len(names) - SHOWN),
        )

    def event(self, start_us: int, duration_us: int) -> Event:
        """The same as the collector's event dns.names, which the causes read (contracts/metrics.toml)."""
        rows = sorted(self._rows.items(), key=lambda item: (-item[1].queries, item[0]))[:_IN_EVENT]
        listed = [
            [client, name, type, row.queries, row.nxdomain, row.servfail, round(row.latency_us)]
            for (client, name, type), row in rows
        ]
        attributes = {
            "rows": json.dumps(listed),
            "queries": str(self.queries),
            "nxdomain": str(self.nxdomain),
            "names": str(len({name for _, name, _ in self._rows})),
        }
        return Event("dns.names", start_us, duration_us, attributes)
