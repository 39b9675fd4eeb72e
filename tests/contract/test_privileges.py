"""docs/privileges.md names the capabilities without which sources stopped in the last stored run on a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from jitterscope.settings import REPOSITORY
from labs.kubernetes import capabilities
from tests.support import privileges


def needed() -> dict[str, set[str]]:
    """Source → the capabilities that its row names, with those of rows that it refers to."""
    rows = {name: row[2] for row in privileges.rows("source") for name in privileges.words(row[0])}

    def named(source: str) -> Iterator[str]:
        yield from re.findall(r"CAP_([A-Z_]+)", rows[source])
        for other in re.findall(r"as `(\w+)`", rows[source]):
            yield from named(other)

    return {source: set(named(source)) for source in rows}


def test_the_run_left_out_each_capability_of_the_chart() -> None:
    values = yaml.safe_load((REPOSITORY / "helm" / "jitterscope" / "values.yaml").read_text())
    wanted = capabilities.missing(values["collector"]["capabilities"])
    assert [tuple(one.split()) for one in capabilities.stored().without] == wanted


def test_what_stopped_in_the_run_is_documented() -> None:
    found, documented = capabilities.stored(), needed()
    stopped = [(missing, source) for missing, less in found.without.items() for source in less]
    assert len(stopped) > 10
    for missing, source in stopped:
        assert documented.get(source, set()) & set(missing.split()), f"{source} stopped without {missing}"


def test_each_capability_of_the_chart_is_for_something() -> None:
    without = capabilities.stored().without
    used = set()
    for missing, less in without.items():
        one, *also = missing.split()
        if less.keys() - {source for other in also for source in without[other]}:
            used.add(one)
    # For the sampling threads, which are no source.
    assert {one for missing in without for one in missing.split()} - used == {"SYS_NICE"}
