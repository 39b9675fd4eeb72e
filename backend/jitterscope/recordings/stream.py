"""A recording as the bytes of its file, read and sent piece by piece: memory is bounded by a piece, not the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jitterscope.db import organization_session
from jitterscope.kit import allowance
from jitterscope.recordings import file
from jitterscope.recordings.capture import Plan, part
from jitterscope.recordings.model import Recording

# Target size of a piece of stored data; it determines the length of the next one.
_PIECE_BYTES = 24 * 1024 * 1024
_MOST_SLICES = 8
# Slices of nodes with more resources are shorter, down to a second.
_RESOURCES_PER_SLICE = 400


def stream(organization_id: int, planned: Plan, check: Callable[[], object]) -> Iterator[bytes]:
    """The file's bytes. Each piece is read in its own transaction, so that a slow client holds none open.

    `check` is called before each piece, and raises if the caller's access has ended.
    """
    crowd = max(1, -(-len(planned.rows) // _RESOURCES_PER_SLICE))
    slice_us = max(1_000_000, file.SLICE_US // crowd // 1_000_000 * 1_000_000)
    names = [row.name for row in planned.rows]
    pieces = _pieces(organization_id, planned, slice_us, check)
    return file.parts(planned.from_us, planned.ticks, planned.subject, names, {}, pieces, slice_us)


def _pieces(organization_id: int, planned: Plan, slice_us: int, check: Callable[[], object]) -> Iterator[Recording]:
    slices, at_us = 1, planned.from_us
    while at_us < planned.to_us:
        check()
        end_us = min(at_us + slices * slice_us, planned.to_us)
        with allowance.measured() as taken, organization_session(organization_id) as session:
            piece = part(session, planned, at_us, end_us)
        yield piece
        slices = max(1, min(_MOST_SLICES, slices * 4, slices * _PIECE_BYTES // max(1, taken.held)))
        at_us = end_us
