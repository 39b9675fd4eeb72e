"""How a DNS query ended: QueryResult of ingest.proto, as series, recordings and captures carry it."""

from __future__ import annotations

NOERROR, NXDOMAIN, SERVFAIL, REFUSED, TIMEOUT, OTHER = range(6)
