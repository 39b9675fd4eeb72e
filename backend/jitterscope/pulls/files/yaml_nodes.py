"""YAML as nodes with their positions in the text, and as plain data for comparison.

Anchors, aliases, and merge keys are distinguished from what is written in place: changing an anchor changes everything
that uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from jitterscope.pulls.files.errors import CannotChange
from jitterscope.pulls.files.steps import Named, Scalar, Step

# Limits the cost of a hostile file: with aliases, a few lines can stand for millions of nodes.
_MOST_NODES = 200_000
_TAG = "tag:yaml.org,2002:"
_BY_HAND = "Change the file by hand, or use a new Kustomize patch file."


@dataclass(frozen=True, slots=True)
class Found:
    """A node at the end of a path, and how far the path goes: `missing` is the part that the file does not have."""

    node: Node
    missing: tuple[Step, ...]


def parse(text: str) -> list[Node]:
    """The non-empty documents of a file. Raises CannotChange if it is not plain YAML."""
    try:
        found = [node for node in yaml.compose_all(text, Loader=yaml.SafeLoader) if node is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise CannotChange(
            f"The file is not plain YAML{where}: {getattr(error, 'problem', None) or 'it cannot be read'}.",
            "Set the file with the chart's values." if "{{" in text else "Correct the file, or name another one.",
        ) from None
    except RecursionError:
        raise CannotChange("The file's YAML is nested too deeply.", _BY_HAND) from None
    return [node for node in found if not (isinstance(node, ScalarNode) and not node.value)]


def plain(nodes: list[Node]) -> list[Any]:
    """Dictionaries, lists, and (tag, text) of scalars. Raises CannotChange for more nodes than a person would write."""
    left = [_MOST_NODES]

    def walk(node: Node) -> Any:  # noqa: ANN401
        left[0] -= 1
        if left[0] < 0:
            raise CannotChange("The file's YAML has too many values.", _BY_HAND)
        if isinstance(node, MappingNode):
            return {walk(key) if isinstance(key, ScalarNode) else str(key): walk(value) for key, value in node.value}
        if isinstance(node, SequenceNode):
            return [walk(one) for one in node.value]
        return (node.tag, node.value)

    return [walk(node) for node in nodes]


def scalar(value: Scalar) -> tuple[str, str]:
    """A value in the form that `plain` uses."""
    return (_TAG + ("int" if isinstance(value, int) else "str"), str(value))


def key(name: str) -> tuple[str, str]:
    """A key in the form that `plain` uses: what YAML makes of the word written without quotes."""
    node = yaml.compose(f"{name}: 1", Loader=yaml.SafeLoader)
    assert isinstance(node, MappingNode)
    return (node.value[0][0].tag, name)


def child(node: Node, step: Step) -> Node | None:
    """The child written in place; None if the node does not have it.

    Raises CannotChange if the edit would change another place.
    """
    if isinstance(step, Named):
        return _entry(node, step)
    if not isinstance(node, MappingNode):
        return None
    found = [value for name, value in node.value if isinstance(name, ScalarNode) and name.value == step]
    if len(found) > 1:
        raise CannotChange(f"The file has the key {step!r} more than once in one place.", "Correct it first.")
    if not found:
        if any(isinstance(name, ScalarNode) and name.value == "<<" for name, _ in node.value):
            raise CannotChange(
                f"{step!r} might come from a YAML anchor (<<). Changing that would change its other uses too.",
                _BY_HAND,
            )
        return None
    return _in_place(node, found[0], step)


def _entry(node: Node, step: Named) -> Node | None:
    if not isinstance(node, SequenceNode):
        return None
    for one in node.value:
        name = child(one, "name") if isinstance(one, MappingNode) and _has(one, "name") else None
        if isinstance(name, ScalarNode) and name.value == step.name:
            return _in_place(node, one, step)
    return None


def _has(node: MappingNode, name: str) -> bool:
    return any(isinstance(one, ScalarNode) and one.value == name for one, _ in node.value)


def _in_place(parent: Node, node: Node, step: Step) -> Node:
    if not parent.start_mark.index <= node.start_mark.index <= parent.end_mark.index:
        raise CannotChange(f"{step} is a YAML alias (*). Changing it would change all uses of its anchor.", _BY_HAND)
    return node


def find(node: Node, path: tuple[Step, ...]) -> Found:
    """Follow the path as far as the file goes."""
    for number, step in enumerate(path):
        below = child(node, step)
        if below is None:
            return Found(node, path[number:])
        node = below
    return Found(node, ())


def text_at(node: Node, *path: Step) -> str | None:
    """The text of a scalar; None if there is none."""
    found = find(node, path)
    return found.node.value if not found.missing and isinstance(found.node, ScalarNode) else None


def is_flow(node: Node) -> bool:
    """Whether it is written in flow style ({…}, […]), not on separate lines."""
    return bool(getattr(node, "flow_style", False))


def is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == _TAG + "null"
