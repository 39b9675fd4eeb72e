"""The least of each parameter that meets a goal, as the API shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitterscope.diagnosis.whatif.predict import Prepared
from jitterscope.diagnosis.whatif.search import Result, gomaxprocs_for, smallest_burst, smallest_limit
from jitterscope.diagnosis.whatif.types import Goal
from jitterscope.whatif.schemas import SearchGoal, SearchParameter
from jitterscope.whatif.shown import prediction

_SEARCHES: dict[SearchParameter, Callable[[Prepared, Goal], Result]] = {
    "cpu_limit": smallest_limit,
    "burst_us": smallest_burst,
    "gomaxprocs": gomaxprocs_for,
}


def found(prepared: Prepared, goal: SearchGoal) -> list[dict[str, Any]]:
    """The content of a list of schemas.SearchResult: each parameter alone, all else as recorded."""
    wanted = Goal(goal.metric, goal.at_most)
    return [_shown(name, search(prepared, wanted)) for name, search in _SEARCHES.items()]


def _shown(parameter: SearchParameter, result: Result) -> dict[str, Any]:
    return {
        "parameter": parameter,
        "value": result.value,
        "sentence": result.reason,
        "prediction": None if result.prediction is None else prediction(result.prediction, 0),
    }
