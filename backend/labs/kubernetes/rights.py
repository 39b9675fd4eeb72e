"""What a service account may do in the cluster, and what it did, from the API server's audit log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labs.kubernetes.cluster import Cluster


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """`resource` includes its subresource: "nodes/metrics". `name` and `namespace` are empty if any will do."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        """Human-readable: "get configmaps kube-dns in kube-system"."""
        of = f" in {self.namespace}" if self.namespace else ""
        return " ".join(filter(None, (self.verb, self.resource, self.name))) + of

    def covers(self, other: Right) -> bool:
        """Whether holding this right allows the other."""
        same = (self.verb, self.group, self.resource) == (other.verb, other.group, other.resource)
        return same and self.namespace in ("", other.namespace) and self.name in ("", other.name)


def granted(cluster: Cluster, selector: str) -> set[Right]:
    """The rights given by the roles with these labels, bound cluster-wide or in their namespace."""
    return {right for role in _roles(cluster, selector) for right in _of(role)}


@contextmanager
def without(cluster: Cluster, selector: str, right: Right) -> Iterator[None]:
    """Until the context ends, the roles with these labels give everything except this one right."""
    roles = [role for role in _roles(cluster, selector) if right in set(_of(role))]
    try:
        for role in roles:
            rules = [rule for old in role["rules"] for rule in narrowed(old, right)]
            cluster.kubectl("replace", "-f", "-", standard_input=json.dumps(_written(role, rules)))
        yield
    finally:
        for role in roles:
            cluster.kubectl("replace", "-f", "-", standard_input=json.dumps(_written(role, role["rules"])))


def _roles(cluster: Cluster, selector: str) -> list[dict[str, Any]]:
    return list(cluster.get("clusterroles,roles", "-A", "-l", selector)["items"])


def _written(role: Mapping[str, Any], rules: object) -> dict[str, Any]:
    """Ready to be written back: not bound to the version that was read."""
    metadata = {name: value for name, value in role["metadata"].items() if name != "resourceVersion"}
    return {**role, "metadata": metadata, "rules": rules}


def narrowed(rule: Mapping[str, Any], right: Right) -> Iterator[dict[str, Any]]:
    """The rule split into one verb and one resource each, without the part that gives the right."""
    for verb in rule["verbs"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                part: dict[str, Any] = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                names = rule.get("resourceNames")
                if (verb, group, resource) == (right.verb, right.group, right.resource):
                    names = [name for name in names or [] if name != right.name]
                    if not names:
                        continue
                yield part if names is None else {**part, "resourceNames": names}


def _of(role: Mapping[str, Any]) -> Iterator[Right]:
    for rule in role["rules"]:
        for verb in rule["verbs"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Right(verb, group, resource, role["metadata"].get("namespace", ""), name)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of an account: to the API server, or to a kubelet, which asks the API server whether it is allowed."""

    allowed: frozenset[Right]
    refused: frozenset[Right]


def accounts(audit_log: Path, namespace: str) -> set[str]:
    """The service accounts of a namespace that sent the API server any request, as NAMESPACE:NAME."""
    start = f"system:serviceaccount:{namespace}:"
    users = {str(event["user"].get("username", "")) for event in _lines(audit_log)}
    return {user.removeprefix("system:serviceaccount:") for user in users if user.startswith(start)}


def asked(audit_log: Path, account: str) -> Asked:
    """The requests of `account` (NAMESPACE:NAME). Those that need no right (GET /version) are left out."""
    user = f"system:serviceaccount:{account}"
    found = list(_requests(_lines(audit_log), user))
    return Asked(
        frozenset(right for right, allowed in found if allowed),
        frozenset(right for right, allowed in found if not allowed),
    )


def _lines(audit_log: Path) -> Iterator[Mapping[str, Any]]:
    with audit_log.open() as lines:
        for line in lines:
            if line.endswith("\n"):  # the last one may be incomplete
                yield json.loads(line)


def _requests(events: Iterable[Mapping[str, Any]], user: str) -> Iterator[tuple[Right, bool]]:
    for event in events:
        reference = event.get("objectRef", {})
        if event["user"].get("username") == user and "resource" in reference:
            decision = event.get("annotations", {}).get("authorization.k8s.io/decision")
            yield _right(event["verb"], reference.get("apiGroup", ""), reference), decision == "allow"
        review = event.get("requestObject", {}).get("spec", {})
        if reference.get("resource") == "subjectaccessreviews" and review.get("user") == user:
            wanted = review.get("resourceAttributes")
            if wanted is not None:
                yield (
                    _right(wanted["verb"], wanted.get("group", ""), wanted),
                    bool(event.get("responseObject", {}).get("status", {}).get("allowed")),
                )


def _right(verb: str, group: str, at: Mapping[str, Any]) -> Right:
    below = f"/{at['subresource']}" if at.get("subresource") else ""
    return Right(verb, group, at["resource"] + below, at.get("namespace", ""), at.get("name", ""))
