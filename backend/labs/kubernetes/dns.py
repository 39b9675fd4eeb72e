"""The cluster's own DNS: CoreDNS with the plugin `kubernetes`, configured as in its manifest."""

from __future__ import annotations

from labs.kubernetes import objects
from labs.kubernetes.layout import DNS_SERVICE
from labs.kubernetes.objects import SYSTEM, Object, Workload

# No resolver behind it: names outside the cluster do not exist.
ALONE = """.:53 {
    errors
    health
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
    }
    cache 30
}
"""
_RBAC = "rbac.authorization.k8s.io"


def cluster_dns(corefile: str = ALONE) -> Workload:
    """CoreDNS as a cluster has it, with the rights from its manifest."""
    found = objects.coredns("coredns", corefile, DNS_SERVICE, account="coredns")
    of_all = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "system:coredns"}
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    subject = {"kind": "ServiceAccount", "name": "coredns", "namespace": SYSTEM}
    cluster_wide = {"apiVersion": f"{_RBAC}/v1", "metadata": {"name": "system:coredns"}}
    rights: list[Object] = [
        objects.made("v1", "ServiceAccount", "coredns", SYSTEM),
        {**cluster_wide, "kind": "ClusterRole", "rules": rules},
        {**cluster_wide, "kind": "ClusterRoleBinding", "roleRef": of_all, "subjects": [subject]},
    ]
    return Workload(found.name, found.namespace, found.labels, (*rights, *found.objects))
