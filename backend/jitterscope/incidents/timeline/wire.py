"""Formats of a picture: JSON for users and programs, columns for the page, which must load fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Request, Response

from jitterscope.incidents.timeline.answers import thinned
from jitterscope.kit import columns
from jitterscope.kit.compressed import gzipped, packed, respond, takes_gzip

# For columns. Beyond it, single answers are left out, as beyond the budget: fast ones first.
MOST_BYTES = 450_000
_JSON = "application/json"


def documented(model: type) -> dict[int | str, dict[str, Any]]:
    """The 200 response of a route that answers with a picture."""
    binary = {
        "schema": {
            "type": "string",
            "format": "binary",
            "description": "The same document with its integer arrays as bytes, as the page requests it. "
            "docs/pictures.md describes the format. At most 450 kB: beyond that, fast answers are left out and counted "
            "in `truncated`.",
        }
    }
    return {200: {"model": model, "content": {columns.MEDIA_TYPE: binary}}}


def answer(request: Request, content: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """The content of schemas.TimelinePicture in the format that the request accepts."""
    if columns.MEDIA_TYPE not in request.headers.get("accept", ""):
        # Arrays are serialized directly (NaN becomes null); a model with 100,000 validated values would be slow.
        return respond(request, orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), _JSON, headers)
    body, small = fitting(content)
    if takes_gzip(request):
        return packed(small, columns.MEDIA_TYPE, headers)
    return Response(body, media_type=columns.MEDIA_TYPE, headers=headers)


def fitting(content: dict[str, Any], most_bytes: int = MOST_BYTES) -> tuple[bytes, bytes]:
    """The content as columns, plain and compressed, with as many single answers as fit."""
    while True:
        body = columns.pack(content)
        small = gzipped(body)
        dots = len(content["queries"]["t_us"])
        if len(small) <= most_bytes or not dots:
            return body, small
        keep = int(dots * 0.9 * most_bytes / len(small))
        content = {**content, "queries": thinned(content["queries"], keep, content["slow_threshold_us"])}
