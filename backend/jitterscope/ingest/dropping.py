"""Drops from a batch what its organization switched off, whatever the collector sent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from jitterscope.collection.switches import Dropped
from jitterscope.ingest.batch import Block, EventSpec, ValidBatch

# In a row of requests.kinds: [kind, requests, slow, client errors, server errors, …]
_STATUSES = slice(3, 5)


def without(batch: ValidBatch, dropped: Dropped) -> ValidBatch:
    """The batch as it is stored. Resources stay: others are placed by them, and their keys reveal no content."""
    if dropped == Dropped():
        return batch
    events = [one for one in batch.events if one.kind not in dropped.events]
    return replace(
        batch,
        blocks=_blocks(batch.blocks, dropped.metrics),
        histograms=[one for one in batch.histograms if one.metric not in dropped.metrics],
        facts=[one for one in batch.facts if one.name not in dropped.facts],
        events=[_without_statuses(one) for one in events] if dropped.statuses else events,
        queries=[one for one in batch.queries if batch.resources[one.server].kind not in dropped.queries_of],
        captures=[] if dropped.captures else batch.captures,
        triggers=[one for one in batch.triggers if one.reason not in dropped.triggers],
    )


def _blocks(blocks: Iterable[Block], metrics: frozenset[int]) -> list[Block]:
    gone = np.array(sorted(metrics), np.int64)
    kept: list[Block] = []
    for block in blocks:
        keep = ~np.isin(block.metric, gone)
        if keep.all():
            kept.append(block)
        elif keep.any():
            rows = np.frombuffer(block.payload, np.uint8).reshape(len(block.metric), -1)
            kept.append(
                replace(
                    block,
                    resource=block.resource[keep],
                    metric=block.metric[keep],
                    payload=rows[keep].tobytes(),
                )
            )
    return kept


def _without_statuses(event: EventSpec) -> EventSpec:
    """An event about request kinds, as a collector that does not read statuses sends it: errors are not measured."""
    if event.kind != "requests.kinds":
        return event
    try:
        rows = json.loads(event.attributes["rows"])
        for row in rows:
            row[_STATUSES] = [None, None]
    except (KeyError, TypeError, ValueError, RecursionError):
        rows = []
    attributes = {**event.attributes, "rows": json.dumps(rows, separators=(",", ":"))}
    attributes.pop("grpc", None)
    return replace(event, attributes=attributes)
