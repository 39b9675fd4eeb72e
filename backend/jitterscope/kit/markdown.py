"""Markdown from untrusted text: names of pods, looked-up names, and notes read literally.

CommonMark with GitHub's tables and links: no text becomes a heading, an image, HTML, or a link.
"""

from __future__ import annotations

import re

# Characters with a meaning inside a line. An underscore between letters or digits has none.
_INLINE = re.compile(r"[\\`*<>\[\]|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|!(?=\[)")
# Text that becomes a link by itself: schemes, www., addresses. A backslash keeps the text and prevents the link.
_LINK = re.compile(r"(?<=:)//|(?<=[Ww][Ww][Ww])\.|@")
# Text that begins a block at the start of a line.
_BLOCK = re.compile(r"^(#(?=#{0,5}(?:\s|$))|[+-](?=\s|$)|-(?=-+\s*$)|=(?==*\s*$)|\d{1,9}(?=[.)](?:\s|$)))")
_CODE = re.compile(r"`([^`]+)`")


def escape(text: str) -> str:
    """Escape one line so that it reads literally. Text between backticks becomes code, as in texts of the rule base."""
    line = " ".join(text.split())
    parts = _CODE.split(line)
    found = "".join(code(part) if number % 2 else _plain(part) for number, part in enumerate(parts))
    return _BLOCK.sub(_unblocked, found)


def code(text: str) -> str:
    """A name as literal inline code."""
    line = " ".join(text.split())
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def fenced(text: str, language: str) -> str:
    """Lines as a literal code block."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def quoted(text: str) -> str:
    """Several lines that a user wrote, as a block quote."""
    lines = [escape(line) for line in text.splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _plain(text: str) -> str:
    escaped = _INLINE.sub(lambda found: f"\\{found[0]}", text)
    return _LINK.sub(lambda found: "".join(f"\\{one}" for one in found[0]), escaped)


def _unblocked(found: re.Match[str]) -> str:
    return f"{found[1]}\\" if found[1].isdigit() else f"\\{found[1]}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
