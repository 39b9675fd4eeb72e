"""Sets Corefile plugins and their options in text: standalone or in a ConfigMap, with comments kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from yaml.nodes import MappingNode, Node, ScalarNode

from jitterscope.diagnosis.core.finding import CorefileChange, PluginChange
from jitterscope.pulls.files import yaml_nodes as nodes
from jitterscope.pulls.files.errors import CannotChange

_ANOTHER_FILE = "Name the file that has the Corefile in the repository's settings."


@dataclass(frozen=True, slots=True)
class _Line:
    """A line's words without its comment, and how many braces are open before it."""

    words: tuple[str, ...]
    depth: int


def change_corefile(text: str, change: CorefileChange | PluginChange) -> str:
    """Apply a change to a Corefile, or to the YAML of a ConfigMap with one. Raises CannotChange."""
    if not _is_yaml(text):
        return _changed(text, change)
    for key, value in reversed(_corefiles(nodes.parse(text))):
        if value.style != "|":
            raise CannotChange(f"{key} is not a text block (|) in this file.", "Write it as one first.")
        start, end = value.start_mark.index, value.end_mark.index
        head, _, body = text[start:end].partition("\n")
        text = text[:start] + f"{head}\n{_changed(body, change)}" + text[end:]
    after = _corefiles(nodes.parse(text))
    if not after:
        raise CannotChange("The file has no ConfigMap with a Corefile.", _ANOTHER_FILE)
    return text


def _is_yaml(text: str) -> bool:
    return re.search(r"^kind:[ \t]*\S", text, re.MULTILINE) is not None


def _corefiles(documents: list[Node]) -> list[tuple[str, ScalarNode]]:
    found = []
    for document in documents:
        data = nodes.find(document, ("data",))
        if nodes.text_at(document, "kind") == "ConfigMap" and not data.missing and isinstance(data.node, MappingNode):
            found += [
                (key.value, value)
                for key, value in data.node.value
                if isinstance(value, ScalarNode) and key.value.startswith("Corefile")
            ]
    if not found:
        raise CannotChange("The file has no ConfigMap with a Corefile.", _ANOTHER_FILE)
    return found


def _changed(text: str, change: CorefileChange | PluginChange) -> str:
    lines = text.splitlines(keepends=True)
    parsed = _parsed(lines)
    if isinstance(change, PluginChange):
        heads = [_head(parsed, keys) for keys in change.blocks]
        for head in sorted(heads, reverse=True):
            lines = _with_plugin(lines, parsed, head, change.text)
        return "".join(lines)
    places = [n for n, line in enumerate(parsed) if line.depth == 1 and line.words[:1] == (change.plugin,)]
    if not places:
        raise CannotChange(f"The Corefile does not use the plugin {change.plugin}.", _ANOTHER_FILE)
    if change.only_with is not None:
        places = [place for place in places if _sets(parsed, place, change.only_with)]
    for place in reversed(places):
        lines = _in_plugin(lines, parsed, place, change)
    return "".join(lines)


def _head(parsed: list[_Line], keys: list[str]) -> int:
    """The line where the server block of these keys begins."""
    for number, line in enumerate(parsed):
        found = [key for word in line.words[:-1] for key in word.split(",") if key]
        if line.depth == 0 and line.words[-1:] == ("{",) and found == keys:
            return number
    raise CannotChange(f"The Corefile has no server block {', '.join(keys)}.", _ANOTHER_FILE)


def _with_plugin(lines: list[str], parsed: list[_Line], head: int, text: str) -> list[str]:
    """Put the plugin in a server block: in place of the one of that name, otherwise first."""
    close = _close(parsed, head)
    inside = [n for n in range(head + 1, close) if parsed[n].depth == 1 and parsed[n].words]
    indent = _indent(lines[inside[0]]) if inside else "    "
    end = "\r\n" if lines[head].endswith("\r\n") else "\n"
    step = "\t" if "\t" in indent else "    "
    new = [f"{indent}{line.replace('    ', step)}{end}" for line in text.splitlines()]
    old = [n for n in inside if parsed[n].words[0] == text.split(None, 1)[0]]
    gone = {n for place in old for n in range(place, _last(parsed, place) + 1)}
    at = old[0] if old else head + 1
    kept = [[] if n in gone else [line] for n, line in enumerate(lines)]
    return [line for n, one in enumerate(kept) for line in ([*new, *one] if n == at else one)]


def _last(parsed: list[_Line], place: int) -> int:
    """The last line of a plugin."""
    return _close(parsed, place) if parsed[place].words[-1:] == ("{",) else place


def _close(parsed: list[_Line], place: int) -> int:
    """The line that closes the brace at the end of another line."""
    depth = parsed[place].depth + 1
    return next(n for n in range(place + 1, len(parsed)) if parsed[n].depth == depth and parsed[n].words[:1] == ("}",))


def _sets(parsed: list[_Line], place: int, option: str) -> bool:
    return any(parsed[n].words[:1] == (option,) for n in range(place + 1, _last(parsed, place)))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _in_plugin(lines: list[str], parsed: list[_Line], place: int, change: CorefileChange) -> list[str]:
    end = "\r\n" if lines[place].endswith("\r\n") else "\n"
    indent = _indent(lines[place])
    wanted = {name: value for name, value in change.options.items() if value is not None}
    if parsed[place].words[-1:] != ("{",):
        if not wanted:
            return lines
        step = "\t" if "\t" in indent else "    "
        code, comment = _split(lines[place].rstrip("\r\n"))
        block = [f"{code.rstrip()} {{{comment}{end}"]
        block += [f"{indent}{step}{name} {value}".rstrip() + end for name, value in wanted.items()]
        return [*lines[:place], *block, f"{indent}}}{end}", *lines[place + 1 :]]
    close = _close(parsed, place)
    inside = [n for n in range(place + 1, close) if parsed[n].depth == 2 and parsed[n].words]
    first = lines[inside[0]] if inside else None
    inner = _indent(first) if first is not None else indent + "    "
    new: list[str] = []
    for number in range(place + 1, close):
        name = parsed[number].words[0] if number in inside else None
        if name not in change.options:
            new.append(lines[number])
        elif name in wanted:
            _, comment = _split(lines[number].rstrip("\r\n"))
            new.append(f"{inner}{name} {wanted.pop(name)}".rstrip() + comment + end)
    new += [f"{inner}{name} {value}".rstrip() + end for name, value in wanted.items()]
    return [*lines[: place + 1], *new, *lines[close:]]


def _parsed(lines: list[str]) -> list[_Line]:
    depth, found = 0, []
    for number, line in enumerate(lines):
        words = tuple(_split(line)[0].split())
        if words[:1] == ("}",):
            found.append(_Line(words, depth))
            depth -= 1
        else:
            found.append(_Line(words, depth))
            depth += words[-1:] == ("{",)
        if depth < 0 or any(one in ("{", "}") for one in words[1:-1]):
            raise CannotChange(
                f"Line {number + 1} of the Corefile cannot be read.", "Put each brace at the end of a line."
            )
    if depth:
        raise CannotChange("The Corefile has a brace that is not closed.", "Close it first.")
    return found


def _split(line: str) -> tuple[str, str]:
    """The code and the comment with the space before it. A # inside a word does not start one."""
    found = re.search(r"(^|\s+)#", line)
    return (line, "") if found is None else (line[: found.start()], line[found.start() :].rstrip("\r\n"))
