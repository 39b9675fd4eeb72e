"""/healthz: the process lives. /readyz: it can serve. /metrics for Prometheus has a listener of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import structlog
from fastapi import APIRouter, Response
from prometheus_client import start_http_server
from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from jitterscope import cache, db, proxies
from jitterscope.bounds import OPEN, bounded
from jitterscope.kit.declared import anyone
from jitterscope.settings import settings

log = structlog.get_logger(__name__)
router = APIRouter(tags=["health"], dependencies=[anyone("probes have no credentials; no data of organizations")])


class Readiness(BaseModel):
    status: Literal["ready", "not_ready"]
    checks: dict[str, str]
    # What somebody should see to although the service can serve.
    warnings: list[str] | None = None


@router.get("/healthz", include_in_schema=False)
@bounded(OPEN)
async def healthz() -> dict[str, str]:
    """Liveness: never touches the database, so that a slow database does not restart the API."""
    return {"status": "ok"}


@router.get("/readyz", include_in_schema=False, response_model_exclude_none=True)
@bounded(OPEN)
def readyz(response: Response) -> Readiness:
    """Readiness: database, its schema, and Valkey answer."""
    checks = {"database": _database(), "valkey": _valkey()}
    ready = all(value == "ok" for value in checks.values())
    response.status_code = 200 if ready else 503
    warnings = [f"{proxies.TITLE}. {proxies.DETAIL} {proxies.WHAT_TO_DO}"] if proxies.untrusted() else None
    return Readiness(status="ready" if ready else "not_ready", checks=checks, warnings=warnings)


@contextmanager
def metrics_served() -> Iterator[None]:
    """Serve /metrics of this process where JITTERSCOPE_METRICS_LISTEN says: never on the port that users reach.

    Raises OSError where the address is taken, ValueError where it is none.
    """
    listen = settings().metrics_listen
    if not listen:
        yield
        return
    host, _, port = listen.rpartition(":")
    if not port.isdigit() or not host:
        raise ValueError(f"JITTERSCOPE_METRICS_LISTEN is {listen!r}, not HOST:PORT")
    server, thread = start_http_server(int(port), host.strip("[]"))
    log.info("metrics_listening", address=listen)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _database() -> str:
    try:
        with db.system_session() as session:
            migrated = session.execute(text("SELECT to_regclass('organizations') IS NOT NULL")).scalar_one()
        return "ok" if migrated else "schema missing: run `jitterscope migrate`"
    except (SQLAlchemyError, RuntimeError):
        return "does not answer"


def _valkey() -> str:
    try:
        cache.valkey().ping()
        return "ok"
    except (OSError, cache.ValkeyError):
        return "does not answer"
