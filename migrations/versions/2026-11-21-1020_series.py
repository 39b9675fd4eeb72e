"""Ledger of batches, landing blocks, long segments, rollups, distributions, events, queries, external series."""

from __future__ import annotations

from alembic import op

from migrations.helpers import APP_ROLE, enable_tenant_rls
from migrations.partitions import (
    DAY_US,
    create_partition_management,
    create_time_partitioned,
    drop_partition_management,
)

revision = "20261121_1020"
down_revision = "20261121_1010"
depends_on = None
branch_labels = None

ORGANIZATION = "organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE"
# Bulk tables have no foreign keys: a check for each row would cost more than the row.
BULK = "organization_id bigint NOT NULL"
# Payloads are packed already: trying to compress them again only burns CPU, and whole values cannot be sliced.
SLICEABLE = "bytea STORAGE EXTERNAL NOT NULL"

PLAIN = f"""
CREATE TABLE ingest_batches (
    {ORGANIZATION}, spool_id bytea NOT NULL, sequence bigint NOT NULL, sealed_at_us bigint NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (organization_id, spool_id, sequence)
);
CREATE INDEX ON ingest_batches (organization_id, received_at);
CREATE TABLE metrics (id integer PRIMARY KEY, name text NOT NULL UNIQUE, unit text NOT NULL, kind text NOT NULL);
CREATE TABLE series_layouts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {ORGANIZATION}, digest bytea NOT NULL,
    series_ids bigint[] NOT NULL, used_at timestamptz NOT NULL DEFAULT now(), UNIQUE (organization_id, digest)
);
CREATE TABLE external_series (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {ORGANIZATION},
    resource_id bigint NOT NULL REFERENCES resources (id) ON DELETE CASCADE, digest bytea NOT NULL,
    name text NOT NULL, labels jsonb NOT NULL, kind text NOT NULL, first_seen_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (organization_id, digest)
);
CREATE INDEX ON external_series (resource_id, name);
CREATE TABLE retention_policies (
    organization_id bigint PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    raw_days integer NOT NULL CHECK (raw_days BETWEEN 1 AND 1000),
    second_days integer NOT NULL CHECK (second_days BETWEEN raw_days AND 1000),
    minute_days integer NOT NULL CHECK (minute_days BETWEEN second_days AND 1000)
);
"""

# table: (columns, index, width of a partition in days)
PARTITIONED = {
    # What a collector sent, as it came: one row holds one tick range of many series. Lives until it is compacted.
    "series_blocks": (
        f"""{BULK}, id bigint NOT NULL DEFAULT nextval('series_block_ids'), node_id bigint NOT NULL,
            layout_id bigint NOT NULL, start_us bigint NOT NULL, step_us integer NOT NULL, tick_count integer NOT NULL,
            encoding smallint NOT NULL, payload {SLICEABLE}""",
        "(node_id, start_us)",
        1,
    ),
    "series_segments": (
        f"""{BULK}, series_id bigint NOT NULL, start_us bigint NOT NULL, step_us integer NOT NULL,
            tick_count integer NOT NULL, payload {SLICEABLE}""",
        "(series_id, start_us)",
        1,
    ),
    "series_rollups_1s": (
        f"""{BULK}, series_id bigint NOT NULL, start_us bigint NOT NULL, tick_count integer NOT NULL,
            low {SLICEABLE}, high {SLICEABLE}, total {SLICEABLE}, ticks {SLICEABLE}""",
        "(series_id, start_us)",
        7,
    ),
    "series_rollups_1m": (
        f"""{BULK}, series_id bigint NOT NULL, start_us bigint NOT NULL, tick_count integer NOT NULL,
            low {SLICEABLE}, high {SLICEABLE}, total {SLICEABLE}, ticks {SLICEABLE}""",
        "(series_id, start_us)",
        28,
    ),
    "distributions": (
        f"""{BULK}, series_id bigint NOT NULL, start_us bigint NOT NULL, step_us integer NOT NULL,
            tick_count integer NOT NULL, entries bytea NOT NULL, buckets bytea NOT NULL, counts bytea NOT NULL""",
        "(series_id, start_us)",
        1,
    ),
    "events": (
        f"""{BULK}, id bigint NOT NULL DEFAULT nextval('event_ids'), resource_id bigint NOT NULL, kind text NOT NULL,
            start_us bigint NOT NULL, duration_us bigint NOT NULL, attributes jsonb NOT NULL""",
        "(resource_id, start_us)",
        1,
    ),
    "query_blocks": (
        f"""{BULK}, server_id bigint NOT NULL, start_us bigint NOT NULL, end_us bigint NOT NULL,
            complete boolean NOT NULL, offsets_us bytea NOT NULL, latencies_us bytea NOT NULL, results bytea NOT NULL,
            name_indices bytea NOT NULL, client_indices bytea NOT NULL, queue_waits_us bytea,
            names text[] NOT NULL, clients text[] NOT NULL""",
        "(server_id, start_us)",
        1,
    ),
    "external_samples": (
        f"""{BULK}, series_id bigint NOT NULL, start_us bigint NOT NULL, end_us bigint NOT NULL,
            times_us bytea NOT NULL, sample_values bytea NOT NULL""",
        "(series_id, start_us)",
        7,
    ),
}

TENANT_TABLES = ("ingest_batches", "series_layouts", "external_series", "retention_policies")


def upgrade() -> None:
    op.execute(PLAIN)
    op.execute(f"GRANT SELECT ON metrics TO {APP_ROLE}")
    create_partition_management()
    for sequence in ("series_block_ids", "event_ids"):
        op.execute(f"CREATE SEQUENCE {sequence} CACHE 100")
        op.execute(f"GRANT USAGE ON SEQUENCE {sequence} TO {APP_ROLE}")
    for table, (columns, index, days) in PARTITIONED.items():
        create_time_partitioned(table, columns, days * DAY_US)
        op.execute(f"CREATE INDEX {table}_lookup ON {table} {index}")
    for table in (*TENANT_TABLES, *PARTITIONED):
        enable_tenant_rls(table)


def downgrade() -> None:
    drop_partition_management()
    for table in (*PARTITIONED, *reversed(TENANT_TABLES), "metrics"):
        op.execute(f"DROP TABLE {table}")
    for sequence in ("series_block_ids", "event_ids"):
        op.execute(f"DROP SEQUENCE {sequence}")
