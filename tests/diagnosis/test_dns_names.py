"""Tables of names: what is read, what is estimated for missing rows, and whose search list it is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jitterscope.diagnosis.areas.dns.readings import names as dns_names
from jitterscope.diagnosis.areas.dns.readings.amplification import ClientUse, best_ndots, measure, per_lookup
from jitterscope.diagnosis.areas.dns.readings.names import NameRow, NameSpan
from jitterscope.diagnosis.areas.dns.readings.search_lists import inferred, search_list
from jitterscope.diagnosis.core.snapshot import Event, FactValue, ResourceView
from jitterscope.diagnosis.programs.resolv_conf import ResolvConf, candidates, parse
from jitterscope.diagnosis.scenarios.dns.names import kubernetes, workload_facts

KUBERNETES = kubernetes("shop")
NXDOMAIN = "nxdomain"


def event(rows: object, start_s: float = 0.0, seconds: float = 10.0, **totals: int) -> Event:
    text = rows if isinstance(rows, str) else json.dumps(rows)
    attributes = {"rows": text} | {name: str(value) for name, value in totals.items()}
    return Event("dns.names", int(start_s * 1e6), int(seconds * 1e6), attributes)


def server(*events: Event) -> ResourceView:
    return ResourceView(1, "dns_server", "10.0.0.10:53", "dns", events=events)


def spans(*events: Event) -> list[NameSpan]:
    return dns_names.spans([server(*events)])


def pod(conf: ResolvConf, name: str = "web-1", addresses: tuple[str, ...] = (), number: int = 50) -> ResourceView:
    facts = workload_facts(conf, "shop", name, addresses)
    return ResourceView(number, "cgroup", name, name, facts=tuple(FactValue(k, v, 0) for k, v in facts.items()))


def steps(
    client: str, name: str, conf: ResolvConf, times: int, kind: str = "A", took_us: int = 1_000
) -> list[list[object]]:
    """Rows of `times` lookups of a name that exists as it is written."""
    rows: list[list[object]] = []
    for step in candidates(name, conf):
        found = step == name.rstrip(".")
        rows.append([client, step + ".", kind, times, 0 if found else times, 0, times * took_us])
        if found:
            break
    return rows


@pytest.mark.parametrize("rows", [
    "", "not json", "{}", "[1, 2]", "[[]]", '[["10.0.0.1", "a.", "A", "many", 0, 0, 0]]', "null",
    '[["10.0.0.1", "a.", "A", -3, 0, 0, 0]]', '[["10.0.0.1", "a.", "A", 3, -1, 0, 0]]', '[[1, 2, 3, 4, 5, 6, 7]]',
    '[["10.0.0.1", "a.", "A", 3, 0, 0, NaN]]', '[["10.0.0.1", "a.", "A", 3, 0, 0]]',
])  # fmt: skip
def test_rows_that_cannot_be_read_are_left_out(rows: str) -> None:
    found = measure(spans(event(rows, queries=5)))
    assert (found.listed, found.wasted, found.clients) == (0, 0, ())


def test_names_are_compared_without_case_and_last_dot() -> None:
    rows = [["c", "API.Example.com.", "a", 2, 0, 0, 10], ["c", "api.example.com", "A", 3, 1, 0, 30]]
    assert dns_names.merged(spans(event(rows))) == [NameRow("c", "api.example.com", "A", 5, 1, 0, 40.0)]


def test_totals_count_what_is_not_listed() -> None:
    (span,) = spans(event([["c", "a.", "A", 4, 4, 0, 10]], queries=400, nxdomain=300, names=77))
    assert (span.queries, span.nxdomain, span.names, span.whole) == (400, 300, 77, False)
    assert spans(event([["c", "a.", "A", 4, 4, 0, 10]]))[0].whole


def test_time_that_two_servers_share_counts_once() -> None:
    parts = [*spans(event([], 0, 10), event([], 10, 4)), *spans(event([], 2, 10))]
    assert dns_names.total_seconds(parts) == pytest.approx(14.0)


def test_given_up_queries_are_no_answers() -> None:
    rows = [*steps("c", "api.example.com", KUBERNETES, 40)]
    rows[-1][6] = 40 * 5_000_000
    assert measure(spans(event(rows))).wasted == 0


def test_a_row_that_is_listed_at_times_counts_for_the_whole_time() -> None:
    listed = [["c", "a.example.", "A", 30, 0, 0, 3_000]]
    other = [["c", "b.example.", "A", 30, 0, 0, 3_000]]
    partly = spans(event(listed, 0, queries=600), event(other, 10, queries=600), event(listed, 20, queries=600))
    rows = {row.name: row for row in dns_names.typical(partly)}
    assert (rows["a.example"].queries, rows["b.example"].queries) == (90, 90)
    whole = spans(event(listed, 0), event(other, 10), event(listed, 20))
    rows = {row.name: row for row in dns_names.typical(whole)}
    assert (rows["a.example"].queries, rows["b.example"].queries) == (60, 30)


def test_one_stall_does_not_make_a_name_slow() -> None:
    quick, stalled = [["c", "a.", "A", 10, 0, 0, 10_000]], [["c", "a.", "A", 10, 0, 9, 20_000_000]]
    (row,) = dns_names.typical(spans(event(quick, 0), event(stalled, 10), event(quick, 20)))
    assert (row.mean_us, row.servfail) == (1_000, 0)


@pytest.mark.parametrize(("name", "ndots", "asked"), [
    ("api.example.com", 5, 4), ("api.example.com", 2, 1), ("api.example.com", 3, 4), ("api.example.com.", 5, 1),
    ("db", 1, 4), ("db", 0, 1),
])  # fmt: skip
def test_a_resolver_asks_as_resolv_conf_says(name: str, ndots: int, asked: int) -> None:
    """resolv.conf(5): fewer dots than ndots: search domains first; a trailing dot: as it is."""
    names = candidates(name, replace(KUBERNETES, ndots=ndots))
    assert names.index(name.rstrip(".")) + 1 == asked
    assert len(names) == (1 if name.endswith(".") else 4)


@pytest.mark.parametrize("text", [None, "", "[]", "nonsense", '"text"'])
def test_a_resolv_conf_that_cannot_be_read_is_none(text: str | None) -> None:
    assert parse(text) is None


def test_odd_resolv_conf_values_fall_back() -> None:
    conf = parse('{"search": ["A.B.", 3], "ndots": "x", "nameservers": null}')
    assert conf == ResolvConf((), ("a.b",), 1)


def test_every_step_is_counted_and_types_are_look_ups_of_their_own() -> None:
    rows = steps("10.8.0.3", "api.example.com", KUBERNETES, 20) + steps(
        "10.8.0.3", "api.example.com", KUBERNETES, 20, "AAAA"
    )
    found = measure(spans(event(rows)))
    assert (found.wasted, found.lookups, found.nonexistent) == (120, 40, 0)
    assert per_lookup(found.chains) == pytest.approx(4.0)
    assert found.chains[0].added_us == pytest.approx(3_000)


def test_both_name_servers_asked_at_once_amplify_nothing() -> None:
    """musl queries all name servers in parallel: one server that has two addresses sees each query twice."""
    once = measure(spans(event(steps("10.8.0.3", "api.example.com", KUBERNETES, 20))))
    twice = measure(spans(event(steps("10.8.0.3", "api.example.com", KUBERNETES, 40))))
    assert per_lookup(once.chains) == per_lookup(twice.chains)


def test_a_short_name_stops_where_it_is_found() -> None:
    rows = [
        ["10.8.0.3", "auth.pay.shop.svc.cluster.local.", "A", 20, 20, 0, 20_000],
        ["10.8.0.3", "auth.pay.svc.cluster.local.", "A", 20, 0, 0, 20_000],
    ]
    (chain,) = measure(spans(event(rows)), [pod(KUBERNETES, addresses=("10.8.0.3",))]).chains
    assert (chain.name, chain.answer, chain.queries_per_lookup) == ("auth.pay", "auth.pay.svc.cluster.local", 2.0)


def test_names_that_nothing_answers_are_no_amplification() -> None:
    rows = [["10.8.0.3", f"{step}.", "A", 30, 30, 0, 0] for step in candidates("api.exmaple.com", KUBERNETES)]
    rows += [["10.8.0.3", "api.example.com.", "A", 30, 0, 0, 0]]
    found = measure(spans(event(rows)), [pod(KUBERNETES, addresses=("10.8.0.3",))])
    assert (found.wasted, found.nonexistent) == (0, 120)


def test_the_address_finds_the_pod_and_its_list() -> None:
    pods = [pod(kubernetes("other"), "other", ("10.8.0.9",), 51), pod(KUBERNETES, "web", ("10.8.0.3",), 52)]
    rows = measure(spans(event(steps("10.8.0.3", "api.example.com", KUBERNETES, 20))), pods)
    search = rows.clients[0].search
    assert (search.source, search.ndots, [view.id for view in search.workloads]) == ("resolv_conf", 5, [52])


def test_without_addresses_the_namespace_in_the_list_decides() -> None:
    client = measure(spans(event(steps("10.8.0.3", "api.example.com", KUBERNETES, 20))),
                     [pod(kubernetes("other"), "other", number=51), pod(KUBERNETES, "a", number=52),
                      pod(KUBERNETES, "b", number=53)]).clients[0]  # fmt: skip
    assert client.search.source == "matching_resolv_conf"
    assert {view.id for view in client.search.workloads} == {52, 53}


def test_a_pod_with_another_address_is_not_taken() -> None:
    rows = dns_names.merged(spans(event(steps("10.8.0.3", "api.example.com", KUBERNETES, 20))))
    assert search_list("10.8.0.3", rows, [pod(KUBERNETES, addresses=("10.8.0.77",))]).source == "inferred"


def rows_of(*rows: list[object]) -> list[NameRow]:
    return dns_names.merged(spans(event(list(rows))))


def test_search_domains_are_seen_in_what_is_asked() -> None:
    conf = kubernetes("shop", "c.project.internal", "google.internal")
    found = inferred(
        rows_of(*steps("c", "api.example.com", conf, 20), ["c", "db.shop.svc.cluster.local.", "A", 9, 0, 0, 0])
    )
    assert set(found) == set(conf.search)
    assert found[:3] == conf.search[:3]


@pytest.mark.parametrize(
    "rows",
    [
        # One suffix of one name, far less often than the name: a name that was queried by mistake.
        [["c", "example.com.", "A", 500, 0, 0, 0], ["c", "example.com.lan.", "A", 4, 4, 0, 0]],
        # A block list looks up addresses below its own name; the address itself is never queried.
        [["c", f"{i}.2.0.192.zen.example.org.", "A", 9, 9, 0, 0] for i in range(5)],
        # The longer name exists.
        [["c", "example.com.", "A", 20, 0, 0, 0], ["c", "example.com.cdn.net.", "A", 20, 0, 0, 0]],
        # Another client queries the name itself.
        [["d", "example.com.", "A", 20, 0, 0, 0], ["c", "example.com.lan.", "A", 20, 20, 0, 0]],
    ],
)
def test_what_is_no_search_domain(rows: list[list[object]]) -> None:
    assert measure(spans(event(rows))).wasted == 0


def one(rows: list[list[object]], conf: ResolvConf) -> ClientUse:
    return measure(spans(event(rows)), [pod(conf, addresses=("10.8.0.3",))]).clients[0]


def test_ndots_keeps_short_names_found() -> None:
    """With ndots:1, musl no longer searches service.namespace: 2 is the lowest safe value here, and enough."""
    short = [
        ["10.8.0.3", "auth.pay.shop.svc.cluster.local.", "A", 20, 20, 0, 0],
        ["10.8.0.3", "auth.pay.svc.cluster.local.", "A", 20, 0, 0, 0],
    ]
    outside = steps("10.8.0.3", "api.example.com", KUBERNETES, 20)
    assert best_ndots(one([*outside, *short], KUBERNETES)) == (2, 1.5)
    # An outside name with one dot would need ndots:1, which costs the short name: there is no advice for it.
    single = steps("10.8.0.3", "github.com", KUBERNETES, 20)
    assert best_ndots(one([*single, *short], KUBERNETES)) is None
    assert best_ndots(one(single, KUBERNETES)) == (1, 1.0)


def test_ndots_is_not_advised_where_it_is_low_already() -> None:
    conf = replace(KUBERNETES, ndots=2)
    assert best_ndots(one(steps("10.8.0.3", "github.com", conf, 20), conf)) == (1, 1.0)
    conf = replace(KUBERNETES, ndots=1)
    rows = [["10.8.0.3", "db.shop.svc.cluster.local.", "A", 20, 0, 0, 0]]
    assert best_ndots(one(rows, conf)) is None


def test_a_table_that_is_cut_off_is_filled_up() -> None:
    """One of three negative steps is listed, and a tenth of the names: everything is scaled accordingly."""
    rows: list[list[object]] = []
    for i in range(10):
        listed = steps("10.8.0.3", f"api{i}.example.com", KUBERNETES, 10)
        rows += [listed[i % 3], listed[-1]]
    found = measure(spans(event(rows, queries=4_000, nxdomain=3_000)), [pod(KUBERNETES, addresses=("10.8.0.3",))])
    assert per_lookup(found.chains) == pytest.approx(4.0)
    assert found.wasted == 3_000
    assert found.listed == 200


def test_a_cut_table_does_not_hide_names_that_do_not_exist() -> None:
    rows: list[list[object]] = []
    for i in range(5):
        listed = steps("10.8.0.3", f"api{i}.example.com", KUBERNETES, 10)
        rows += [listed[0], listed[-1], ["10.8.0.3", f"typo{i}.example.com.", "A", 90, 90, 0, 0]]
    found = measure(spans(event(rows, queries=4_000, nxdomain=3_000)), [pod(KUBERNETES, addresses=("10.8.0.3",))])
    assert found.nonexistent == 450
    assert found.wasted == 750


def test_a_query_that_was_given_up_is_no_answer() -> None:
    """One of eight steps of a search list was lost: the name was not found there."""
    lost = NameRow("10.0.0.9", "api.shop.example.svc.cluster.local", "A", 8, 7, 0, 5_003_610.0)
    assert lost.answered == 0
    found = NameRow("10.0.0.9", "web.svc.cluster.local", "A", 8, 7, 0, 3_610.0)
    assert found.answered == 1
    slow = NameRow("10.0.0.9", "api.shop.example", "A", 100, 0, 0, 100 * 60_000.0)
    assert slow.answered == 100
