"""Says in one sentence what is known about a finding's harm: what was measured, or why nothing was."""

from __future__ import annotations

from jitterscope.diagnosis.core.finding import Found
from jitterscope.diagnosis.core.impact import QUERIES, SLOW_QUERIES


def harm_reason(found: Found) -> str:
    """Never "no harm" where harm was not measured."""
    queries, slow = QUERIES.of(found.impact), SLOW_QUERIES.of(found.impact)
    match found.harm:
        case "measured":
            return "Harm measured."
        case "predicted":
            return "No harm yet, but harm is predicted."
        case "none" if queries is None or slow is None:
            return "No harm measured."
        case "none" if slow == 0:
            return f"No harm measured in {queries:,.0f} answers."
        case "none":
            return f"No harm attributed to it: {slow:,.0f} of {queries:,.0f} answers were slow."
        case _ if queries is None:
            return "Harm not measured: no answers of a server were recorded."
        case _ if slow is None:
            return "Harm not measured: requests were counted, but not how long their answers took."
        case _:
            return "Harm not measured: the data that would show it were not recorded."
