"""RFC 9457 problem documents: the one shape of every error that leaves the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import psycopg
import psycopg.errors
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from sqlalchemy.exc import DataError, OperationalError
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from jitterscope import outages
from jitterscope.kit import allowance

log = structlog.get_logger(__name__)
MEDIA_TYPE = "application/problem+json"
# A part of the service is down: `outages` has already logged it.
UNAVAILABLE = "unavailable"


class ProblemDocument(BaseModel):
    """The body of every error response."""

    type: str = Field(description="urn:jitterscope:problem:SLUG, stable")
    title: str
    status: int
    detail: str
    what_to_do: str | None = None
    request_id: str | None = None
    errors: list[dict[str, Any]] | None = Field(default=None, description="One entry per invalid field")


class Problem(Exception):
    """Raise anywhere below an endpoint. `detail` says what failed and why, `what_to_do` how to continue."""

    def __init__(
        self,
        status: int,
        type: str,
        title: str,
        detail: str,
        what_to_do: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        errors: list[dict[str, Any]] | None = None,
        afterwards: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(f"{title}: {detail}")
        self.status, self.type, self.title, self.detail, self.what_to_do = status, type, title, detail, what_to_do
        self.headers = dict(headers or {})
        self.errors = errors
        # Called after the answer is sent, so that it does not delay it.
        self.afterwards = afterwards


class BodyRefused(HTTPException):
    """A request body is larger or slower than its route accepts.

    An HTTPException because FastAPI turns any other exception raised while it reads a body into a 400.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status)
        self.problem = problem


def not_found(what: str, identifier: object) -> Problem:
    """404 for something that does not exist or belongs to another organization: the two look the same."""
    return Problem(
        404,
        "not-found",
        f"{what} not found",
        f"There is no {what} {identifier} in this organization.",
        "Check the id. It might have been removed or belong to another organization.",
    )


def problem_response(problem: Problem, request_id: str | None) -> JSONResponse:
    """The HTTP response for a problem."""
    document = ProblemDocument(
        type=f"urn:jitterscope:problem:{problem.type}",
        title=problem.title,
        status=problem.status,
        detail=problem.detail,
        what_to_do=problem.what_to_do,
        request_id=request_id,
        errors=problem.errors,
    )
    return JSONResponse(
        document.model_dump(mode="json", exclude_none=True),
        status_code=problem.status,
        headers=problem.headers,
        media_type=MEDIA_TYPE,
        background=None if problem.afterwards is None else BackgroundTask(problem.afterwards),
    )


def problem_for(error: Exception) -> Problem:
    """The problem that an exception means to a client. Unexpected ones are logged in full and become a bare 500."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return _validation(error)
    if isinstance(error, BodyRefused):
        return error.problem
    if isinstance(error, HTTPException):
        return _http(error)
    if isinstance(error, allowance.TooMuch):
        return Problem(
            422,
            "too-much-data",
            "Too much data",
            f"The request would load more than {error.most_bytes // 1024**2} MiB at once.",
            "Choose a shorter window or fewer resources.",
        )
    if isinstance(error, allowance.TooLong) or isinstance(getattr(error, "orig", error), psycopg.errors.QueryCanceled):
        limit = f"{error.seconds:g} s" if isinstance(error, allowance.TooLong) else "its time limit"
        log.warning("took_too_long", error=str(error)[:300])
        return Problem(
            503,
            "took-too-long",
            "Took too long",
            f"The request did not finish within {limit}.",
            "Choose a shorter window or fewer resources, or try again when the service is less busy.",
            headers={"Retry-After": "10"},
        )
    if (part := outages.noticed(error)) is not None:
        return _unavailable(f"{part.title} {part.why}.")
    # psycopg's own errors: hot paths use the driver without SQLAlchemy.
    if isinstance(error, OperationalError | psycopg.OperationalError):
        log.warning("database_busy", error=str(getattr(error, "orig", None) or error)[:300])
        return _unavailable("PostgreSQL did not finish the request.")
    if isinstance(error, DataError | UnicodeEncodeError):
        # Valid in JSON but not storable: a NUL or half a surrogate pair in a text, a number beyond 64 bits.
        log.info("unstorable_value", error=type(error).__name__)
        return Problem(
            400,
            "unstorable-value",
            "Unstorable value",
            "A text contains a NUL character or half a surrogate pair, or a number is too large.",
            "Correct the value.",
        )
    log.error("unexpected_error", exc_info=error)
    return Problem(
        500,
        "internal",
        "Internal error",
        "The service hit an unexpected error and logged it.",
        "Try again. If it happens again, report it with the request_id.",
    )


def install(app: FastAPI, refused: Callable[[Request, Problem], Callable[[], object] | None]) -> None:
    """Register the handlers. Everything else reaches `problem_for` through the request middleware.

    `refused` returns what to call after a 403 is sent.
    """

    async def handle(request: Request, error: Exception) -> JSONResponse:
        problem = problem_for(error)
        if problem.status == 403 and problem.afterwards is None:
            problem.afterwards = refused(request, problem)
        return problem_response(problem, getattr(request.state, "request_id", None))

    for kind in (Problem, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)


def _unavailable(detail: str) -> Problem:
    return Problem(
        503,
        UNAVAILABLE,
        "Temporarily unavailable",
        detail,
        "Try again in a few seconds.",
        headers={"Retry-After": "2"},
    )


def _http(error: HTTPException) -> Problem:
    phrase = HTTPStatus(error.status_code).phrase
    return Problem(
        error.status_code,
        phrase.lower().replace(" ", "-"),
        phrase,
        str(error.detail),
        headers=error.headers,
    )


def _validation(error: RequestValidationError) -> Problem:
    # The input itself is not echoed: it may hold a password.
    fields = [
        {"location": ".".join(str(part) for part in item["loc"]), "message": item["msg"], "kind": item["type"]}
        for item in error.errors()
    ]
    summary = "; ".join(f"{field['location']}: {field['message']}" for field in fields[:3])
    return Problem(
        422,
        "invalid-request",
        "Invalid request",
        summary or "The request does not match its schema.",
        "Correct the named fields; /api/v1/openapi.json describes them.",
        errors=fields,
    )
