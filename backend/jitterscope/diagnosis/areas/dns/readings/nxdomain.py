"""How many queries were answered NXDOMAIN: the first check, and the sign, of the causes about needless names."""

from __future__ import annotations

from dataclasses import dataclass

from jitterscope.diagnosis.core.signs import total
from jitterscope.diagnosis.core.snapshot import Snapshot

NEEDS = ("dns_queries", "dns_nxdomain")


@dataclass(frozen=True, slots=True)
class NxdomainCount:
    """Queries of the window, and those of them that were answered NXDOMAIN."""

    queries: float
    nxdomain: float

    def is_few(self, least: int, least_ratio: float) -> bool:
        return self.nxdomain < least or self.nxdomain < least_ratio * self.queries

    @property
    def too_few(self) -> str:
        return f"{self.nxdomain:,.0f} of {self.queries:,.0f} queries were for names that do not exist: too few."


def counted(snapshot: Snapshot) -> NxdomainCount:
    """The counts of all DNS servers of the subject; a narrow snapshot is enough."""
    return NxdomainCount(*(total(snapshot.dns_servers, name) for name in NEEDS))
