"""Options of plugins in a Corefile, set in its text: alone, in a ConfigMap, and with comments kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from yaml.nodes import MappingNode, Node, ScalarNode

from jitterscope.diagnosis.core.finding import CorefileChange
from jitterscope.pulls.files import yaml_nodes as nodes
from jitterscope.pulls.files.errors import CannotChange

_ANOTHER_FILE = "Name the file that has the Corefile in the repository's settings."


@dataclass(frozen=True, slots=True)
class _Line:
    """A line's words without its comment, and how many braces are open before it."""

    words: tuple[str, ...]
    depth: int


def change_corefile(text: str, change: CorefileChange) -> str:
    """A Corefile, or the YAML of a ConfigMap with one, with the change in it. Raises CannotChange."""
    if not _is_yaml(text):
        return _changed(text, change)
    for key, value in reversed(_corefiles(nodes.parse(text))):
        if value.style != "|":
            raise CannotChange(f"{key} is no text block (|) in this file.", "Write it as one first.")
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


def _changed(text: str, change: CorefileChange) -> str:
    lines = text.splitlines(keepends=True)
    parsed = _parsed(lines)
    places = [n for n, line in enumerate(parsed) if line.depth == 1 and line.words[:1] == (change.plugin,)]
    if not places:
        raise CannotChange(f"The Corefile does not use the plugin {change.plugin}.", _ANOTHER_FILE)
    for place in reversed(places):
        lines = _in_plugin(lines, parsed, place, change)
    return "".join(lines)


def _in_plugin(lines: list[str], parsed: list[_Line], place: int, change: CorefileChange) -> list[str]:
    end = "\r\n" if lines[place].endswith("\r\n") else "\n"
    indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    wanted = {name: value for name, value in change.options.items() if value is not None}
    if parsed[place].words[-1:] != ("{",):
        if not wanted:
            return lines
        step = "\t" if "\t" in indent else "    "
        code, comment = _split(lines[place].rstrip("\r\n"))
        block = [f"{code.rstrip()} {{{comment}{end}"]
        block += [f"{indent}{step}{name} {value}{end}" for name, value in wanted.items()]
        return [*lines[:place], *block, f"{indent}}}{end}", *lines[place + 1 :]]
    close = next(n for n in range(place + 1, len(lines)) if parsed[n].depth == 2 and parsed[n].words[:1] == ("}",))
    inside = [n for n in range(place + 1, close) if parsed[n].depth == 2 and parsed[n].words]
    first = lines[inside[0]] if inside else None
    inner = first[: len(first) - len(first.lstrip())] if first is not None else indent + "    "
    new: list[str] = []
    for number in range(place + 1, close):
        name = parsed[number].words[0] if number in inside else None
        if name not in change.options:
            new.append(lines[number])
        elif name in wanted:
            _, comment = _split(lines[number].rstrip("\r\n"))
            new.append(f"{inner}{name} {wanted.pop(name)}{comment}{end}")
    new += [f"{inner}{name} {value}{end}" for name, value in wanted.items()]
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
    """The code and the comment, with the space before it. A # inside a word is none."""
    found = re.search(r"(^|\s+)#", line)
    return (line, "") if found is None else (line[: found.start()], line[found.start() :].rstrip("\r\n"))
