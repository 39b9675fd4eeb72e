"""Reads documents with columns the way docs/pictures.md describes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def unpack(content: bytes) -> Any:
    """The document, with lists where it has columns."""
    head_bytes = int.from_bytes(content[:4], "little")
    rest = memoryview(content)[4 + head_bytes :]

    def walk(part: Any) -> Any:
        nonlocal rest
        if isinstance(part, list):
            return [walk(one) for one in part]
        if not isinstance(part, dict):
            return part
        if "column" not in part:
            return {name: walk(value) for name, value in part.items()}
        count, width, base, running = part["column"]
        planes = np.frombuffer(rest[: count * width], np.uint8).reshape(width, count).astype(np.int64)
        rest = rest[count * width :]
        coded = sum((plane << (8 * number) for number, plane in enumerate(planes)), np.zeros(count, np.int64))
        if not running:
            return (base + coded).tolist()
        return (base + np.cumsum((coded >> 1) ^ -(coded & 1))).tolist()

    document = walk(json.loads(content[4 : 4 + head_bytes]))
    assert len(rest) == 0, "bytes are left over"
    return document
