"""The queries that a stub resolver sends for a name, by resolv.conf's search list and ndots, for glibc, Go, and musl.

Sources: resolv.conf(5) (`search`, `ndots`); Go net/dnsclient_unix.go nameList, which does the same; musl
src/network/lookup_name.c name_from_dns_search: a name with `ndots` dots or more is never searched.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

# The default of resolv.conf(5) if the file does not set it.
DEFAULT_NDOTS = 1
DEFAULT_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ResolvConf:
    """The parts that decide how many queries a lookup takes. `search` is in order, without trailing dots."""

    nameservers: tuple[str, ...]
    search: tuple[str, ...]
    ndots: int
    timeout_s: float = DEFAULT_TIMEOUT_S


def parse(text: str | None) -> ResolvConf | None:
    """The fact `dns.resolv_conf`; None if it is absent or unreadable."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    ndots = value.get("ndots", DEFAULT_NDOTS)
    return ResolvConf(
        _strings(value.get("nameservers")),
        tuple(normal(domain) for domain in _strings(value.get("search"))),
        ndots if isinstance(ndots, int) and ndots >= 0 else DEFAULT_NDOTS,
        _timeout_s(_strings(value.get("options"))),
    )


def _timeout_s(options: tuple[str, ...]) -> float:
    given = [option.partition(":")[2] for option in options if option.startswith("timeout:")]
    return float(given[-1]) if given and given[-1].isdecimal() else DEFAULT_TIMEOUT_S


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def dots(name: str) -> int:
    return normal(name).count(".")


def candidates(name: str, conf: ResolvConf) -> list[str]:
    """Names queried in order until one exists, as glibc and Go do, without trailing dots.

    A name ending in a dot: itself.
    """
    plain = normal(name)
    if name.endswith("."):
        return [plain]
    searched = [f"{plain}.{domain}" for domain in conf.search if domain != "."]
    return [plain, *searched] if dots(plain) >= conf.ndots else [*searched, plain]


def normal(name: str) -> str:
    """A name normalized for comparison: lower case, without the trailing dot; the root is "."."""
    return name.lower().rstrip(".") or "."
