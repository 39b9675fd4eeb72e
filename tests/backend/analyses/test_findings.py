"""Causes found in files alone: the lookups that case 4 describes, as logs of dnsmasq and of CoreDNS."""

from __future__ import annotations

from jitterscope.analyses.engine import read_text

# What `nslookup -debug api.signicat.com` showed: six negative answers before the right one.
SEARCH = (
    "some-ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "europe-west1.c.some-project.internal",
    "c.some-project.internal", "google.internal",
)  # fmt: skip
HOSTS = ("api.signicat.com", "archive.ubuntu.com", "test.salesforce.com")


def dnsmasq_log(*, search: tuple[str, ...], lookups: int) -> str:
    """Lookups 100 ms apart behind the nanny, each name queried with every search domain, then alone."""
    lines = []
    serial = 315_000
    for number in range(lookups):
        at_us = number * 100_000
        host, client = HOSTS[number % len(HOSTS)], f"10.0.0.{80 + number % 4}"
        for name in (*(f"{host}.{domain}" for domain in search), host):
            serial += 1
            known = name == host
            for text in (
                f"query[A] {name} from {client}",
                f"forwarded {name} to 127.0.0.1#10053",
                f"reply {name} is {'93.184.216.34' if known else 'NXDOMAIN'}",
            ):
                at_us += 150
                second, micro = divmod(at_us, 1_000_000)
                clock = f"{8 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{micro:06}"
                head = f"I1010 {clock}   1 nanny.go:146] dnsmasq[{4800 + number % 4}]"
                lines.append(f"{head}: {serial} {client}/{5000 + number % 4} {text}\n")
    return "".join(lines)


def coredns_log(*, search: tuple[str, ...], lookups: int) -> str:
    """The same as the log plugin writes it, with kubectl's timestamps."""
    lines = []
    for number in range(lookups):
        host = HOSTS[number % len(HOSTS)]
        second, tenth = divmod(number, 10)
        stamp = f"2023-10-10T08:{second // 60:02}:{second % 60:02}.{tenth}"
        for place, name in enumerate((*(f"{host}.{domain}" for domain in search), host)):
            rcode = "NOERROR qr,rd,ra" if name == host else "NXDOMAIN qr,aa,rd"
            query = f'"A IN {name}. udp 60 false 512" {rcode} 150 0.000{place + 1}s'
            lines.append(f"{stamp}{place:05}Z [INFO] 10.0.0.{80 + number % 4}:4{number:04} - {number} {query}\n")
    return "".join(lines)


def test_search_domains_are_found_in_a_dnsmasq_log() -> None:
    report = read_text(dnsmasq_log(search=SEARCH, lookups=600), year=2023)
    assert [found.cause for found in report.findings][:1] == ["dns/search_domain_amplification"]
    assert report.findings[0].fixes
    others = [one.cause for one in report.not_found] + [one.cause for one in report.not_enough_data]
    assert report.findings[0].cause not in others


def test_search_domains_are_found_in_a_coredns_log() -> None:
    report = read_text(coredns_log(search=SEARCH, lookups=600), year=2023)
    assert [found.cause for found in report.findings][:1] == ["dns/search_domain_amplification"]


def test_names_with_a_trailing_dot_are_no_finding() -> None:
    for text in (dnsmasq_log(search=(), lookups=600), coredns_log(search=(), lookups=600)):
        report = read_text(text, year=2023)
        assert report.findings == []
        assert "dns/search_domain_amplification" in {one.cause for one in report.not_found}
