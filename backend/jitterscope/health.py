"""/healthz: the process is alive. /readyz: it can serve. /metrics for Prometheus has its own listener."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import psycopg
import structlog
from fastapi import APIRouter, Request, Response
from prometheus_client import start_http_server
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from jitterscope import cache, db, outages, proxies
from jitterscope.bounds import ALIVE, READY, bounded
from jitterscope.kit.declared import anyone
from jitterscope.settings import settings

log = structlog.get_logger(__name__)
_PROBE = "jitterscope:probe"
WITHOUT_VALKEY = (
    "Meanwhile diagnoses and notifications wait, live updates pause, limits of organizations are not counted, and each "
    "API process counts sign-in attempts by itself"
)
router = APIRouter(tags=["health"], dependencies=[anyone("probes have no credentials; no data of organizations")])


class Readiness(BaseModel):
    # Degraded: storing and reading data works, something else does not.
    status: Literal["ready", "degraded", "not_ready"]
    # By part of the service: "ok", or what is wrong with it.
    checks: dict[str, str]
    # What an operator should fix although the service can serve.
    warnings: list[str] | None = None


@router.get("/healthz", include_in_schema=False)
@bounded(ALIVE)
async def healthz() -> dict[str, str]:
    """Liveness: never touches the database, so that a slow database does not restart the API."""
    return {"status": "ok"}


@router.get("/readyz", include_in_schema=False, response_model_exclude_none=True)
@bounded(READY)
def readyz(request: Request, response: Response) -> Readiness:
    """Readiness: the database and its schema answer.

    Without Valkey, data is still ingested and read, and taking every API process out of service would lose that too.
    """
    serves, database = _database()
    checks = {"database": database, "valkey": _valkey()}
    response.status_code = 200 if serves else 503
    request.state.told = not serves  # the part that noticed has already logged it
    well = all(value == "ok" for value in checks.values())
    warnings = [f"{proxies.TITLE}. {proxies.DETAIL} {proxies.WHAT_TO_DO}"] if proxies.untrusted() else None
    status: Literal["ready", "degraded", "not_ready"] = "not_ready" if not serves else "ready" if well else "degraded"
    return Readiness(status=status, checks=checks, warnings=warnings)


@contextmanager
def metrics_served() -> Iterator[None]:
    """Serve /metrics of this process on JITTERSCOPE_METRICS_LISTEN: never on the port that users reach.

    Raises OSError if the address is taken, ValueError if it is invalid.
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


def _database() -> tuple[bool, str]:
    """Whether the database serves, and what is wrong: existing connections may work while it refuses new ones."""
    try:
        migrated = db.has_schema()
    except (SQLAlchemyError, psycopg.Error, RuntimeError) as error:
        part = outages.noticed(error)
        return False, outages.SILENT if part is None else part.why
    if not migrated:
        return False, "schema missing: run `jitterscope migrate`"
    return True, outages.database.why or "ok"


def _valkey() -> str:
    """Check Valkey with a write: a server that is full still answers pings."""
    try:
        cache.valkey().set(_PROBE, "1", ex=60)
        cache.worked()
    except (OSError, cache.ValkeyError) as error:
        part = cache.failed(error)
        return f"{part.why}. {WITHOUT_VALKEY}"
    return f"{outages.valkey.why}. {WITHOUT_VALKEY}" if outages.valkey.why else "ok"
