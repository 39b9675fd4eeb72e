"""Which search domains a client of a DNS server uses: from the resolv.conf of its container, else from its queries.

A client that queries "api.example.com.a.svc.cluster.local", gets NXDOMAIN, and then queries "api.example.com"
successfully has a search domain "a.svc.cluster.local". One name extended this way can be chance; a second name with the
same suffix, a second suffix of the same name, or as many queries of both is not.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.areas.dns.readings.names import NameRow
from jitterscope.diagnosis.core.snapshot import ResourceView
from jitterscope.diagnosis.programs.resolv_conf import ResolvConf, parse

Source = Literal["resolv_conf", "matching_resolv_conf", "inferred", "none"]
ByName = Mapping[tuple[str, str], NameRow]


@dataclass(frozen=True, slots=True)
class SearchList:
    """Search domains of a client, in order if they come from a resolv.conf.

    `ndots` is None if they were inferred. `workloads` are the cgroups that it can be: one if its address is known,
    several if only the search list fits.
    """

    domains: tuple[str, ...]
    ndots: int | None
    source: Source
    workloads: tuple[ResourceView, ...] = ()


def addresses_of(workload: ResourceView) -> frozenset[str]:
    """The fact `net.addresses`; empty if it is absent or unreadable."""
    try:
        value = json.loads(workload.fact("net.addresses") or "[]")
    except ValueError:
        return frozenset()
    return frozenset(item for item in value if isinstance(item, str)) if isinstance(value, list) else frozenset()


def by_name(rows: Iterable[NameRow]) -> dict[tuple[str, str], NameRow]:
    """Rows of one client by (name, type)."""
    return {(row.name, row.type): row for row in rows}


def search_list(client: str, rows: Sequence[NameRow], workloads: Sequence[ResourceView]) -> SearchList:
    """The search list of one client, whose rows these are."""
    known = [
        (workload, conf) for workload in workloads if (conf := parse(workload.fact("dns.resolv_conf"))) is not None
    ]
    own = [(workload, conf) for workload, conf in known if client in addresses_of(workload)]
    if own:
        confs = {conf for _, conf in own}
        best = own[0][1] if len(confs) == 1 else _best([conf for _, conf in own], rows) or own[0][1]
        mine = tuple(workload for workload, conf in own if conf == best)
        return SearchList(best.search, best.ndots, "resolv_conf", mine)
    unplaced = [(workload, conf) for workload, conf in known if not addresses_of(workload)]
    if (conf := _best([conf for _, conf in unplaced], rows)) is not None:
        mine = tuple(workload for workload, other in unplaced if other == conf)
        return SearchList(conf.search, conf.ndots, "matching_resolv_conf", mine)
    domains = inferred(rows)
    return SearchList(domains, None, "inferred" if domains else "none")


def _best(confs: Iterable[ResolvConf], rows: Sequence[NameRow]) -> ResolvConf | None:
    """The resolv.conf whose first search domain explains the most NXDOMAIN queries; None if none explains any.

    The first domain distinguishes containers: on Kubernetes it contains the namespace, the others are common to all.
    """
    scored = [(sum(row.nxdomain for row in rows if row.name.endswith("." + conf.search[0])), conf)
              for conf in dict.fromkeys(confs) if conf.search]  # fmt: skip
    score, conf = max(scored, key=lambda item: item[0], default=(0, None))
    return conf if score else None


def inferred(rows: Sequence[NameRow]) -> tuple[str, ...]:
    """Search domains seen in the queries of one client; empty: none.

    The order is a guess: narrow domains before wide ones, and those of a zone in which names were found before the
    others.
    """
    table = by_name(rows)
    stems: dict[str, set[str]] = defaultdict(set)
    endings: dict[str, set[str]] = defaultdict(set)
    alike: set[str] = set()
    for row in rows:
        if 2 * row.nxdomain <= row.queries:
            continue
        for stem, ending in splits(row.name):
            base = table.get((stem, row.type))
            if base is None or not base.answered:
                continue
            stems[ending].add(stem)
            endings[stem].add(ending)
            if base.answered >= 3 and 0.67 <= row.nxdomain / base.answered <= 1.5:
                alike.add(ending)
    found = [
        ending
        for ending, extended in stems.items()
        if len(extended) >= 2 or ending in alike or any(len(endings[stem]) >= 2 for stem in extended)
    ]
    zones = {_zone(row.name) for row in rows if row.answered and any(row.name.endswith("." + e) for e in found)}
    return tuple(sorted(found, key=lambda ending: (_zone(ending) not in zones, -ending.count("."), ending)))


def _zone(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def splits(name: str) -> Iterable[tuple[str, str]]:
    """(stem, suffix) at every dot, the longest suffix first."""
    at = name.find(".")
    while at >= 0:
        yield name[:at], name[at + 1 :]
        at = name.find(".", at + 1)
