"""The ASGI application: every `<domain>/endpoints.py` under /api/v1, health and metrics, and the built UI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from jitterscope import __doc__ as description
from jitterscope import db, errors, health, ui
from jitterscope.http import RequestMiddleware
from jitterscope.kit.discovery import import_named
from jitterscope.logs import configure_logging
from jitterscope.settings import settings

PREFIX = "/api/v1"


def create_app() -> FastAPI:
    """Build the application. Give it to uvicorn with `--factory`."""
    configure_logging()
    app = FastAPI(
        title="Jitterscope",
        version="1",
        description=description or "",
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        generate_unique_id_function=_operation_id,
        responses={"default": {"model": errors.ProblemDocument, "description": "Any error: a problem document"}},
    )
    errors.install(app)
    app.include_router(health.router)
    for module in import_named("jitterscope", "endpoints"):
        router = getattr(module, "router", None)
        if isinstance(router, APIRouter):
            app.include_router(router, prefix=PREFIX)
    ui.mount(app, settings().frontend_dist)
    app.add_middleware(RequestMiddleware, hsts=settings().cookie_secure)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(_app: FastAPI) -> AsyncIterator[None]:
    yield
    db.dispose()


def _operation_id(route: APIRoute) -> str:
    """Stable names for generated clients: the endpoint function's name."""
    return route.name


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The schema, with errors under the media type that they really have."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for operations in schema["paths"].values():
            for operation in operations.values():
                content = operation["responses"].get("default", {}).get("content", {})
                if "application/json" in content:
                    content[errors.MEDIA_TYPE] = content.pop("application/json")
        app.openapi_schema = schema
    return app.openapi_schema
