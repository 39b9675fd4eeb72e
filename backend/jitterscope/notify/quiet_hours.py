"""Weekly hours, of a channel that holds its messages back and of a mute. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field, StringConstraints, field_validator, model_validator

from jitterscope.kit.schema import Schema

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WallTime = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
_DAY = timedelta(days=1)


class WeeklyHours(Schema):
    """From `start` on each of `days` until `end`: on the next day if `end` is not after `start`."""

    days: list[Day] = Field(min_length=1, max_length=7, description="Start days")
    start: WallTime = Field(description="22:00", examples=["22:00"])
    end: WallTime = Field(description="07:00", examples=["07:00"])
    time_zone: str = Field(max_length=64, description="IANA name", examples=["Europe/Berlin"])

    @field_validator("days")
    @classmethod
    def _in_order(cls, value: list[Day]) -> list[Day]:
        return sorted(set(value), key=DAYS.index)

    @field_validator("time_zone")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in _zones():
            raise ValueError("give the IANA name of a time zone, such as Europe/Berlin or UTC")
        return value

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if len(self.days) == len(DAYS) and self.start == self.end:
            raise ValueError("these hours never end: remove a day, or choose another end")
        return self

    def ends(self, at: datetime) -> datetime | None:
        """When the hours around a time end, in UTC; None if the time is outside them.

        Adjoining hours count as one stretch.
        """
        try:
            zone = ZoneInfo(self.time_zone)
        except ZoneInfoNotFoundError:
            return None  # this machine lost its time zones: a message at night is better than none
        until = at.astimezone(UTC)
        # A week has at most seven stretches.
        for _ in range(len(DAYS) + 1):
            day = until.astimezone(zone).date()
            around = [self._of(one, zone) for one in (day - _DAY, day) if DAYS[one.weekday()] in self.days]
            later = max((end for begin, end in around if begin <= until < end), default=None)
            if later is None:
                break
            until = later
        return None if until == at else until

    def _of(self, day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
        start, end = time.fromisoformat(self.start), time.fromisoformat(self.end)
        last = day if end > start else day + _DAY
        begin, until = (datetime.combine(one, at, zone) for one, at in ((day, start), (last, end)))
        return begin.astimezone(UTC), until.astimezone(UTC)


class QuietHours(WeeklyHours):
    """Hours in which a channel holds its messages back."""

    critical_passes: bool = Field(default=True, description="Messages about critical incidents are sent anyway")


@cache
def _zones() -> set[str]:
    return available_timezones()
