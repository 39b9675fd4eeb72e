"""Searches in the series of other systems, in the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Result, Row, Text, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, JSONB, TEXT
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import BindParameter

from jitterscope.series.external import SEEN_EVERY_S
from jitterscope.series.external_selection import Belonging, Selection


def kind_of(session: Session, name: str) -> str | None:
    """Counter or gauge; None if no series has the name."""
    statement = text("SELECT min(kind) FROM external_series WHERE name = :name")
    kind: str | None = session.execute(statement, {"name": name}).scalar_one()
    return kind


def received(session: Session) -> tuple[int, int]:
    """How many series, and how many names, had samples in the last two hours."""
    row = session.execute(
        text(
            "SELECT count(*) AS series, count(DISTINCT name) AS names FROM external_series "
            "WHERE last_seen_at > now() - interval '2 hours'"
        )
    ).one()
    return row.series, row.names


def values_of(session: Session, name: str, label: str, values: Sequence[str], told_by: str) -> list[str]:
    """Values of the label `told_by` in a metric's series whose `label` has one of the given values."""
    rows = session.execute(
        text(
            "SELECT DISTINCT labels ->> :told_by AS value FROM external_series "
            "WHERE name = :name AND labels ->> :label = ANY(:values) AND labels ? :told_by LIMIT 100"
        ).bindparams(bindparam("values", type_=ARRAY(TEXT))),
        {"name": name, "label": label, "values": list(values), "told_by": told_by},
    )
    return [row.value for row in rows]


def _where(selection: Selection) -> tuple[str, list[BindParameter[object]]]:
    """A condition on external_series; all its values are bound parameters."""
    parts = ["true"]
    bound: list[BindParameter[object]] = []

    def bind(value: object, kind: object = None) -> str:
        name = f"v{len(bound)}"
        bound.append(bindparam(name, value, type_=kind))  # type: ignore[arg-type]
        return f":{name}"

    if selection.name is not None:
        parts.append(f"name = {bind(selection.name, Text())}")
    words = selection.containing.split()
    parts += [f"position(lower({bind(word, Text())}) IN lower(name)) > 0" for word in words]
    for match in selection.matches:
        if match.operator == "=":
            parts.append(f"labels @> {bind({match.label: match.value}, JSONB())}")
        elif match.operator == "!=":
            parts.append(f"NOT labels @> {bind({match.label: match.value}, JSONB())}")
        else:
            value = f"labels ->> {bind(match.label, Text())}"
            parts.append(f"position(lower({bind(match.value, Text())}) IN lower({value})) > 0")
    if selection.seen_from_us is not None:
        since_s = selection.seen_from_us / 1e6 - SEEN_EVERY_S
        parts.append(f"last_seen_at >= to_timestamp({bind(since_s)})")
    if selection.belonging is not None:
        parts.append(f"({' OR '.join(_ways(selection.belonging, bind))})")
    return " AND ".join(parts), bound


def _ways(of: Belonging, bind: Callable[..., str]) -> list[str]:
    """Conditions, any one of which suffices."""
    ways = [f"resource_id = ANY({bind(list(of.resource_ids), ARRAY(BIGINT))})"]
    for clause in of.clauses:
        without = f" AND NOT labels ?| {bind(list(clause.without), ARRAY(TEXT))}" if clause.without else ""
        ways.append(f"(labels @> {bind(clause.labels, JSONB())}{without})")
    instance = "labels ->> 'instance'"
    targets = [f"{instance} LIKE {bind(_any_port(host), Text())}" for host in of.hosts]
    whole = [*of.hosts, *of.instances]
    if whole:
        targets.append(f"{instance} = ANY({bind(whole, ARRAY(TEXT))})")
    if targets:
        without = f" AND NOT labels ?| {bind(list(of.targets_without), ARRAY(TEXT))}" if of.targets_without else ""
        ways.append(f"(({' OR '.join(targets)}){without})")
    if of.local_instances and of.node_names:
        names = bind(list(of.node_names), ARRAY(TEXT))
        at_node = " OR ".join(f"labels ->> {bind(label, Text())} = ANY({names})" for label in of.node_labels)
        ways.append(f"({instance} = ANY({bind(list(of.local_instances), ARRAY(TEXT))}) AND ({at_node}))")
    return ways


def _any_port(host: str) -> str:
    bracketed = f"[{host}]" if ":" in host else host
    return bracketed.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + ":%"


def names(session: Session, selection: Selection, after: int, limit: int) -> Sequence[Row[Any]]:
    """Names in order from a position: `name`, `kind`, `series`, `seen_us`, and of all names how many are `found`, with
    how many series: `all_series`."""
    where, bound = _where(selection)
    return session.execute(
        text(
            "WITH named AS (SELECT name, min(kind) AS kind, count(*) AS series, max(last_seen_at) AS seen "  # noqa: S608
            f"FROM external_series WHERE {where} GROUP BY name) "
            "SELECT name, kind, series, (extract(epoch FROM seen) * 1000000)::bigint AS seen_us, "
            "count(*) OVER () AS found, (sum(series) OVER ())::bigint AS all_series "
            "FROM named ORDER BY name OFFSET :after LIMIT :limit"
        ).bindparams(*bound, bindparam("after", after), bindparam("limit", limit))
    ).all()


def pairs(session: Session, selection: Selection, most_values: int, limit: int) -> Result[Any]:
    """Labels of the selected series with the values that most series have: `key`, `value`, `series`, and how many
    values are `found`."""
    where, bound = _where(selection)
    return session.execute(
        text(
            "WITH pairs AS (SELECT pair.key, pair.value, count(*) AS series "  # noqa: S608
            f"FROM external_series, jsonb_each_text(labels) AS pair WHERE {where} GROUP BY 1, 2), "
            "ranked AS (SELECT *, count(*) OVER (PARTITION BY key) AS found, "
            "row_number() OVER (PARTITION BY key ORDER BY series DESC, value) AS place FROM pairs) "
            "SELECT key, value, series, found FROM ranked WHERE place <= :most ORDER BY place, key LIMIT :pairs"
        ).bindparams(*bound, bindparam("most", most_values), bindparam("pairs", limit))
    )


def count_label_sets(session: Session, selection: Selection, *, histogram: bool) -> int:
    """How many label sets there are; `histogram`: all buckets of one count as one."""
    where, bound = _where(selection)
    found: int = session.execute(
        text(
            f"SELECT count(DISTINCT {_key(histogram)}) FROM external_series WHERE {where}"  # noqa: S608
        ).bindparams(*bound)
    ).scalar_one()
    return found


def label_sets(
    session: Session, selection: Selection, after: int, limit: int, most_buckets: int, *, histogram: bool
) -> Result[Any]:
    """Label sets in order from a position: `first` series, `labels`, `resource_id`, `kind`, and the `ids` and `bounds`
    of its buckets."""
    where, bound = _where(selection)
    key = _key(histogram)
    return session.execute(
        text(
            f"SELECT min(id) AS first, {key} AS labels, (array_agg(resource_id ORDER BY id))[1] AS resource_id, "  # noqa: S608
            "min(kind) AS kind, (array_agg(id ORDER BY id))[1:CAST(:buckets AS integer)] AS ids, "
            "(array_agg(coalesce(labels ->> 'le', '') ORDER BY id))[1:CAST(:buckets AS integer)] AS bounds "
            f"FROM external_series WHERE {where} GROUP BY {key} ORDER BY ({key})::text OFFSET :after LIMIT :limit"
        ).bindparams(*bound, bindparam("after", after), bindparam("limit", limit), bindparam("buckets", most_buckets))
    )


def _key(histogram: bool) -> str:
    return "labels - 'le'" if histogram else "labels"
