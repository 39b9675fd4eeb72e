"""Incidents with their history, risks, subjects to diagnose again; notification channels and the outbox."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261121_1030"
down_revision = "20261121_1025"
depends_on = None
branch_labels = None

ID = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
ORGANIZATION = "organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE"
# No foreign key on the resource: an incident outlives the pod that it was about.
SUBJECT = (
    "subject_id bigint NOT NULL, subject_kind text NOT NULL, subject_key text NOT NULL, "
    "subject_name text NOT NULL, subject_node text NOT NULL"
)
SEVERITY = "IN ('info', 'warning', 'critical')"

TABLES = f"""
CREATE TABLE incidents (
    {ID}, {ORGANIZATION}, {SUBJECT}, cause text NOT NULL, title text NOT NULL,
    severity text NOT NULL CHECK (severity {SEVERITY}),
    confidence text NOT NULL CHECK (confidence IN ('high', 'medium', 'low')),
    state text NOT NULL CHECK (state IN ('open', 'acknowledged', 'fix_applied', 'verified', 'resolved')),
    muted boolean NOT NULL DEFAULT false, muted_until timestamptz,
    onset_at timestamptz NOT NULL, opened_at timestamptz NOT NULL, last_seen_at timestamptz NOT NULL,
    resolved_at timestamptz, trigger_at timestamptz NOT NULL,
    window_from timestamptz NOT NULL, window_to timestamptz NOT NULL,
    occurrences integer NOT NULL DEFAULT 1, pinned boolean NOT NULL DEFAULT false,
    finding jsonb NOT NULL, not_enough_data jsonb NOT NULL DEFAULT '[]', created_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((resolved_at IS NULL) = (state NOT IN ('resolved', 'verified')))
) WITH (fillfactor = 70);
-- One active incident per fault: what deduplicates, whatever two workers do at once.
CREATE UNIQUE INDEX incidents_active ON incidents (organization_id, subject_id, cause) WHERE resolved_at IS NULL;
CREATE INDEX incidents_newest ON incidents (organization_id, id DESC);
CREATE INDEX incidents_subject ON incidents (organization_id, subject_id, last_seen_at DESC);
CREATE TABLE incident_transitions (
    {ID}, {ORGANIZATION}, incident_id bigint NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), actor text NOT NULL, action text NOT NULL, detail text
);
CREATE INDEX incident_transitions_incident ON incident_transitions (incident_id, id);
CREATE INDEX incident_transitions_newest ON incident_transitions (organization_id, id);
CREATE TABLE risks (
    {ID}, {ORGANIZATION}, {SUBJECT}, cause text NOT NULL,
    first_seen_at timestamptz NOT NULL, last_seen_at timestamptz NOT NULL, finding jsonb NOT NULL,
    UNIQUE (organization_id, subject_id, cause)
) WITH (fillfactor = 70);
CREATE TABLE diagnosis_watches (
    {ORGANIZATION}, subject_id bigint NOT NULL, triggered_us bigint NOT NULL, diagnosed_us bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, subject_id)
) WITH (fillfactor = 50);
CREATE TABLE channels (
    {ID}, {ORGANIZATION}, kind text NOT NULL, name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    enabled boolean NOT NULL DEFAULT true, min_severity text NOT NULL CHECK (min_severity {SEVERITY}),
    actions text[] NOT NULL, config_sealed text NOT NULL, created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX channels_organization ON channels (organization_id, id);
CREATE TABLE deliveries (
    {ID}, {ORGANIZATION}, channel_id bigint NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    incident_id bigint NOT NULL, transition_id bigint NOT NULL, key text NOT NULL UNIQUE, payload jsonb NOT NULL,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'sending', 'sent', 'dead')),
    attempts integer NOT NULL DEFAULT 0, next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_at timestamptz, journal_id text, last_status integer, last_error text,
    maybe_sent boolean NOT NULL DEFAULT false, created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    sent_at timestamptz,
    -- A transition is queued once for each channel, however often its transaction's code runs.
    UNIQUE (transition_id, channel_id)
) WITH (fillfactor = 70);
CREATE INDEX deliveries_due ON deliveries (organization_id, next_attempt_at) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_order ON deliveries (channel_id, incident_id, id) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_channel ON deliveries (channel_id, id DESC);
CREATE TABLE channel_threads (
    {ORGANIZATION}, channel_id bigint NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    incident_id bigint NOT NULL, reference jsonb NOT NULL, PRIMARY KEY (channel_id, incident_id)
);
"""

NAMES = (
    "incidents", "incident_transitions", "risks", "diagnosis_watches", "channels", "deliveries", "channel_threads",
)  # fmt: skip


def upgrade() -> None:
    op.execute(TABLES)
    for table in NAMES:
        if table == "incident_transitions":
            enable_tenant_rls(table, "SELECT, INSERT")  # history is written once
        else:
            enable_tenant_rls(table)


def downgrade() -> None:
    for table in reversed(NAMES):
        op.execute(f"DROP TABLE {table}")
