"""Corefiles of scenarios as the collector sends them: it uses CoreDNS's parser, this reads only plain ones."""

from __future__ import annotations

import json
import re


def corefile_facts(text: str) -> dict[str, str]:
    """The facts of a Corefile: its text and its parsed content."""
    blocks: list[dict[str, object]] = []
    plugins: list[dict[str, object]] = []
    options: list[list[str]] = []
    keys: list[str] = []
    depth = 0
    for line in text.splitlines():
        bare = re.sub(r"(^|\s)#.*", "", line)
        words = bare.replace(",", " ").split() if depth == 0 else bare.split()
        if not words:
            continue
        opens, closes = words[-1] == "{", words[0] == "}"
        body = words[:-1] if opens else words
        if closes:
            depth -= 1
            if depth == 0:
                blocks.append({"zones": keys, "plugins": plugins})
                plugins = []
            continue
        if depth == 0:
            keys = body
        elif depth == 1:
            options = []
            plugins.append({"name": body[0], "args": body[1:], "options": options})
        elif depth == 2:
            options.append(body)
        depth += opens
    return {"dns.corefile": text, "dns.corefile_parsed": json.dumps(blocks)}
