"""Everything that serves requests: DNS servers and TCP servers, each with the process that listens."""

from __future__ import annotations

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT
from sqlalchemy.orm import Session

from jitterscope.inventory.store.tree import COLUMNS, SEEN_SLACK_US, as_resource
from jitterscope.inventory.types import ResourceKind, Server

KINDS: tuple[ResourceKind, ...] = ("dns_server", "tcp_server")

# A DNS server's parent is its process if that is known; a TCP server's is its cgroup, and a fact names its process. A
# server's containers are at most its process, that process's cgroup, and the node: the text is searched in their names.
_FIND = text(
    f"""
    SELECT {", ".join("s." + column for column in COLUMNS.split(", "))}, count(*) OVER () AS found,
           CASE p.kind WHEN 'process' THEN p.id ELSE listening.id END AS process_id
      FROM resources s
      LEFT JOIN resources p ON p.id = s.parent_id
      LEFT JOIN resources g ON g.id = p.parent_id
      LEFT JOIN resources n ON n.id = s.node_id
      LEFT JOIN LATERAL (
          SELECT value FROM facts WHERE resource_id = s.id AND facts.name = 'tcp.process'
           ORDER BY since_us DESC LIMIT 1
      ) AS fact ON true
      LEFT JOIN resources listening
        ON listening.node_id = s.node_id AND listening.kind = 'process' AND listening.key = fact.value
     WHERE s.kind = ANY(:kinds)
       AND s.last_seen_at >= to_timestamp(:from_us / 1e6) AND s.first_seen_at < to_timestamp(:to_us / 1e6)
       AND (CAST(:text AS text) = '' OR strpos(lower(concat_ws(' ', s.name, s.key, p.name, g.name, n.name)),
                                               lower(:text)) > 0)
     ORDER BY s.last_seen_at DESC, s.id LIMIT :limit
    """  # noqa: S608
).bindparams(bindparam("kinds", type_=ARRAY(TEXT)))


_SEEN = text(
    """
    SELECT s.id FROM resources s LEFT JOIN resources p ON p.id = s.parent_id
     WHERE s.kind = ANY(:kinds) AND s.last_seen_at >= to_timestamp(:after_us / 1e6)
       AND (CAST(:fact AS text) IS NULL OR EXISTS (
            SELECT FROM facts f WHERE f.resource_id IN (p.id, p.parent_id) AND f.name = :fact))
     ORDER BY s.last_seen_at DESC, s.id LIMIT 1000
    """
).bindparams(bindparam("kinds", type_=ARRAY(TEXT)))


def find(session: Session, containing: str, from_us: int, to_us: int, limit: int) -> tuple[list[Server], int]:
    """Servers seen in a window whose name, container, process, or node contains a text, and the total number.

    The last seen come first. The total is not limited by `limit`.
    """
    wanted = {
        "kinds": list(KINDS), "text": containing, "limit": limit,
        "from_us": from_us - SEEN_SLACK_US, "to_us": to_us + SEEN_SLACK_US,
    }  # fmt: skip
    rows = session.execute(_FIND, wanted).all()
    return [Server(as_resource(row), row.process_id) for row in rows], rows[0].found if rows else 0


def seen(session: Session, after_us: int, fact: str | None) -> list[int]:
    """Ids of servers seen after a time; `fact`: only those whose parent or grandparent has it."""
    return list(session.execute(_SEEN, {"kinds": list(KINDS), "after_us": after_us, "fact": fact}).scalars())
