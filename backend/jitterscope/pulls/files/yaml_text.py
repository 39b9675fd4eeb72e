"""Sets values in YAML text in place: comments, quotes, indents, and all other lines stay byte for byte.

A file that is parsed and written again as a whole is easier to change, but comes back with other line breaks, quotes,
and indents, so reviewers cannot see the one line that matters. The result of each change is parsed again and compared
with the expected result.
"""

from __future__ import annotations

import copy
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from jitterscope.pulls.files import yaml_nodes as nodes
from jitterscope.pulls.files.errors import CannotChange
from jitterscope.pulls.files.steps import Named, Operation, Path, Scalar, Step, in_words

_BY_HAND = "Change the file by hand, or use a new Kustomize patch file."


def change(text: str, document: int, operation: Operation) -> str:
    """Set or delete one value in one document of the text. Raises CannotChange."""
    before = nodes.parse(text)
    expected = copy.deepcopy(nodes.plain(before))
    _expect(expected, document, operation)
    new = (
        _taken(text, before[document], operation.path)
        if operation.value is None
        else _set(text, before[document], operation)
    )
    try:
        after = nodes.plain(nodes.parse(new))
    except CannotChange:
        after = []
    if after != expected:
        raise CannotChange(f"{in_words(operation.path)} cannot be changed safely in this file.", _BY_HAND)
    return new


def block(value: dict[str, Any] | list[Any], indent: int, line_end: str = "\n") -> str:
    """Lines of YAML in block style, each indented."""
    text = yaml.safe_dump(value, default_flow_style=False, sort_keys=False, allow_unicode=True, width=10_000)
    return "".join(f"{' ' * indent}{line}{line_end}" for line in text.splitlines())


def last_line_end(text: str, node: Node) -> int:
    """The end of the last line of a node's own text, after its line break. What follows stays in place."""
    last = _last(node)
    end = (
        len(text[: last.end_mark.index].rstrip())
        if last.end_mark.index > last.start_mark.index
        else last.end_mark.index
    )
    found = text.find("\n", end)
    return len(text) if found < 0 else found + 1


def line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _set(text: str, document: Node, operation: Operation) -> str:
    assert operation.value is not None
    found = nodes.find(document, operation.path)
    if not found.missing:
        return _replaced(text, found.node, operation.value)
    if nodes.is_null(found.node):
        return _into_nothing(text, document, operation, found.missing)
    if isinstance(found.missing[0], Named) != isinstance(found.node, SequenceNode):
        raise CannotChange(f"{in_words(operation.path)} does not fit what the file has there.", _BY_HAND)
    content = _nested(found.missing, operation.value)
    if nodes.is_flow(found.node):
        return _into_flow(text, found.node, content)
    node, end = found.node, line_end(text)
    where = last_line_end(text, node)
    start = "" if text[:where].endswith("\n") else end
    return text[:where] + start + block(content, node.start_mark.column, end) + text[where:]


def _replaced(text: str, node: Node, value: Scalar) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, ScalarNode) or node.style in ("|", ">") or text[start : start + 1] in ("&", "!"):
        raise CannotChange("The value to change is not a plain scalar in this file.", _BY_HAND)
    if start == end:  # nothing after the colon
        return f"{text[:start]} {_written(value)}{text[end:]}"
    return text[:start] + _written(value, node.style) + text[end:]


def _written(value: Scalar, style: str | None = None) -> str:
    if isinstance(value, int):
        return str(value)
    if style == "'":
        return "'" + value.replace("'", "''") + "'"
    dumped = yaml.safe_dump(value, default_style=style, width=10_000, allow_unicode=True)
    text: str = dumped.removesuffix("\n").removesuffix("\n...")
    return (
        '"' + text[1:-1] + '"' if style is None and text[:1] == "'" and "\\" not in text and '"' not in text else text
    )


def _nested(path: tuple[Step, ...], value: Scalar) -> Any:  # noqa: ANN401
    content: Any = value
    for step in reversed(path):
        content = [{"name": step.name, **content}] if isinstance(step, Named) else {step: content}
    return content


def _into_flow(text: str, node: Node, content: Any) -> str:  # noqa: ANN401
    dumped = yaml.safe_dump(content, default_flow_style=True, sort_keys=False, width=10_000).strip()[1:-1]
    where = (
        node.value[-1][1].end_mark.index if isinstance(node, MappingNode) and node.value else node.start_mark.index + 1
    )
    if isinstance(node, SequenceNode) and node.value:
        where = node.value[-1].end_mark.index
    return text[:where] + (", " if node.value else "") + dumped + text[where:]


def _into_nothing(text: str, document: Node, operation: Operation, missing: tuple[Step, ...]) -> str:
    """Insert below a key that has no value yet."""
    assert operation.value is not None
    above = operation.path[: len(operation.path) - len(missing)]
    holder, empty = nodes.find(document, above[:-1]).node, nodes.find(document, above).node
    if nodes.is_flow(holder) or empty.start_mark.index != empty.end_mark.index:
        raise CannotChange(f"{in_words(above)} is null in this file.", "Give it a value first.")
    end = line_end(text)
    where = text.find("\n", empty.start_mark.index)
    where = len(text) if where < 0 else where + 1
    start = "" if text[:where].endswith("\n") else end
    content = block(_nested(missing, operation.value), holder.start_mark.column + 2, end)
    return text[:where] + start + content + text[where:]


def _taken(text: str, document: Node, path: Path) -> str:
    holder = nodes.find(document, path[:-1])
    found = nodes.find(document, path)
    if found.missing or holder.missing:
        raise CannotChange(f"The file does not have {in_words(path)}, which must be removed.", _BY_HAND)
    if nodes.is_flow(holder.node):
        raise CannotChange(f"{in_words(path)} is in a list or map in one line ([…] or {{…}}).", _BY_HAND)
    if len(holder.node.value) == 1:
        # The last entry of a list or map is deleted with its key.
        return _taken(text, document, path[:-1])
    if isinstance(holder.node, SequenceNode):
        start = text.rfind("-", 0, found.node.start_mark.index)
    else:
        start = next(name for name, value in holder.node.value if value is found.node).start_mark.index
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        raise CannotChange(f"{in_words(path)} does not begin a line of its own.", _BY_HAND)
    return text[:line] + text[last_line_end(text, found.node) :]


def _last(node: Node) -> Node:
    """The node whose text comes last; block mappings and lists end where the next token begins."""
    while isinstance(node, MappingNode | SequenceNode) and node.value and not nodes.is_flow(node):
        below = node.value[-1]
        below = below[1] if isinstance(node, MappingNode) else below
        if below.start_mark.index < node.start_mark.index:  # an alias: its own text is elsewhere
            raise CannotChange("The place to change ends in a YAML alias (*).", _BY_HAND)
        node = below
    return node


def _expect(data: list[Any], document: int, operation: Operation) -> None:
    """Apply the expected effect of the change to the data."""
    if operation.value is None:
        path, holder = operation.path, data[document]
        while len(found := _walk(holder, path[:-1])) == 1 and len(path) > 1:
            path = path[:-1]
        if isinstance(found, list) and isinstance(path[-1], Named):
            found[:] = [one for one in found if one.get(nodes.key("name"), ("", ""))[1] != path[-1].name]
        elif isinstance(found, dict) and not isinstance(path[-1], Named):
            found.pop(nodes.key(path[-1]), None)
        return
    here: Any = data[document]
    for number, step in enumerate(operation.path):
        last = number + 1 == len(operation.path)
        following = None if last else operation.path[number + 1]
        new: Any = nodes.scalar(operation.value) if last else [] if isinstance(following, Named) else {}
        if isinstance(step, Named):
            entry = next((one for one in here if one.get(nodes.key("name"), ("", ""))[1] == step.name), None)
            if entry is None:
                entry = {nodes.key("name"): nodes.scalar(step.name)}
                here.append(entry)
            here = entry
            continue
        name = nodes.key(step)
        if last or name not in here or not isinstance(here[name], dict | list):
            here[name] = new
        here = here[name]


def _walk(data: Any, path: Path) -> Any:  # noqa: ANN401
    for step in path:
        if isinstance(step, Named):
            data = next((one for one in data if one.get(nodes.key("name"), ("", ""))[1] == step.name), {})
        else:
            data = data.get(nodes.key(step), {}) if isinstance(data, dict) else {}
    return data
