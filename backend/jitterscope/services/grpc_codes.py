"""Status codes of gRPC: their names, and which of them mean that the server failed."""

from __future__ import annotations

# By code (gRPC, statuscodes.md).
CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
OK = 0
# As OpenTelemetry's semantic conventions for spans of gRPC servers; the collector counts by the same ones.
SERVER_ERRORS = frozenset(
    CODES.index(name)
    for name in ("UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
)
