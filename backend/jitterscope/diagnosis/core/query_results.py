"""How a DNS query ended: QueryResult of ingest.proto, as series, recordings and captures carry it."""

from __future__ import annotations

from jitterscope.series import catalogue

NOERROR, NXDOMAIN, SERVFAIL, REFUSED, TIMEOUT, OTHER = range(6)
# A query without an answer for so long has timed out: collectors count it then, and forwarders and resolvers give up.
GIVEN_UP_US = catalogue.DNS_GIVEN_UP_US
