"""What a cause says about a snapshot. Plain serializable data shared by the API, the UI, and the tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

Confidence = Literal["high", "medium", "low"]
Severity = Literal["critical", "warning", "info"]
# The worst first.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
# measured: a request waited, failed, or was late, and that was recorded. predicted: nothing has happened yet, the
# finding says what will. none: what would show harm was recorded, and shows none. not_measured: it was not recorded.
Harm = Literal["measured", "predicted", "none", "not_measured"]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True)


class SeriesRef(Part):
    """Where a number can be looked up again."""

    resource_id: int
    metric: str
    from_us: int
    to_us: int


class Evidence(Part):
    """One measured statement. `value` and `comparison` are ready to show: "19 of 19", "chance 6.5 %"."""

    id: str
    statement: str
    value: str
    comparison: str | None = None
    # e.g. {"hits": 19, "of": 19, "chance_ratio": 0.065, "p_value": 1e-12}; units in the names
    numbers: dict[str, float] = Field(default_factory=dict)
    series: list[SeriesRef] = Field(default_factory=list)


class Rival(Part):
    """Another cause that could look the same, and whether the data exclude it."""

    cause: str
    title: str
    status: Literal["ruled_out", "not_ruled_out", "not_enough_data"]
    reason: str
    numbers: dict[str, float] = Field(default_factory=dict)


class Interval(Part):
    low: float
    high: float
    expected: float
    level: float = 0.9


class WorkloadChange(Part):
    """What changes of a Kubernetes workload, as a strategic merge patch of it.

    `owner` is "deployment/coredns". Lists merge by `name`, and `$patch: delete` removes an entry of one. `now` is what
    is in force of it, in the same shape, as far as that is known.
    """

    kind: Literal["workload"] = "workload"
    namespace: str
    owner: str
    patch: dict[str, Any]
    now: dict[str, Any] = Field(default_factory=dict)


class CorefileChange(Part):
    """Options of a plugin in the Corefile that a Kubernetes workload reads, wherever that plugin is used there.

    `options` are set by name; None removes one. A value is what stands behind the name on its line; "": nothing does.
    `only_with`: only where the plugin has this option.
    """

    kind: Literal["corefile"] = "corefile"
    namespace: str
    owner: str
    plugin: str
    options: dict[str, str | None]
    only_with: str | None = None


class PluginChange(Part):
    """A plugin in server blocks of such a Corefile, instead of the one of its name there.

    `blocks` has the keys of each server block (".:53"). `text`: the plugin's lines, with those of its own block.
    """

    kind: Literal["corefile_plugin"] = "corefile_plugin"
    namespace: str
    owner: str
    blocks: list[list[str]]
    text: str


Change = Annotated[WorkloadChange | CorefileChange | PluginChange, Field(discriminator="kind")]


class Patch(Part):
    """Text to copy. `language` names how to highlight it: yaml, shell, corefile, diff.

    `changes` say the same for files in a repository; empty where no file of a workload holds what it sets.
    """

    label: str
    language: Literal["yaml", "shell", "corefile", "diff"]
    text: str
    changes: list[Change] = Field(default_factory=list)


class FixSetting(Part):
    """What a fix sets, as values to replay or to compare; None: that stays as it is.

    `cpu_limit` in CPUs, `gogc` in percent, `replicas` for each one that ran. "off" is the Go runtime's own word: no
    such limit.
    """

    cpu_limit: float | None = None
    period_us: int | None = None
    burst_us: int | None = None
    gomaxprocs: int | None = None
    gogc: float | Literal["off"] | None = None
    gomemlimit_bytes: int | Literal["off"] | None = None
    replicas: float | None = None


class Fix(Part):
    """A change that can help, or a well-known one that cannot and why (`verdict` cannot_help)."""

    id: str
    title: str
    summary: str
    verdict: Literal["removes", "reduces", "cannot_help", "unknown"]
    # Predicted values of measures of the area after the fix, by measure id, if they can be predicted.
    predicted: dict[str, Interval] = Field(default_factory=dict)
    # None: it sets none of these, or sets one to an unknown value.
    setting: FixSetting | None = None
    precondition: str | None = None
    patches: list[Patch] = Field(default_factory=list)
    caveats: list[str] = Field(default_factory=list)
    verify: str
    undo: str
    references: list[str] = Field(default_factory=list)


def predictions(**figures: Interval | None) -> dict[str, Interval]:
    """Predictions of a fix by measure id, without those that are unknown."""
    return {name: one for name, one in figures.items() if one is not None}


# The harm over the window: values by the id of a quantity that the cause's area declares (core/quantity.py). Unknown
# values are omitted. Counts stay whole numbers.
Impact = dict[str, Annotated[int | float, WithJsonSchema({"type": "number"})]]


class Found(Part):
    kind: Literal["found"] = "found"
    cause: str
    # 0..1: ranks findings of one snapshot; not shown as a probability
    score: float
    confidence: Confidence
    # None: a risk; `harm` says whether harm is known to be none, or not known.
    severity: Severity | None
    harm: Harm = "not_measured"
    title: str  # one sentence: who, what, because of what, how bad
    summary: str
    onset_us: int
    last_us: int
    # ADDRESS:PORT of a server that the subject queries, if that server is at fault: one incident with that server's
    upstream: str | None = None
    impact: Impact
    evidence: list[Evidence]
    rivals: list[Rival] = Field(default_factory=list)
    fixes: list[Fix] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _unknown_harm(cls, values: object) -> object:
        """Findings stored before harm was classified: a risk among them does not say why it is one."""
        if isinstance(values, dict) and "harm" not in values:
            return values | {"harm": "not_measured" if values.get("severity") is None else "measured"}
        return values


class NotFound(Part):
    kind: Literal["not_found"] = "not_found"
    cause: str
    reason: str
    numbers: dict[str, float] = Field(default_factory=dict)


class NotEnoughData(Part):
    kind: Literal["not_enough_data"] = "not_enough_data"
    cause: str
    missing: list[str]
    reason: str


Result = Found | NotFound | NotEnoughData
Finding = Annotated[Result, Field(discriminator="kind")]
