"""Finds series of other systems by name, labels, and what they belong to; counts them and reads them by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import Text, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, JSONB, TEXT
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import BindParameter

from jitterscope.counted import size_of
from jitterscope.kit.allowance import hold
from jitterscope.series.external import SEEN_EVERY_S

Operator = Literal["=", "!=", "~"]
# How many values of a label are listed; the total count is always given.
_MOST_VALUES = 100
# Values of all labels together, the most frequent of each first.
_MOST_PAIRS = 10_000
# Buckets of one histogram. Real ones have up to some 200.
_MOST_BUCKETS = 1000


@dataclass(frozen=True, slots=True)
class Match:
    """A condition on a label: "=" has this value, "!=" another or none, "~" contains it (case-insensitive)."""

    label: str
    operator: Operator
    value: str


@dataclass(frozen=True, slots=True)
class Clause:
    """Labels that a series must have, and labels that it must not have."""

    labels: dict[str, str]
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Belonging:
    """What makes a series belong to a resource; any one of these suffices.

    `hosts` are those of scrape targets with any port, `instances` are complete ones. Series with a label of
    `targets_without` do not belong through those. `local_instances` have loopback addresses: they count only together
    with a label of `node_labels` whose value is one of `node_names`.
    """

    resource_ids: tuple[int, ...] = ()
    clauses: tuple[Clause, ...] = ()
    hosts: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    targets_without: tuple[str, ...] = ()
    local_instances: tuple[str, ...] = ()
    node_labels: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which series to select. `seen_from_us`: only those with samples since then, to the hour."""

    name: str | None = None
    containing: str = ""
    matches: tuple[Match, ...] = ()
    belonging: Belonging | None = None
    seen_from_us: int | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """A metric's name; `kind` is counter or gauge; `last_seen_us` to the hour."""

    name: str
    kind: str
    series: int
    last_seen_us: int


@dataclass(frozen=True, slots=True)
class Label:
    """A label's values with the number of series each, most first; `values` may be truncated, `found` counts all."""

    name: str
    found: int
    values: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class LabelSet:
    """One label set: a series, or all buckets of a histogram as (upper bound, series id)."""

    id: int
    labels: dict[str, str]
    resource_id: int
    kind: str
    buckets: list[tuple[str, int]] = field(default_factory=list)


def names(session: Session, selection: Selection, after: int, limit: int) -> tuple[list[Name], int, int]:
    """Names in order from a position, the number of all names, and the number of all series."""
    where, bound = _where(selection)
    rows = session.execute(
        text(
            "WITH named AS (SELECT name, min(kind) AS kind, count(*) AS series, max(last_seen_at) AS seen "  # noqa: S608
            f"FROM external_series WHERE {where} GROUP BY name) "
            "SELECT name, kind, series, (extract(epoch FROM seen) * 1000000)::bigint AS seen_us, "
            "count(*) OVER () AS found, (sum(series) OVER ())::bigint AS all_series "
            "FROM named ORDER BY name OFFSET :after LIMIT :limit"
        ).bindparams(*bound, bindparam("after", after), bindparam("limit", limit))
    ).all()
    if not rows and after:
        found = names(session, selection, 0, 1)
        return [], found[1], found[2]
    found_rows = [Name(row.name, row.kind, row.series, row.seen_us) for row in rows]
    return found_rows, rows[0].found if rows else 0, rows[0].all_series if rows else 0


def labels(session: Session, selection: Selection) -> list[Label]:
    """Labels of the selected series by name, each with its values."""
    where, bound = _where(selection)
    rows = session.execute(
        text(
            "WITH pairs AS (SELECT pair.key, pair.value, count(*) AS series "  # noqa: S608
            f"FROM external_series, jsonb_each_text(labels) AS pair WHERE {where} GROUP BY 1, 2), "
            "ranked AS (SELECT *, count(*) OVER (PARTITION BY key) AS found, "
            "row_number() OVER (PARTITION BY key ORDER BY series DESC, value) AS place FROM pairs) "
            "SELECT key, value, series, found FROM ranked WHERE place <= :most ORDER BY place, key LIMIT :pairs"
        ).bindparams(*bound, bindparam("most", _MOST_VALUES), bindparam("pairs", _MOST_PAIRS))
    )
    result: dict[str, Label] = {}
    for row in rows:
        hold(size_of(row.key) + size_of(row.value))
        result.setdefault(row.key, Label(row.key, row.found, [])).values.append((row.value, row.series))
    return [result[key] for key in sorted(result)]


def label_sets(
    session: Session, selection: Selection, after: int, limit: int, *, histogram: bool
) -> tuple[list[LabelSet], int]:
    """Label sets in order from a position, and how many there are.

    With `histogram`, all buckets of one label set count as one; of very many only the first are returned.
    """
    where, bound = _where(selection)
    key = "labels - 'le'" if histogram else "labels"
    found = session.execute(
        text(f"SELECT count(DISTINCT {key}) FROM external_series WHERE {where}").bindparams(*bound)  # noqa: S608
    ).scalar_one()
    rows = session.execute(
        text(
            f"SELECT min(id) AS first, {key} AS labels, (array_agg(resource_id ORDER BY id))[1] AS resource_id, "  # noqa: S608
            "min(kind) AS kind, (array_agg(id ORDER BY id))[1:CAST(:buckets AS integer)] AS ids, "
            "(array_agg(coalesce(labels ->> 'le', '') ORDER BY id))[1:CAST(:buckets AS integer)] AS bounds "
            f"FROM external_series WHERE {where} GROUP BY {key} ORDER BY ({key})::text OFFSET :after LIMIT :limit"
        ).bindparams(*bound, bindparam("after", after), bindparam("limit", limit), bindparam("buckets", _MOST_BUCKETS))
    )
    sets: list[LabelSet] = []
    for row in rows:
        hold(size_of(row.labels) + size_of(row.bounds) + size_of(row.ids))
        buckets = list(zip(row.bounds, row.ids, strict=True))
        sets.append(LabelSet(row.first, row.labels, row.resource_id, row.kind, buckets))
    return sets, found


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
