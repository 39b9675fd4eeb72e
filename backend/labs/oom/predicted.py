"""What the incident predicted about the kill before it happened, and when it happened."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from labs.sightings import Sightings

_EVIDENCE = "time_to_oom"


class Prediction(BaseModel):
    """One prediction; times are from the start of the load.

    `seen_s`: when the product showed it. `made_s`: the time of the newest data that it was made from. `killed_s`: when
    the kill was predicted. `left_error_ratio`: predicted time left over the actual one, minus 1, counted from `made_s`;
    None if no kill happened.
    """

    model_config = ConfigDict(extra="forbid")

    cause: str
    seen_s: float
    made_s: float
    killed_s: float
    left_error_ratio: float | None


def predictions(sightings: Sightings, killed_us: int | None, from_us: int) -> list[Prediction]:
    """All distinct predictions shown before the kill, oldest first."""
    found: dict[float, Prediction] = {}
    for sighting in sightings.before(killed_us):
        for evidence in sighting.incident["evidence"]:
            if evidence["id"] != _EVIDENCE:
                continue
            made_us, predicted_us = evidence["numbers"]["made_us"], evidence["numbers"]["predicted_us"]
            left_us = None if killed_us is None else killed_us - made_us
            found.setdefault(
                made_us,
                Prediction(
                    cause=sighting.incident["cause"],
                    seen_s=round((sighting.at_us - from_us) / 1e6, 3),
                    made_s=round((made_us - from_us) / 1e6, 3),
                    killed_s=round((predicted_us - from_us) / 1e6, 3),
                    left_error_ratio=round((predicted_us - made_us) / left_us - 1, 3) if left_us else None,
                ),
            )
    return list(found.values())
