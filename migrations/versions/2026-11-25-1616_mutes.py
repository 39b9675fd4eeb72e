"""Mutes are rules with a reason and an end. Messages that can be brought up to date remember what they should show.

Incidents keep what mutes them, so that lists need no other table. Presses of Slack's buttons are kept for the minutes in
which their signature holds: none counts twice.
"""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261125_1616"
down_revision = "20261125_1615"
depends_on = None
branch_labels = None

UPGRADE = """
CREATE TABLE mutes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    incident_id bigint REFERENCES incidents (id) ON DELETE CASCADE,
    resource_id bigint,
    severities text[] NOT NULL DEFAULT '{}', conditions jsonb NOT NULL DEFAULT '{}', hours jsonb,
    until timestamptz, reason text NOT NULL, created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(), ended_at timestamptz, ended_by text
);
CREATE INDEX mutes_newest ON mutes (organization_id, id DESC);
CREATE INDEX mutes_not_ended ON mutes (organization_id) WHERE ended_at IS NULL;
CREATE INDEX mutes_incident ON mutes (incident_id) WHERE incident_id IS NOT NULL;
-- {id, by, reason, only_this, recurs} while muted.
ALTER TABLE incidents ADD COLUMN mute jsonb;
CREATE INDEX incidents_muted ON incidents (organization_id) WHERE muted;
-- The payload that the first message should show, null where it does; and when to try.
ALTER TABLE channel_threads ADD COLUMN wanted jsonb, ADD COLUMN attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN next_attempt_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX channel_threads_wanted ON channel_threads (organization_id, next_attempt_at) WHERE wanted IS NOT NULL;
CREATE TABLE slack_presses (
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    digest bytea NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (organization_id, digest)
);
UPDATE channels SET actions = array_append(actions, 'unmuted') WHERE 'reopened' = ANY (actions);
"""

# What was muted before mutes had a table.
_MOVE = """
WITH last AS (
    SELECT DISTINCT ON (t.incident_id) t.incident_id, t.actor, t.detail FROM incident_transitions t
      JOIN incidents i ON i.id = t.incident_id
     WHERE t.action = 'muted' AND i.muted ORDER BY t.incident_id, t.id DESC
), made AS (
    INSERT INTO mutes (organization_id, incident_id, until, reason, created_by)
    SELECT i.organization_id, i.id, i.muted_until, coalesce(l.detail, 'No reason given'), coalesce(l.actor, 'jitterscope')
      FROM incidents i LEFT JOIN last l ON l.incident_id = i.id
     WHERE i.muted AND (i.muted_until IS NULL OR i.muted_until > now())
    RETURNING id, incident_id, reason, created_by
)
UPDATE incidents i SET mute = jsonb_build_object(
    'id', m.id, 'by', m.created_by, 'reason', m.reason, 'only_this', true, 'recurs', false)
  FROM made m WHERE m.incident_id = i.id
"""

DOWNGRADE = """
UPDATE channels SET actions = array_remove(actions, 'unmuted');
DELETE FROM deliveries WHERE payload #>> '{transition,action}' = 'unmuted';
DROP TABLE slack_presses;
ALTER TABLE channel_threads DROP COLUMN wanted, DROP COLUMN attempts, DROP COLUMN next_attempt_at;
DROP INDEX incidents_muted;
ALTER TABLE incidents DROP COLUMN mute;
DROP TABLE mutes;
"""


def upgrade() -> None:
    op.execute(UPGRADE)
    op.execute(_MOVE)
    op.execute("UPDATE incidents SET muted = false, muted_until = NULL WHERE muted AND mute IS NULL")
    for table in ("mutes", "slack_presses"):
        enable_tenant_rls(table)


def downgrade() -> None:
    op.execute(DOWNGRADE)
