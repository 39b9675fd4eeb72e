"""How many looks in a row found the same causes: a fault that goes on for minutes is looked at less often."""

from __future__ import annotations

from alembic import op

revision = "20261123_2255"
down_revision = "20261123_1600"
depends_on = None
branch_labels = None


def upgrade() -> None:
    op.execute("ALTER TABLE diagnosis_schedule ADD unchanged_looks integer NOT NULL DEFAULT 0")


def downgrade() -> None:
    op.execute("ALTER TABLE diagnosis_schedule DROP unchanged_looks")
