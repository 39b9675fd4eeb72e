"""Settings that memory fixes change, from facts: how many queries can wait, caches, watermarks."""

from __future__ import annotations

import json
import math

from jitterscope.diagnosis.core.landing import Facts
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.programs import corefile

HIGH = "memory.high_bytes"


def limit_bytes(facts: Facts) -> float | None:
    """The memory limit, +inf: none; None if unknown."""
    value = number(facts.get("memory.limit_bytes"))
    return value if value is None or value > 0 else math.inf


def concurrency(facts: Facts) -> float | None:
    """max_concurrent summed over all forwarded zones; +inf if one has none, None if none is known."""
    by_zone: dict[str, float] = {}
    for block in corefile.parse(facts.get("dns.corefile_parsed")):
        if (plugin := block.plugin("forward")) is not None:
            caps = [option[1] for option in plugin.options if len(option) > 1 and option[0] == "max_concurrent"]
            by_zone[" ".join(block.keys)] = _cap(caps[-1] if caps else None)
    if not by_zone:
        for item in _listed(facts.get("dns.upstreams")):
            by_zone[str(item.get("zone", "."))] = _cap(item.get("max_concurrent"))
    return sum(by_zone.values()) if by_zone else None


def has_plugin(facts: Facts, name: str) -> bool:
    return bool(corefile.with_plugin(corefile.parse(facts.get("dns.corefile_parsed")), name))


def cache_capacity(facts: Facts) -> int | None:
    """The most answers that a CoreDNS cache can keep according to its Corefile; None if it is not set there."""
    sizes = [
        int(option[1])
        for block in corefile.parse(facts.get("dns.corefile_parsed"))
        if (plugin := block.plugin("cache")) is not None
        for option in plugin.options
        if len(option) > 1 and option[0] in ("success", "denial") and option[1].isdecimal()
    ]
    return max(sizes, default=None)


def watermark(facts: Facts, name: str) -> float | None:
    """`watermark_scale_factor` or `min_free_kbytes` of the node."""
    return _marks(facts.get("node.watermarks")).get(name)


def show_watermarks(text: str | None) -> str | None:
    """The two settings that determine the watermarks."""
    return ", ".join(f"vm.{name} {value:.0f}" for name, value in sorted(_marks(text).items())) or None


def show_upstreams(text: str | None) -> str | None:
    """ "10.0.0.2 max_concurrent 1000, 10.0.0.3"."""
    shown = []
    for item in _listed(text):
        cap = f" max_concurrent {item['max_concurrent']}" if "max_concurrent" in item else ""
        shown.append(f"{item.get('address', '?')}{cap}")
    return ", ".join(shown) or None


def _cap(value: object) -> float:
    cap = number(str(value))
    return cap if cap is not None and cap > 0 else math.inf


def _listed(text: str | None) -> list[dict[str, object]]:
    try:
        read = json.loads(text or "[]")
    except ValueError:
        return []
    return [item for item in read if isinstance(item, dict)] if isinstance(read, list) else []


def _marks(text: str | None) -> dict[str, float]:
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return {}
    found = {name: number(str(value)) for name, value in read.items()} if isinstance(read, dict) else {}
    return {name: value for name, value in found.items() if value is not None}
