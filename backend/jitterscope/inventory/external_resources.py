"""Which resource a series of another system belongs to: the container that its labels name, else its scrape target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT
from sqlalchemy.orm import Session

_CONTAINERS = text(
    "SELECT DISTINCT ON (name) name, id FROM resources WHERE kind = 'cgroup' AND name = ANY(:names) "
    "ORDER BY name, last_seen_at DESC"
).bindparams(bindparam("names", type_=ARRAY(TEXT)))

_TARGETS = text(
    """
    INSERT INTO resources (organization_id, kind, key, name)
    SELECT :organization, 'external', key, key FROM unnest(:keys) AS wanted (key) ORDER BY key
    ON CONFLICT (organization_id, node_id, kind, key) DO UPDATE SET last_seen_at = now() RETURNING id, key
    """
).bindparams(bindparam("keys", type_=ARRAY(TEXT)))

_MAX_KEY = 512


def resolve(session: Session, organization_id: int, labels: Sequence[Mapping[str, str]]) -> list[int]:
    """Resource ids parallel to `labels`; makes resources of kind "external" for targets that are new.

    cAdvisor and kubelet metrics carry namespace, pod and container: they join the cgroup that a collector named so.
    """
    containers = [_container(one) for one in labels]
    targets = [_target(one) for one in labels]
    known: dict[str, int] = {}
    if any(containers):
        rows = session.execute(_CONTAINERS, {"names": sorted({name for name in containers if name})})
        known = {row.name: row.id for row in rows}
    wanted = sorted({target for name, target in zip(containers, targets, strict=True) if name not in known})
    made: dict[str, int] = {}
    if wanted:
        rows = session.execute(_TARGETS, {"organization": organization_id, "keys": wanted})
        made = {row.key: row.id for row in rows}
    return [known[name] if name in known else made[target] for name, target in zip(containers, targets, strict=True)]


def _container(labels: Mapping[str, str]) -> str:
    """The display name of the cgroup: namespace/pod/container; empty where the labels name none."""
    parts = [labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", "")]
    return "/".join(parts) if all(parts) else ""


def _target(labels: Mapping[str, str]) -> str:
    parts = [labels[name] for name in ("job", "instance") if labels.get(name)]
    return ("/".join(parts) or "remote write")[:_MAX_KEY]
