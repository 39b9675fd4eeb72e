"""The content of a Corefile, as far as fixes need it: its server blocks and the plugins in them.

The fact `dns.corefile_parsed` is the output of CoreDNS's own parser for the file
(coredns.io/manual/toc/#configuration).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from jitterscope.diagnosis.core.snapshot import ResourceView


@dataclass(frozen=True, slots=True)
class Plugin:
    """One directive: `arguments` of its line, `options` the lines of its own block."""

    name: str
    arguments: tuple[str, ...]
    options: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A server block: the zones and ports it is for, and its plugins."""

    keys: tuple[str, ...]
    plugins: tuple[Plugin, ...]

    def plugin(self, name: str) -> Plugin | None:
        return next((plugin for plugin in self.plugins if plugin.name == name), None)


def of(server: ResourceView) -> list[Block]:
    """Server blocks in order; empty if there is no Corefile, or CoreDNS cannot read it."""
    return parse(server.fact("dns.corefile_parsed"))


def parse(fact: str | None) -> list[Block]:
    """The fact `dns.corefile_parsed`; empty if it is absent or unreadable."""
    try:
        listed = json.loads(fact or "[]")
    except ValueError:
        return []
    return [_block(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _block(item: dict[str, object]) -> Block:
    listed = item.get("plugins")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return Block(
        _strings(item.get("zones")),
        tuple(
            Plugin(str(one.get("name", "")), _strings(one.get("args")), _options(one.get("options"))) for one in found
        ),
    )


def _options(value: object) -> tuple[tuple[str, ...], ...]:
    return tuple(words for one in value if (words := _strings(one))) if isinstance(value, list) else ()


def _strings(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def with_plugin(blocks: list[Block], name: str) -> list[Block]:
    return [block for block in blocks if block.plugin(name) is not None]
