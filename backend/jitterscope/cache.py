"""The process-wide Valkey client: locks, rate limits, debouncing, pub/sub. Nothing in it has to survive."""

from __future__ import annotations

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from jitterscope import outages
from jitterscope.settings import settings

ValkeyError = RedisError

_clients: dict[str, redis.Redis] = {}


def valkey() -> redis.Redis:
    """A pooled client; safe across threads. Values come back as text."""
    url = settings().valkey_url
    client = _clients.get(url)
    if client is None:
        client = _clients[url] = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=5,
            socket_connect_timeout=2,
            health_check_interval=15,
            # The default waits for seconds between tries; a caller that can do without must not hang on an outage.
            retry=Retry(NoBackoff(), 1),
        )
    return client


def async_valkey() -> redis.asyncio.Redis:
    """A client of its own for one asynchronous subscriber; close it after use."""
    return redis.asyncio.Redis.from_url(settings().valkey_url, decode_responses=True, socket_connect_timeout=2)


def failed(error: BaseException) -> outages.Part:
    """A caller does without Valkey: the log has each outage once."""
    outages.valkey.failed(outages.valkey_reason(error) or outages.SILENT, error)
    return outages.valkey


def worked() -> None:
    """Valkey kept something."""
    outages.valkey.worked()
