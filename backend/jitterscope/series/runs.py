"""Groups rows by the span of columns in which they have data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def runs(present: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], int, int]]:
    """(row numbers, first, last exclusive) of all rows of (rows, columns) with the same span; empty rows are left out.

    A span extends from the first to the last present column; holes within it stay.
    """
    rows = np.flatnonzero(present.any(axis=1))
    if len(rows) == 0:
        return
    chosen = present[rows]
    first = chosen.argmax(axis=1)
    last = present.shape[1] - chosen[:, ::-1].argmax(axis=1)
    spans, group = np.unique(np.stack((first, last)), axis=1, return_inverse=True)
    group = group.reshape(-1)
    for number in range(spans.shape[1]):
        yield rows[group == number], int(spans[0, number]), int(spans[1, number])
