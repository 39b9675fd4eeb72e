"""How many queries a lookup costs because of search domains: per client and name, from `dns.names`.

A query answered NXDOMAIN is wasted if the same client queried the same name and type with another suffix of its search
list, or with none, and got an answer. Names that no suffix resolves do not exist: they are counted separately. A and
AAAA are separate lookups, so a client that queries both, or a C library that sends them in parallel, amplifies nothing.

An event lists only the most queried names, and counts of names that had to share a slot in the collector's table are
too low. The number of queries of a step per lookup is therefore taken from spans that list both: both then miss the
same queries. Steps that are not listed count like those that are, and names that are not listed are assumed to be like
the others; sums are made from the totals of the spans, which are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.names import NameRow, NameSpan, of, total_queries, total_seconds, typical
from jitterscope.diagnosis.areas.dns.readings.search_lists import ByName, SearchList, by_name, search_list
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.programs.resolv_conf import ResolvConf, candidates, dots


@dataclass(frozen=True, slots=True)
class Chain:
    """Lookups of one name and type by one client.

    `name` is what the program looked up, `answer` the name that was finally answered, `lookups` how often. Before that,
    `wasted` queries got NXDOMAIN, and `failed` ended without an answer (SERVFAIL); `wasted_us` is the time of both. All
    are estimates if names are not listed.
    """

    client: str
    name: str
    type: str
    answer: str
    lookups: int
    wasted: int
    failed: int
    wasted_us: float

    @property
    def queries_per_lookup(self) -> float:
        return (self.lookups + self.wasted + self.failed) / self.lookups

    @property
    def added_us(self) -> float:
        """Time that these queries add to a lookup."""
        return self.wasted_us / self.lookups


@dataclass(frozen=True, slots=True)
class ClientUse:
    """One client: `queries` of its listed rows, the answered `lookups`, and the chains among them.

    `searched_dots`: most dots in a name that it found through its search list, -1 if it found none that way.
    """

    client: str
    search: SearchList
    queries: int
    lookups: int
    chains: tuple[Chain, ...]
    searched_dots: int = -1

    @property
    def wasted(self) -> int:
        return sum(chain.wasted + chain.failed for chain in self.chains)

    @property
    def queries_per_lookup(self) -> float:
        """Queries per lookup for the names that took more than one query; 1.0 if there are none."""
        return per_lookup(self.chains)


@dataclass(frozen=True, slots=True)
class Amplification:
    """All clients of a server, those that waste most first.

    `queries` and `nxdomain` are totals over `seconds`, `listed` of these were in the table. `nonexistent` queries got
    NXDOMAIN for names that nothing answered; for `unknown` ones the rest of the lookup is not listed.
    """

    clients: tuple[ClientUse, ...]
    queries: int
    nxdomain: int
    listed: int
    nonexistent: int
    unknown: int
    seconds: float

    @property
    def chains(self) -> list[Chain]:
        return [chain for use in self.clients for chain in use.chains]

    @property
    def seen(self) -> int:
        """Wasted queries of the listed lookups."""
        return sum(use.wasted for use in self.clients)

    @property
    def wasted(self) -> int:
        """Wasted queries in total; the NXDOMAIN answers that are not listed are assumed to have the same share."""
        decided = self.seen + self.nonexistent
        return round(min(1.0, self.seen / decided) * self.nxdomain) if decided else 0

    @property
    def lookups(self) -> int:
        return sum(use.lookups for use in self.clients)

    @property
    def queries_per_name(self) -> float:
        """Queries per name and type that was looked up, over all queries; 1.0: search domains waste none."""
        return self.queries / (self.queries - self.wasted) if self.queries > self.wasted else 1.0


def per_lookup(chains: Sequence[Chain]) -> float:
    lookups = sum(chain.lookups for chain in chains)
    return (lookups + sum(chain.wasted + chain.failed for chain in chains)) / lookups if lookups else 1.0


@reading
def amplification(snapshot: Snapshot) -> Amplification:
    """The amplification by the clients of the subject's servers."""
    return measure(of(snapshot), snapshot.workloads)


def measure(spans: Sequence[NameSpan], workloads: Sequence[ResourceView] = ()) -> Amplification:
    """Amplification by clients of these spans' servers; `workloads` hold resolv.conf and addresses of containers."""
    by_client: dict[str, list[NameRow]] = defaultdict(list)
    for row in typical(spans):
        by_client[row.client].append(row)
    pairs = None if all(span.whole for span in spans) else _Pairs(spans)
    found = [_client(client, mine, workloads, pairs) for client, mine in by_client.items()]
    return Amplification(
        clients=tuple(sorted((use for use, _, _ in found), key=lambda use: (-use.wasted, -use.queries, use.client))),
        queries=total_queries(spans),
        nxdomain=sum(span.nxdomain for span in spans),
        listed=sum(row.queries for span in spans for row in span.rows),
        nonexistent=sum(nonexistent for _, nonexistent, _ in found),
        unknown=sum(unknown for _, _, unknown in found),
        seconds=total_seconds(spans),
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """Queries, and the lookups (of one name and type) that they were for, per tick; NaN where no names were counted."""

    queries: FloatArray
    lookups: FloatArray


def by_tick(snapshot: Snapshot) -> Counted | None:
    """Spread evenly over each span of names; None without any."""
    spans = of(snapshot)
    if not spans:
        return None
    queries, lookups = (np.full(snapshot.ticks, np.nan) for _ in range(2))
    for span in spans:
        found = measure((span,), snapshot.workloads)
        first = max(0, (span.start_us - snapshot.start_us) // snapshot.step_us)
        last = min(snapshot.ticks, max(first + 1, -(-(span.end_us - snapshot.start_us) // snapshot.step_us)))
        share = snapshot.step_us / max(span.duration_us, snapshot.step_us)
        for values, count in ((queries, found.queries), (lookups, found.queries - found.wasted)):
            values[first:last] = np.nan_to_num(values[first:last]) + count * share
    return Counted(queries, lookups)


class _Pairs:
    """Rows by span, to compare two rows only if one span lists both."""

    def __init__(self, spans: Sequence[NameSpan]) -> None:
        self._places: dict[tuple[str, str, str], dict[int, NameRow]] = defaultdict(dict)
        for place, span in enumerate(spans):
            for row in span.rows:
                self._places[row.client, row.name, row.type][place] = row

    def ratio(self, denied: NameRow, answer: str) -> float | None:
        """NXDOMAIN queries per answered one; None if no span lists both."""
        steps = self._places.get((denied.client, denied.name, denied.type), {})
        answers = self._places.get((denied.client, answer, denied.type), {})
        both = steps.keys() & answers.keys()
        answered = sum(answers[place].answered for place in both)
        return sum(steps[place].nxdomain + steps[place].servfail for place in both) / answered if answered else None


def _client(
    client: str, rows: list[NameRow], workloads: Sequence[ResourceView], pairs: _Pairs | None
) -> tuple[ClientUse, int, int]:
    """(use of one client, NXDOMAIN queries for names that do not exist, NXDOMAIN queries of unknown kind)."""
    search = search_list(client, rows, workloads)
    table = by_name(rows)
    parts: dict[tuple[str, str, str], list[NameRow]] = defaultdict(list)
    nonexistent = unknown = 0
    for row in rows:
        if not row.nxdomain + row.servfail:
            continue
        if (found := _resolved(row, search, table)) is not None:
            parts[(found[0], found[1], row.type)].append(row)
        elif pairs is None or _is_denied(row, search, table):
            nonexistent += row.nxdomain
        else:
            unknown += row.nxdomain
    chains = [_chain(client, key, denied, search, table, pairs) for key, denied in parts.items()]
    chains.sort(key=lambda chain: (-chain.wasted, chain.name, chain.type))
    use = ClientUse(
        client,
        search,
        queries=sum(row.queries for row in rows),
        lookups=sum(row.answered for row in rows),
        chains=tuple(chains),
        searched_dots=_searched_dots(rows, search),
    )
    return use, nonexistent, unknown


def _chain(
    client: str,
    key: tuple[str, str, str],
    denied: list[NameRow],
    search: SearchList,
    table: ByName,
    pairs: _Pairs | None,
) -> Chain:
    name, answer, kind = key
    lookups = table[(answer, kind)].answered
    ratios: list[float | None] = [
        (row.nxdomain + row.servfail) / lookups if pairs is None else pairs.ratio(row, answer) for row in denied
    ]
    known = [ratio for ratio in ratios if ratio is not None]
    # A resolver queries each step once per lookup.
    usual = sum(known) / len(known) if known else 1.0
    more = 1.0
    if pairs is not None:
        conf = ResolvConf((), search.domains, search.ndots if search.ndots is not None else dots(name) + 1)
        asked = candidates(name, conf)
        before = asked[: asked.index(answer)] if answer in asked else []
        more += sum((step, kind) not in table for step in before) / len(denied)
    wasted = failed = wasted_us = 0.0
    for row, ratio in zip(denied, ratios, strict=True):
        queries = more * lookups * (usual if ratio is None else ratio)
        share = row.nxdomain / (row.nxdomain + row.servfail)
        wasted += share * queries
        failed += (1 - share) * queries
        wasted_us += row.mean_us * queries
    return Chain(client, name, kind, answer, lookups, round(wasted), round(failed), wasted_us)


def _is_denied(row: NameRow, search: SearchList, table: ByName) -> bool:
    """Whether nothing is known to answer this name: queried alone and NXDOMAIN, or no step of a known search list."""
    stems = [row.name[: -len(domain) - 1] for domain in search.domains if row.name.endswith("." + domain)]
    if not stems:
        # A search list inferred from a table with omitted rows may lack domains.
        return search.source in ("resolv_conf", "matching_resolv_conf")
    return any((stem, row.type) in table and not table[(stem, row.type)].answered for stem in stems)


def _resolved(row: NameRow, search: SearchList, table: ByName) -> tuple[str, str] | None:
    """(name, answered name) of the lookup that an NXDOMAIN row was a step of; None: of no answered lookup."""
    endings = sorted(search.domains, key=lambda domain: -len(domain))
    # Also tried before its search domains: a name with `ndots` dots or more.
    stems = [row.name[: -len(domain) - 1] for domain in endings if row.name.endswith("." + domain)]
    for name in (*stems, row.name):
        for other in (name, *(f"{name}.{ending}" for ending in search.domains)):
            answered = table.get((other, row.type))
            if other != row.name and answered is not None and answered.answered:
                return name, other
    return None


def queries_with(use: ClientUse, ndots: int) -> float:
    """Queries per lookup of this client's chains with another `ndots`, by the rule of glibc and Go."""
    conf = ResolvConf((), use.search.domains, ndots)
    lookups = queries = 0
    for chain in use.chains:
        asked = candidates(chain.name, conf)
        lookups += chain.lookups
        queries += chain.lookups * (asked.index(chain.answer) + 1 if chain.answer in asked else len(asked))
    return queries / lookups if lookups else 1.0


def best_ndots(use: ClientUse, default: int = 5) -> tuple[int, float] | None:
    """(ndots, queries per lookup) for one client: the largest value that saves as much as any safe value.

    Safe: every name that is found through the search list has fewer dots than that, so that musl, which does not search
    others, still finds it. None if no safe value saves a tenth.
    """
    below = use.search.ndots if use.search.ndots is not None else default
    safe = range(max(1, use.searched_dots + 1), below)
    costs = {ndots: queries_with(use, ndots) for ndots in safe}
    if not costs or min(costs.values()) > 0.9 * use.queries_per_lookup:
        return None
    ndots = max(value for value, cost in costs.items() if cost <= 1.05 * min(costs.values()))
    return ndots, costs[ndots]


def _searched_dots(rows: Iterable[NameRow], search: SearchList) -> int:
    """Most dots in a name that was found by appending a search domain; -1: none was."""
    found = -1
    for row in rows:
        fitting = [domain for domain in search.domains if row.answered and row.name.endswith("." + domain)]
        if fitting:
            found = max(found, dots(row.name[: -len(max(fitting, key=len)) - 1]))
    return found
