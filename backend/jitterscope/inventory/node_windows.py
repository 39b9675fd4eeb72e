"""What a page about one node shows: the node, the window, and the other nodes it could show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.errors import not_found
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow


@dataclass(frozen=True, slots=True)
class NodeWindow:
    """[from_us, to_us) of a node, on the grid; None if there is no node to show."""

    from_us: int
    to_us: int
    node: ResourceRow | None
    nodes: tuple[ResourceRow, ...]


def shown(
    session: Session, span: tuple[int, int], node: ResourceRow | None, nodes: Sequence[ResourceRow]
) -> NodeWindow:
    """The window (µs) with nodes of one name told apart."""
    one = None if node is None else inventory.told_apart(session, [node])[0]
    return NodeWindow(*span, one, tuple(inventory.told_apart(session, nodes)))


def chosen(session: Session, node_id: int | None, nodes: Sequence[ResourceRow]) -> ResourceRow | None:
    """The node of resource `node_id`, otherwise the first of `nodes`. Raises Problem 404 if there is no such node."""
    if node_id is None:
        return nodes[0] if nodes else None
    named = inventory.resource(session, node_id)
    node = None if named is None else inventory.resource(session, named.node_id)
    if node is None or node.kind != "node":
        raise not_found("node", node_id)
    return node
