"""Members change their own notes, and keep the post-mortem that they edited.

History is written once, but for the words of notes: only those of an entry that is a note can be changed.
"""

from __future__ import annotations

from alembic import op

from migrations.helpers import APP_ROLE, enable_tenant_rls

revision = "20261125_1930"
down_revision = "20261125_1620"
depends_on = None
branch_labels = None

NOTES = f"""
-- Who wrote a note; null: the service, or before this was kept. A note without detail was deleted.
ALTER TABLE incident_transitions ADD COLUMN author_id bigint, ADD COLUMN edited_at timestamptz;
GRANT UPDATE (detail, edited_at) ON incident_transitions TO {APP_ROLE};
CREATE POLICY only_notes_change ON incident_transitions AS RESTRICTIVE FOR UPDATE TO {APP_ROLE} USING (action = 'noted');
"""

POST_MORTEMS = """
CREATE TABLE post_mortems (
    incident_id bigint PRIMARY KEY REFERENCES incidents (id) ON DELETE CASCADE,
    organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    version integer NOT NULL, content text NOT NULL, edited_by text NOT NULL,
    edited_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON post_mortems (organization_id);
"""


def upgrade() -> None:
    op.execute(NOTES)
    op.execute(POST_MORTEMS)
    enable_tenant_rls("post_mortems")


def downgrade() -> None:
    op.execute("DROP TABLE post_mortems")
    op.execute("DROP POLICY only_notes_change ON incident_transitions")
    op.execute(f"REVOKE UPDATE (detail, edited_at) ON incident_transitions FROM {APP_ROLE}")
    op.execute("ALTER TABLE incident_transitions DROP COLUMN author_id, DROP COLUMN edited_at")
