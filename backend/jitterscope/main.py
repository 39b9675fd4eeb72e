"""The ASGI application: every `<domain>/endpoints.py` under /api/v1, health and metrics, and the built UI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import httpx
from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from jitterscope import __doc__ as description
from jitterscope import answers, bounds, db, errors, health, ui
from jitterscope.bounds import OPEN, bounded
from jitterscope.bulk import Bulk, Elsewhere
from jitterscope.draining import Draining, DrainingMiddleware
from jitterscope.errors import Problem
from jitterscope.http import RequestMiddleware
from jitterscope.kit import startup_objects
from jitterscope.kit.declared import anyone, route_table
from jitterscope.kit.discovery import import_named
from jitterscope.logs import configure_logging
from jitterscope.proxies import ClientAddressMiddleware
from jitterscope.settings import settings
from jitterscope.slots import Slots
from jitterscope.tenancy import refusals

PREFIX = "/api/v1"


def create_app() -> FastAPI:
    """Build the application. Run it with uvicorn's `--factory`."""
    configure_logging()
    app = FastAPI(
        dependencies=[Depends(bounds.enter_if_anonymous)],
        title="Jitterscope",
        version="1",
        description=description or "",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        generate_unique_id_function=_operation_id,
    )
    app.state.slots = Slots()
    app.state.bulk = Bulk() if settings().api_lane == "front" else None
    # The bulk lane ends with its parent.
    app.state.draining = Draining(0 if settings().api_lane == "bulk" else settings().drain_seconds)
    errors.install(app, refusals.afterwards)
    app.add_exception_handler(Elsewhere, _elsewhere)
    routers = list(_routers(app))
    app.state.route_table = route_table(routers)
    app.state.answers = answers.by_route(app.state.route_table)
    for prefix, router in routers:
        bounds.check(router)
        app.include_router(router, prefix=prefix)
    app.add_middleware(
        RequestMiddleware, hsts=settings().cookie_secure, request_ids_given=settings().api_lane == "bulk"
    )
    app.add_middleware(ClientAddressMiddleware, trusted=settings().trusted_proxies)
    app.add_middleware(DrainingMiddleware, draining=app.state.draining)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _routers(app: FastAPI) -> Iterator[tuple[str, APIRouter]]:
    yield "", health.router
    for module in import_named("jitterscope", "endpoints"):
        router = getattr(module, "router", None)
        if isinstance(router, APIRouter):
            yield PREFIX, router
    yield PREFIX, _description(app)
    # Last: it answers what no other route does.
    yield "", ui.router(settings().frontend_dist)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    if settings().api_lane != "bulk":  # which has few, of its own
        to_thread.current_default_thread_limiter().total_tokens = bounds.THREADS
    bulk: Bulk | None = app.state.bulk
    async with nullcontext() if bulk is None else bulk.running():
        with health.metrics_served(), app.state.draining.on_sigterm():
            startup_objects.freeze()
            yield
    db.dispose()


async def _elsewhere(request: Request, moved: Exception) -> Response:
    assert isinstance(moved, Elsewhere)
    bulk: Bulk = request.app.state.bulk
    try:
        return await bulk.answer(moved.request)
    except (httpx.TransportError, TimeoutError):
        ended = Problem(
            503, "busy", "Too busy", "The process that answers this organization's expensive requests is not running.",
            "Try again after the seconds in Retry-After.", headers={"Retry-After": "5"},
        )  # fmt: skip
        return errors.problem_response(ended, request.state.request_id)


def _description(app: FastAPI) -> APIRouter:
    router = APIRouter()

    @router.get("/openapi.json", include_in_schema=False, dependencies=[anyone("the contract holds no data")])
    @bounded(OPEN)
    def openapi() -> JSONResponse:
        return JSONResponse(app.openapi())

    return router


def _operation_id(route: APIRoute) -> str:
    """Stable names for generated clients: the endpoint function's name."""
    return route.name


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The schema, including the errors that follow from what each route declares."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        answers.describe(schema, app.state.route_table)
        app.openapi_schema = schema
    return app.openapi_schema
