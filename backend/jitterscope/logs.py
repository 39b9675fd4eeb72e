"""Structured logs on standard error: JSON lines for machines, text for people."""

from __future__ import annotations

import logging
import sys

import structlog

from jitterscope import outages
from jitterscope.settings import settings

# A line for each request, or for each of several tasks a second.
_NOISY = (
    "uvicorn.access", "httpx", "httpx2", "httpcore", "httpcore2",
    "celery.beat", "celery.worker.strategy", "celery.app.trace",
)  # fmt: skip
SECRET_KEYS = ("password", "token", "secret", "authorization", "cookie")


def configure_logging() -> None:
    """Set up structlog and route the standard library's loggers through it. Safe to call again."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _redact,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings().log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    tail: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if settings().log_format == "json":
        tail.append(structlog.processors.format_exc_info)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[*tail, renderer]))
    handler.addFilter(_not_an_outage)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings().log_level)
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _not_an_outage(record: logging.LogRecord) -> bool:
    """False for records about an outage: libraries log each failure with a traceback, every second while it lasts."""
    error = record.exc_info[1] if record.exc_info else None
    return error is None or not record.name.startswith(("kombu", "celery")) or outages.noticed(error) is None


def _redact(
    _logger: structlog.typing.WrappedLogger, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    for key in event:
        if any(secret in key.lower() for secret in SECRET_KEYS) and not key.endswith("_id"):
            event[key] = "[redacted]"
    return event
