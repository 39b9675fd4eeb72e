"""Values that exist: made-up IDs and times would find nothing, and so would show nothing of an answer's structure."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import zstandard
from psycopg import sql
from schemathesis import Case

from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents.scheduling import diagnoses
from jitterscope.recordings import file as recording_file
from jitterscope.recordings.replay import prepare
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US
from jitterscope.tenancy import founding
from jitterscope.whatif import models as whatif
from tests.backend.conftest import Database, Organization

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
# A throttled CPU, a DNS path, pod starts, a node's kernel.
_FED = ("coredns-gc-gogc", "nodelocal-dnsmasq-pool-churn", "bpf-startup-fault", "negative-dentries-drop")
_TABLES = {
    "resource_id": "resources", "resource": "resources", "node": "resources", "server": "resources",
    "subject": "resources", "incident_id": "incidents", "capture_id": "captures", "analysis_id": "analyses",
    "channel_id": "channels", "delivery_id": "deliveries", "token_id": "tokens", "invitation_id": "invitations",
    "user_id": "memberships", "link_id": "shared_links", "repository_id": "repositories",
}  # fmt: skip


@dataclass(frozen=True)
class Values:
    """An organization with data, the IDs of its objects by parameter name, and its newest minutes."""

    organization: Organization
    known: Mapping[str, Sequence[int | str]]
    ends: datetime

    @classmethod
    def of_recordings(cls, url: str, database: Database) -> Values:
        """Feed recordings as collectors do, and have them diagnosed."""
        made = founding.found_organization(
            database.owner_url, f"Schema {secrets.token_hex(4)}", f"{secrets.token_hex(8)}@example.org",
            secrets.token_urlsafe(12), operator=True,
        )  # fmt: skip
        organization = Organization(made.organization_id, "", "", database.owner_url)
        ends = datetime.now(UTC)
        with httpx.Client(base_url=f"{url}/api/v1", timeout=120) as http:
            for name in _FED:
                recording = recording_file.load(RECORDINGS / f"{name}.jitterscope")
                shift_us = int(ends.timestamp() * 1e6) - recording.end_us
                for batch in prepare(recording, shift_us - shift_us % TICK_US, f"-{name}"):
                    body = zstandard.compress(batch.SerializeToString())
                    http.post("/ingest", content=body, headers=organization.ingest_headers).raise_for_status()
        with psycopg.connect(database.superuser_url) as superuser:
            for kind in ("cgroup", "node"):
                for (subject,) in superuser.execute(
                    "SELECT id FROM resources WHERE organization_id = %s AND kind = %s", (organization.id, kind)
                ).fetchall():
                    diagnoses.diagnose_subject(organization.id, subject)
        return cls(organization, {}, ends)

    def anew(self, url: str, database: Database) -> Values:
        """Recreate one of each thing that a test might have deleted, and look up the current IDs."""
        with httpx.Client(base_url=f"{url}/api/v1", timeout=120, headers=self.organization.headers) as http:
            for path, content in _MADE.items():
                made = http.post(path, json=content)
                if made.status_code != 409:  # there are as many as an organization can have
                    made.raise_for_status()
            # Another case might have forbidden them.
            http.put("/links/policy", json={"links_allowed": True}).raise_for_status()
            newest = http.get("/incidents", params={"limit": 1}).raise_for_status().json()["items"][0]["id"]
            http.post(f"/incidents/{newest}/links").raise_for_status()
        known: dict[str, Sequence[int | str]] = {}
        with psycopg.connect(database.superuser_url) as superuser:
            for name, table in _TABLES.items():
                column = sql.Identifier("user_id" if table == "memberships" else "id")
                query = sql.SQL("SELECT {0} FROM {1} WHERE organization_id = %s ORDER BY {0} DESC LIMIT 200")
                rows = superuser.execute(query.format(column, sql.Identifier(table)), (self.organization.id,))
                known[name] = [row[0] for row in rows]
        known["user_id"] = known["user_id"][:-1]  # without the founder, whose token makes these things
        known |= {"cause_id": list(all_causes()), "cause": list(all_causes()), "metric": list(METRICS)}
        known["model"] = [one.id for one in whatif.listed(None)]
        assert known["incident_id"], "the recordings made no incident"
        return replace(self, known=known)

    def put_in(self, case: Case[Any]) -> None:
        """Replace three of four values that a parameter allows by an existing one; which ones is always the same."""
        body = case.body if isinstance(case.body, dict) else {}
        for container in (case.path_parameters, case.query, body):
            for name, value in list((container or {}).items()):
                if isinstance(value, list):
                    container[name] = [self._instead(name, one) for one in value]
                else:
                    container[name] = self._instead(name, value)

    def _instead(self, name: str, value: Any) -> Any:
        number = value if isinstance(value, int) else len(value) if isinstance(value, str) else 0
        if isinstance(value, bool | None) or number % 4 == 3:
            return value
        if name in ("from", "to", "split") and isinstance(value, str):
            back = timedelta(minutes=0 if name == "to" else 1 + number % 14)
            return (self.ends - back).isoformat().replace("+00:00", "Z")
        known = [one for one in self.known.get(name, ()) if isinstance(one, type(value))]
        return known[number % len(known)] if known else value


_MADE: dict[str, dict[str, Any]] = {
    "/channels": {
        "kind": "webhook", "name": "hook", "config": {"url": "http://127.0.0.1:9/hook", "secret": "0123456789abcdef"},
    },
    "/repositories": {
        "kind": "gitlab", "url": "https://127.0.0.1:9", "repository": "example/deploy", "token": "0123456789abcdef",
        "files": [{"path": "coredns.yaml", "format": "manifest"}],
    },
    "/collectors/tokens": {"name": "collectors"},
    "/tokens": {"name": "reader", "scopes": ["*:read"]},
    "/members/invitations": {"email": "somebody@example.org", "role": "viewer"},
    "/analyses/dns-bench": {
        "name": "bench", "sender": "test", "started_us": 0, "timeout_ms": 1000, "names": 10,
        "targets": [{"name": "cluster", "address": "192.0.2.1", "port": 53}],
        "runs": [{"target": "cluster", "rate_qps": 100, "seconds": 10, "sent": 1000, "answered": 990, "lost": 10}],
    },
}  # fmt: skip
