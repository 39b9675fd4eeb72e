"""What a Corefile says, as far as fixes need it: server blocks and the plugins in them "
"(coredns.io/manual/toc/#configuration)."""

from __future__ import annotations

import re
from dataclasses import dataclass


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


def parse(text: str | None) -> list[Block]:
    """Server blocks in order; empty where there is no Corefile. What cannot be read is left out, nothing is raised."""
    blocks: list[Block] = []
    keys: tuple[str, ...] = ()
    plugins: list[Plugin] = []
    options: list[tuple[str, ...]] = []
    depth = 0
    for line in (text or "").splitlines():
        words = tuple(re.sub(r"(^|\s)#.*", "", line).replace(",", " ").split() if depth == 0 else _words(line))
        if not words:
            continue
        opens, closes = words[-1] == "{", words[0] == "}"
        body = words[:-1] if opens else words
        if closes:
            depth = max(0, depth - 1)
            if depth == 1 and plugins:
                plugins[-1] = Plugin(plugins[-1].name, plugins[-1].arguments, tuple(options))
                options = []
            elif depth == 0:
                blocks.append(Block(keys, tuple(plugins)))
                plugins, options = [], []
            continue
        if depth == 0 and opens:
            keys = body
        elif depth == 1 and body:
            plugins.append(Plugin(body[0], body[1:]))
        elif depth == 2 and body:
            options.append(body)
        depth += opens
    return blocks


def _words(line: str) -> list[str]:
    return re.sub(r"(^|\s)#.*", "", line).split()


def with_plugin(blocks: list[Block], name: str) -> list[Block]:
    return [block for block in blocks if block.plugin(name) is not None]
