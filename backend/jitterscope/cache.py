"""The process-wide Valkey client: locks, rate limits, debouncing, pub/sub. Nothing in Valkey has to survive."""

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
    """A pooled client, safe across threads. Values come back as text."""
    url = settings().valkey_url
    client = _clients.get(url)
    if client is None:
        client = _clients[url] = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=5,
            socket_connect_timeout=2,
            health_check_interval=15,
            # The default waits for seconds between tries; a caller that can work without Valkey must not hang on an
            # outage.
            retry=Retry(NoBackoff(), 1),
        )
    return client


def async_valkey() -> redis.asyncio.Redis:
    """A separate client for one asynchronous subscriber; close it after use."""
    return redis.asyncio.Redis.from_url(settings().valkey_url, decode_responses=True, socket_connect_timeout=2)


def failed(error: BaseException) -> outages.Part:
    """Record a failure that a caller works around; each outage is logged once."""
    outages.valkey.failed(outages.valkey_reason(error) or outages.SILENT, error)
    return outages.valkey


def worked() -> None:
    """Record that Valkey stored something."""
    outages.valkey.worked()
