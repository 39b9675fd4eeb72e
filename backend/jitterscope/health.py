"""/healthz: the process lives. /readyz: it can serve. /metrics: Prometheus."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from jitterscope import cache, db

router = APIRouter(tags=["health"])


class Readiness(BaseModel):
    status: Literal["ready", "not_ready"]
    checks: dict[str, str]


@router.get("/healthz", include_in_schema=False)
async def healthz() -> dict[str, str]:
    """Liveness: never touches the database, so that a slow database does not restart the API."""
    return {"status": "ok"}


@router.get("/readyz", include_in_schema=False)
def readyz(response: Response) -> Readiness:
    """Readiness: database, its schema, and Valkey answer."""
    checks = {"database": _database(), "valkey": _valkey()}
    ready = all(value == "ok" for value in checks.values())
    response.status_code = 200 if ready else 503
    return Readiness(status="ready" if ready else "not_ready", checks=checks)


@router.get("/metrics", include_in_schema=False)
def metrics() -> Response:
    """Metrics of this API process in the Prometheus text format."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


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
