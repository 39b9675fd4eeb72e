"""From request bytes to a parsed batch, without ever holding more than the limits allow."""

from __future__ import annotations

import zstandard
from fastapi import Request
from google.protobuf.message import DecodeError

from jitterscope.errors import Problem
from jitterscope.ingest import limits
from jitterscope.kit import protobuf_counts
from jitterscope.pb.ingest_pb2 import Batch

# The most history that a frame may require; the collectors' compressors stay far below.
_MAX_WINDOW_BYTES = 64 * 1024 * 1024


async def read_limited(request: Request, limit_bytes: int) -> bytes:
    """Read the body; raises Problem 413 as soon as it is known to exceed the limit."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit_bytes:
        raise _too_large(limit_bytes, "compressed")
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit_bytes:
            raise _too_large(limit_bytes, "compressed")
        chunks.append(chunk)
    return b"".join(chunks)


def decompress(body: bytes, limit_bytes: int) -> bytes:
    """Unpack the one zstd frame in `body`. Raises Problem 400 if it is not one, 413 if it unpacks to too much."""
    if not body:
        raise malformed("the body is empty")
    try:
        promised = zstandard.frame_content_size(body)
        if promised > limit_bytes:
            raise _too_large(limit_bytes, "decompressed")
        decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
        # If the frame does not state its size, the output buffer is the limit; memory is touched only as it fills.
        return decompressor.decompress(body, max_output_size=limit_bytes, allow_extra_data=False)
    except zstandard.ZstdError as error:
        if "too small" in str(error):
            raise _too_large(limit_bytes, "decompressed") from None
        raise malformed(f"it is not one complete zstd frame ({error})") from None


def parse(content: bytes) -> Batch:
    """Parse the protobuf message. Raises Problem 400 if it has too much of anything or is not an ingest.v1.Batch."""
    try:
        protobuf_counts.check(content, limits.COUNTED)
        return Batch.FromString(content)
    except protobuf_counts.TooMany as error:
        raise malformed(str(error)) from None
    except (DecodeError, ValueError, RecursionError) as error:
        raise malformed(f"it is not an ingest.v1.Batch ({error})") from None


def malformed(why: str) -> Problem:
    """400 for a batch that violates the contract; resending it is pointless."""
    return Problem(
        400,
        "malformed-batch",
        "Malformed batch",
        f"The batch was rejected: {why}. Nothing of it was stored.",
        "Do not send it again. contracts/ingest/v1/ingest.proto describes the format; update the collector.",
    )


def _too_large(limit_bytes: int, what: str) -> Problem:
    return Problem(
        413,
        "batch-too-large",
        "Batch too large",
        f"A batch can have at most {limit_bytes} bytes {what}.",
        "Send smaller batches: fewer ticks or fewer series in one request.",
    )
