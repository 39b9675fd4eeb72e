"""Serves the built UI: hashed assets cached forever, index.html for every page of the single-page application."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

from jitterscope.bounds import FILES, bounded
from jitterscope.kit.compressed import takes_gzip
from jitterscope.kit.declared import anyone

# The page that a shared incident link opens: not indexed by search engines, and no referrer leaks to other sites.
_UNLISTED = "shared"
_UNLISTED_HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}
_NOT_BUILT = "<!doctype html><title>Jitterscope</title><p>The UI is not built yet: run <code>make build</code>.</p>"


def router(dist: Path) -> APIRouter:
    """The catch-all route. It must come last: it answers what no other route does."""
    routes = APIRouter()

    @routes.get("/{path:path}", include_in_schema=False, dependencies=[anyone("the UI's files hold no data")])
    @bounded(FILES)
    def page(request: Request, path: str) -> Response:
        if path.startswith("api/"):
            raise HTTPException(404, "There is no such API route.")
        root = dist.resolve()
        try:
            file = (root / path).resolve()
        except ValueError as error:  # a NUL in the path
            raise HTTPException(404, "There is no such file.") from error
        if path and file.is_relative_to(root) and file.is_file():
            forever = path.startswith("assets/")
            caching = "public, max-age=31536000, immutable" if forever else "no-cache"
            return _file(request, file, {"Cache-Control": caching})
        if path.startswith("assets/"):
            raise HTTPException(404, "There is no such file.")
        unlisted = _UNLISTED_HEADERS if path.strip("/") == _UNLISTED else {}
        index = root / "index.html"
        if not index.is_file():
            return HTMLResponse(_NOT_BUILT, status_code=503, headers=unlisted)
        return _file(request, index, {"Cache-Control": "no-cache", **unlisted})

    return routes


def _file(request: Request, file: Path, headers: dict[str, str]) -> Response:
    """The file, or the copy that the build compressed."""
    packed = file.with_name(f"{file.name}.gz")
    if not packed.is_file():
        return FileResponse(file, headers=headers)
    headers = {**headers, "Vary": "Accept-Encoding"}
    if not takes_gzip(request):
        return FileResponse(file, headers=headers)
    media_type = mimetypes.guess_type(file.name)[0]
    return FileResponse(packed, media_type=media_type, headers={**headers, "Content-Encoding": "gzip"})
