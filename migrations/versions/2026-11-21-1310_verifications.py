"""Verified fixes: predictions kept with their incident, what was measured after a change, how predictions turned out."""

from __future__ import annotations

from alembic import op

from migrations.helpers import enable_tenant_rls

revision = "20261121_1310"
down_revision = "20261121_1050"
depends_on = None
branch_labels = None

ID = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
ORGANIZATION = "organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE"
INCIDENT = "incident_id bigint NOT NULL REFERENCES incidents (id) ON DELETE CASCADE"
STATES = "'open', 'acknowledged', 'fix_applied', 'did_not_help', 'made_worse', 'verified', 'resolved'"
NEW_ACTIONS = "'fix_applied', 'verified', 'did_not_help', 'made_worse'"

UPGRADE = f"""
ALTER TABLE incidents ADD COLUMN predictions jsonb NOT NULL DEFAULT '{{}}';
-- Settings as they were then are what the fault happened under; a later change is a fix to verify.
ALTER TABLE incidents ADD COLUMN baseline_at timestamptz;
UPDATE incidents SET baseline_at = onset_at;
ALTER TABLE incidents ALTER COLUMN baseline_at SET NOT NULL;
-- The cgroup that took the subject's place (a rollout makes new ones).
ALTER TABLE incidents ADD COLUMN successor_id bigint;
ALTER TABLE incidents DROP CONSTRAINT incidents_state_check;
ALTER TABLE incidents ADD CONSTRAINT incidents_state_check CHECK (state IN ({STATES}));
DROP INDEX incidents_active;
CREATE UNIQUE INDEX incidents_active ON incidents (organization_id, (coalesce(successor_id, subject_id)), cause)
    WHERE resolved_at IS NULL;
CREATE TABLE verifications (
    {ID}, {ORGANIZATION}, {INCIDENT},
    state text NOT NULL CHECK (state IN ('waiting', 'verified', 'did_not_help', 'made_worse', 'replaced')),
    started_by text NOT NULL, applied_at timestamptz NOT NULL, fix_id text, fix_title text NOT NULL,
    changes jsonb NOT NULL DEFAULT '[]', before_subject_id bigint NOT NULL, subject_id bigint NOT NULL,
    subject_name text NOT NULL, before_from timestamptz NOT NULL, before_to timestamptz NOT NULL,
    predicted jsonb NOT NULL DEFAULT '{{}}', promised jsonb NOT NULL DEFAULT '{{}}', result jsonb NOT NULL DEFAULT '{{}}',
    waiting_for text, verdict text, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), checked_at timestamptz,
    finished_at timestamptz, CHECK ((finished_at IS NULL) = (state = 'waiting'))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX verifications_waiting ON verifications (incident_id) WHERE state = 'waiting';
CREATE INDEX verifications_incident ON verifications (incident_id, id DESC);
CREATE TABLE prediction_outcomes (
    {ID}, {ORGANIZATION}, {INCIDENT},
    verification_id bigint NOT NULL REFERENCES verifications (id) ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), subject_name text NOT NULL, fix_id text NOT NULL,
    metric text NOT NULL, predicted jsonb NOT NULL, measured double precision NOT NULL, before double precision,
    inside boolean NOT NULL, error_ratio double precision NOT NULL,
    UNIQUE (verification_id, metric)
);
CREATE INDEX prediction_outcomes_newest ON prediction_outcomes (organization_id, id DESC);
-- Who wants to hear that an incident is over wants to hear how a fix went.
UPDATE channels SET actions = actions || ARRAY(SELECT unnest(ARRAY[{NEW_ACTIONS}]) EXCEPT SELECT unnest(actions))
 WHERE 'resolved' = ANY (actions);
"""

DOWNGRADE = """
DROP TABLE prediction_outcomes;
DROP TABLE verifications;
UPDATE channels SET actions = ARRAY(
    SELECT unnest(actions) EXCEPT SELECT unnest(ARRAY['verified', 'did_not_help', 'made_worse']));
UPDATE incidents SET state = 'open' WHERE state IN ('did_not_help', 'made_worse');
ALTER TABLE incidents DROP CONSTRAINT incidents_state_check;
ALTER TABLE incidents ADD CONSTRAINT incidents_state_check
    CHECK (state IN ('open', 'acknowledged', 'fix_applied', 'verified', 'resolved'));
DROP INDEX incidents_active;
ALTER TABLE incidents DROP COLUMN successor_id, DROP COLUMN baseline_at, DROP COLUMN predictions;
CREATE UNIQUE INDEX incidents_active ON incidents (organization_id, subject_id, cause) WHERE resolved_at IS NULL;
"""


def upgrade() -> None:
    op.execute(UPGRADE)
    enable_tenant_rls("verifications")
    enable_tenant_rls("prediction_outcomes", "SELECT, INSERT")  # the record is written once


def downgrade() -> None:
    op.execute(DOWNGRADE)
