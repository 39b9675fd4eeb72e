"""What each version of a DNS program can do, each with its source. Fixes use this instead of comparing numbers.

"Unknown" is a separate answer: a fix whose version is unknown says so as a precondition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gate:
    """A behavior of `program` from version `since` on, and its source."""

    program: str
    since: Version
    what: str
    source: str

    @property
    def since_text(self) -> str:
        return ".".join(map(str, self.since))

    def open(self, found: Version | None) -> bool | None:
        """Whether this version has it. None: the version is not known."""
        if found is None:
            return None
        return found[: len(self.since)] >= self.since


_NOTES = "https://github.com/coredns/coredns/blob/master/notes/coredns-"
_POOL = "https://github.com/coredns/coredns/blob/{}/plugin/{}"

DNSMASQ_MAX_TCP = Gate(
    "dnsmasq", (2, 90), "--max-tcp-connections sets how many TCP connections are served at once; before, 20",
    "https://thekelleys.org.uk/dnsmasq/CHANGELOG",
)  # fmt: skip
KUBERNETES_DNS_DNSMASQ_290 = Gate(
    "kubernetes/dns", (1, 23, 0), "its dnsmasq is 2.90",
    "https://github.com/kubernetes/dns/commit/b507dd340772c21d93e36ae2479d0026158c0832",
)  # fmt: skip
GKE_KUBE_DNS_ON_COREDNS = Gate(
    "GKE", (1, 36), "kube-dns runs on CoreDNS: no dnsmasq, no child for each connection",
    "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/kube-dns",
)  # fmt: skip
COREDNS_PREFER_UDP = Gate("CoreDNS", (1, 2, 0), "forward has prefer_udp", _NOTES + "1.2.0.md")
COREDNS_SERVE_STALE = Gate("CoreDNS", (1, 6, 6), "cache has serve_stale", _NOTES + "1.6.6.md")
COREDNS_MAX_CONCURRENT = Gate("CoreDNS", (1, 6, 8), "forward has max_concurrent", _NOTES + "1.6.8.md")
COREDNS_MAX_CONCURRENT_REFUSES = Gate(
    "CoreDNS", (1, 8, 1), "max_concurrent answers REFUSED; before, SERVFAIL", _NOTES + "1.8.1.md"
)
COREDNS_CLEANS_EVERY_10_S = Gate(
    "CoreDNS", (1, 7, 1), "expired idle connections are closed every 10 s, whatever expire says; before, every expire",
    _POOL.format("v1.7.1", "forward/persistent.go"),
)  # fmt: skip
COREDNS_MULTISOCKET = Gate("CoreDNS", (1, 12, 0), "has the plugin multisocket", _NOTES + "1.12.0.md")
COREDNS_OLDEST_FIRST = Gate(
    "CoreDNS", (1, 14, 1), "the pool hands out its oldest idle connection first, so that all of them stay in use; "
    "before, the newest",
    _POOL.format("v1.14.1", "pkg/proxy/connect.go"),
)  # fmt: skip
COREDNS_MAX_IDLE = Gate(
    "CoreDNS", (1, 14, 1), "forward has max_idle_conns", _POOL.format("v1.14.1", "forward/README.md")
)
COREDNS_MAX_AGE = Gate("CoreDNS", (1, 14, 3), "forward has max_age", _NOTES + "1.14.3.md")
COREDNS_SHED = Gate("CoreDNS", (1, 14, 7), "has the plugin shed", _NOTES + "1.14.7.md")
COREDNS_READ_TIMEOUT = Gate("CoreDNS", (1, 14, 5), "forward has read_timeout", _NOTES + "1.14.5.md")

GATES = tuple(value for value in list(globals().values()) if isinstance(value, Gate))


def parse(text: str | None) -> Version | None:
    """The first dotted number of a text: "dnsmasq-2.90" → (2, 90), "v1.30.5-gke.1014001" → (1, 30, 5); else None."""
    match = re.search(r"(?<![\d.])v?(\d+(?:\.\d+)+)", text or "")
    return tuple(int(part) for part in match[1].split(".")) if match else None


def of_server(server: ResourceView, program: str) -> Version | None:
    """The version of a DNS server if it is this program ("dnsmasq", "coredns"); None if not, or unknown.

    A node-cache reports its own version, not that of the CoreDNS inside it.
    """
    if server.fact("dns.software") != program:
        return None
    return parse(server.fact("dns.version"))


def kubernetes_dns(snapshot: Snapshot) -> Version | None:
    """The release of kubernetes/dns in the subject's image; else None."""
    return kubernetes_dns_image(snapshot.subject.fact("workload.image"))


def kubernetes_dns_image(image: str | None) -> Version | None:
    """ "k8s-dns-dnsmasq-nanny:1.22.28-gke.5" → (1, 22, 28); None for another image."""
    name, _, tag = (image or "").partition("@")[0].rpartition(":")
    return parse(tag) if "k8s-dns-" in name else None


def gke(snapshot: Snapshot) -> Version | None:
    """The version of the cluster if it is GKE; else None."""
    return gke_version(snapshot.node.fact("kube.server_version"))


def gke_version(text: str | None) -> Version | None:
    """ "v1.30.5-gke.1014001" → (1, 30, 5); None if it is not GKE's."""
    return parse(text) if "-gke." in (text or "") else None


def parse_version(text: str | None) -> tuple[int, ...] | None:
    """ "v1.24.4-gke.300" → (1, 24, 4); None if there is no dotted number."""
    match = re.search(r"(?<![\d.])v?(\d+(?:\.\d+)+)", text or "")
    return tuple(int(part) for part in match[1].split(".")) if match else None
