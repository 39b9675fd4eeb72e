"""Channels say what they are for: conditions and quiet hours. Transitions keep what rules saw of their incident."""

from __future__ import annotations

from alembic import op

revision = "20261124_2000"
down_revision = "20261124_1040"
depends_on = None
branch_labels = None

UPGRADE = """
ALTER TABLE channels ADD COLUMN conditions jsonb NOT NULL DEFAULT '{}', ADD COLUMN quiet_hours jsonb;
ALTER TABLE deliveries ADD COLUMN held_until timestamptz, DROP CONSTRAINT deliveries_state_check,
    ADD CONSTRAINT deliveries_state_check CHECK (state IN ('pending', 'sending', 'sent', 'dead', 'skipped'));
-- Whether a channel was told of an incident is asked with each of its transitions.
CREATE INDEX deliveries_incident ON deliveries (incident_id, channel_id);
ALTER TABLE incident_transitions ADD COLUMN severity text, ADD COLUMN cause text, ADD COLUMN muted boolean;
"""

DOWNGRADE = """
ALTER TABLE incident_transitions DROP COLUMN severity, DROP COLUMN cause, DROP COLUMN muted;
DROP INDEX deliveries_incident;
DELETE FROM deliveries WHERE state = 'skipped';
ALTER TABLE deliveries DROP COLUMN held_until, DROP CONSTRAINT deliveries_state_check,
    ADD CONSTRAINT deliveries_state_check CHECK (state IN ('pending', 'sending', 'sent', 'dead'));
ALTER TABLE channels DROP COLUMN conditions, DROP COLUMN quiet_hours;
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    op.execute(DOWNGRADE)
