"""REST shapes of what-if: models with their controls, settings to try on a recorded window, and their effects.

Window bounds and timelines are µs since the epoch, UTC; every figure names its unit.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.kit.schema import Schema

Instant = Annotated[
    int | str, Field(union_mode="left_to_right", description="RFC 3339 with a time zone, or µs since the epoch")
]
Value = float | str | list[str] | None
Settings = dict[str, Value]


class WhatIfControl(Schema):
    """One control; bounds are in its unit. `off`: the label for null; empty: null means as recorded."""

    id: str
    title: str
    unit: str
    least: float | None
    most: float | None
    choices: list[str]
    hint: str
    off: str


class WhatIfModel(Schema):
    """A model and its controls."""

    id: str
    area: str
    title: str
    summary: str
    subject: Literal["cgroup", "node"]  # what it replays
    controls: list[WhatIfControl]


class SearchGoal(Schema):
    """The least of each control that brings `metric`, a figure of the model, to `at_most`, all else as recorded."""

    metric: str = Field(max_length=100)
    at_most: float = Field(ge=0, le=1e9)


class WhatIfRequest(Schema):
    resource_id: int = Field(description="A cgroup, a node, or anything in one")
    from_: Instant | None = Field(default=None, alias="from", description="Default: 10 min before `to`")
    to: Instant | None = Field(default=None, description="Default: the newest data of the node")
    settings: list[Settings] = Field(
        default_factory=list, max_length=16, description="By the control's id; omitted controls stay as recorded"
    )
    timeline: bool = False
    points: int = Field(default=1_200, ge=10, le=6_000, description="Maximum points per line of a timeline")
    search: SearchGoal | None = None


class WhatIfFigure(Schema):
    """A recorded value, or a predicted 90 % interval; both null: not measured, or not known."""

    id: str
    title: str
    unit: str
    value: float | None
    interval: Interval | None


class WhatIfLine(Schema):
    id: str
    values: list[float | None]


class WhatIfSpan(Schema):
    from_us: int
    to_us: int


class WhatIfTimeline(Schema):
    """Lines over the window, parallel to `t_us`; spans are what happened in it, such as GC cycles."""

    t_us: list[int]
    step_us: int
    lines: list[WhatIfLine]
    spans: list[WhatIfSpan]


class WhatIfTried(Schema):
    """One set of settings. `settings` has all controls; `outcome` is the answer in words, if there is one."""

    settings: Settings
    figures: list[WhatIfFigure]
    outcome: str | None
    good: bool | None
    cannot_tell: str | None
    notes: list[str]
    timeline: WhatIfTimeline | None


class WhatIfSuggestion(Schema):
    title: str
    settings: Settings


class WhatIfRange(Schema):
    """The useful range of a control's slider in this window."""

    least: float
    most: float


class SearchResult(Schema):
    """The least `value` of one control that meets the goal; null if none does: `sentence` says why."""

    control: str
    value: float | None
    sentence: str
    tried: WhatIfTried | None


class WhatIf(Schema):
    """`settings`, `figures` and `timeline` are what was recorded; `tried` is parallel to the request's `settings`.

    `cannot_tell`: why the window allows no answer at all; everything else is then empty.
    """

    model: str
    resource_id: int  # the cgroup or node that was replayed
    subject: SubjectRef
    from_us: int
    to_us: int
    slow_threshold_us: int
    settings: Settings
    figures: list[WhatIfFigure]
    timeline: WhatIfTimeline | None
    tried: list[WhatIfTried]
    suggestions: list[WhatIfSuggestion]
    search: list[SearchResult] | None
    ranges: dict[str, WhatIfRange]
    choices: dict[str, list[str]]
    notes: list[str]  # about the window: missing data, and what would need more of it
    cannot_tell: str | None
