"""Series of remote write are known by name and labels alone; what is received is described, and from whom it comes.

Before, a series was known by its resource too, so that it could not move to another one: now each moves, with its
history, when its next sample names a resource that is more exact.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from alembic import op
from sqlalchemy import text

from migrations.helpers import enable_tenant_rls

revision = "20261125_1541"
down_revision = "20261125_1540"
depends_on = None
branch_labels = None

ORGANIZATION = "organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE"
TABLES = f"""
ALTER TABLE external_series ADD COLUMN last_seen_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX external_series_name ON external_series (organization_id, name);
CREATE INDEX external_series_labels ON external_series USING gin (labels jsonb_path_ops);
CREATE INDEX external_series_instance ON external_series (organization_id, (labels ->> 'instance') text_pattern_ops);
CREATE TABLE external_metrics (
    {ORGANIZATION}, name text NOT NULL, type text NOT NULL, help text NOT NULL, unit text NOT NULL,
    PRIMARY KEY (organization_id, name)
);
CREATE TABLE remote_write_senders (
    {ORGANIZATION}, token_id bigint NOT NULL REFERENCES tokens (id) ON DELETE CASCADE, agent text NOT NULL,
    first_at timestamptz NOT NULL DEFAULT now(), last_at timestamptz NOT NULL DEFAULT now(),
    requests bigint NOT NULL, samples bigint NOT NULL, not_written bigint NOT NULL, newest_us bigint,
    -- Samples of the minute (of the epoch) of the newest request, and of the minute before it.
    minute bigint NOT NULL, minute_samples bigint NOT NULL, minute_before_samples bigint NOT NULL,
    PRIMARY KEY (organization_id, token_id, agent)
);
CREATE INDEX ON remote_write_senders (token_id);
"""
_AT_ONCE = 5000
_SET = text(
    "UPDATE external_series SET digest = new.digest FROM unnest(CAST(:ids AS bigint[]), CAST(:digests AS bytea[])) "
    "AS new (id, digest) WHERE external_series.id = new.id"
)


def upgrade() -> None:
    op.execute(TABLES)
    for table in ("external_metrics", "remote_write_senders"):
        enable_tenant_rls(table)
    first: dict[tuple[int, bytes], int] = {}
    again: dict[int, int] = {}
    changed: dict[int, bytes] = {}
    for identity, organization, _, name, labels in _series():
        digest = _digest([name, sorted(labels.items())])
        kept = first.setdefault((organization, digest), identity)
        if kept == identity:
            changed[identity] = digest
        else:
            again[identity] = kept
    for dropped, kept in again.items():
        values = {"kept": kept, "dropped": dropped}
        op.get_bind().execute(text("UPDATE external_samples SET series_id = :kept WHERE series_id = :dropped"), values)
        op.get_bind().execute(text("DELETE FROM external_series WHERE id = :dropped"), values)
    _set(changed)


def downgrade() -> None:
    _set({one[0]: _digest([one[2], one[3], sorted(one[4].items())]) for one in _series()})
    op.execute("DROP TABLE remote_write_senders, external_metrics")
    op.execute("DROP INDEX external_series_instance, external_series_labels, external_series_name")
    op.execute("ALTER TABLE external_series DROP COLUMN last_seen_at")


def _series() -> Iterable[tuple[int, int, int, str, dict[str, str]]]:
    rows = op.get_bind().execute(
        text("SELECT id, organization_id, resource_id, name, labels FROM external_series ORDER BY id")
    )
    return [(row.id, row.organization_id, row.resource_id, row.name, row.labels) for row in rows]


def _digest(key: list[object]) -> bytes:
    return hashlib.blake2b(json.dumps(key).encode(), digest_size=16).digest()


def _set(digests: dict[int, bytes]) -> None:
    ids = list(digests)
    for at in range(0, len(ids), _AT_ONCE):
        part = ids[at : at + _AT_ONCE]
        op.get_bind().execute(_SET, {"ids": part, "digests": [digests[one] for one in part]})
