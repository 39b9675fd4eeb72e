"""Incidents of nodes that fell silent end as not known. The schedule counts how long looks have found no newer data."""

from __future__ import annotations

from alembic import op

revision = "20261126_0610"
down_revision = "20261126_0600"
depends_on = None
branch_labels = None

BEFORE = "'open', 'acknowledged', 'fix_applied', 'did_not_help', 'made_worse', 'verified', 'resolved'"
OVER = "'resolved', 'verified'"

# The check of the end has no name of its own: PostgreSQL called it incidents_check.
UPGRADE = f"""
ALTER TABLE diagnosis_schedule ADD COLUMN silent_since timestamptz;
ALTER TABLE incidents DROP CONSTRAINT incidents_state_check, DROP CONSTRAINT incidents_check;
ALTER TABLE incidents ADD CONSTRAINT incidents_state_check CHECK (state IN ({BEFORE}, 'not_known')),
    ADD CONSTRAINT incidents_check CHECK ((resolved_at IS NULL) = (state NOT IN ({OVER}, 'not_known')));
CREATE INDEX incidents_not_known ON incidents (organization_id, resolved_at) WHERE state = 'not_known';
-- Channels that are told when an incident is over are also told when that is not known.
UPDATE channels SET actions = array_append(actions, 'not_known') WHERE 'resolved' = ANY (actions);
"""

DOWNGRADE = f"""
UPDATE channels SET actions = array_remove(actions, 'not_known');
DELETE FROM deliveries WHERE payload #>> '{{transition,action}}' = 'not_known'
    OR payload #>> '{{incident,state}}' = 'not_known';
UPDATE channel_threads SET wanted = NULL WHERE wanted #>> '{{incident,state}}' = 'not_known';
UPDATE incident_transitions SET action = 'resolved' WHERE action = 'not_known';
DROP INDEX incidents_not_known;
UPDATE incidents SET state = 'resolved' WHERE state = 'not_known';
ALTER TABLE incidents DROP CONSTRAINT incidents_state_check, DROP CONSTRAINT incidents_check;
ALTER TABLE incidents ADD CONSTRAINT incidents_state_check CHECK (state IN ({BEFORE})),
    ADD CONSTRAINT incidents_check CHECK ((resolved_at IS NULL) = (state NOT IN ({OVER})));
ALTER TABLE diagnosis_schedule DROP COLUMN silent_since;
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    op.execute(DOWNGRADE)
