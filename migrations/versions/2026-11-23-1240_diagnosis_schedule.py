"""One schedule of diagnoses: when to look at each subject next, why, and what came of the last look."""

from __future__ import annotations

from alembic import op

from migrations.helpers import definer_function, enable_tenant_rls

revision = "20261123_1240"
down_revision = "20261123_1145"
depends_on = None
branch_labels = None

ORGANIZATION = "organization_id bigint NOT NULL REFERENCES organizations (id) ON DELETE CASCADE"
# No foreign key on the subject: its incidents are closed by the look that finds it gone.
TABLE = f"""
CREATE TABLE diagnosis_schedule (
    {ORGANIZATION}, subject_id bigint NOT NULL,
    due_at timestamptz, urgent boolean NOT NULL DEFAULT false,
    waiting text[] NOT NULL DEFAULT '{{}}', heard text[] NOT NULL DEFAULT '{{}}',
    triggered_us bigint NOT NULL DEFAULT 0, diagnosed_us bigint NOT NULL DEFAULT 0,
    claimed_at timestamptz, leased_until timestamptz, attempts integer NOT NULL DEFAULT 0,
    looked_at timestamptz, explained_us bigint NOT NULL DEFAULT 0, causes text[] NOT NULL DEFAULT '{{}}',
    follow_until timestamptz, follow_ups integer NOT NULL DEFAULT 0, follow_ups_since timestamptz,
    vain jsonb NOT NULL DEFAULT '{{}}',
    PRIMARY KEY (organization_id, subject_id)
) WITH (fillfactor = 50)
"""
# Whose turn it is: the organization with the fewest looks under way, then the one that waits longest for a turn.
TURNS = """
    SELECT s.organization_id, count(*) FILTER (WHERE s.due_at <= clock_timestamp()
           AND (s.leased_until IS NULL OR s.leased_until <= clock_timestamp())) AS due
      FROM diagnosis_schedule s
     WHERE s.due_at <= clock_timestamp() OR s.leased_until > clock_timestamp()
        OR s.claimed_at > clock_timestamp() - interval '1 minute'
     GROUP BY s.organization_id
    HAVING bool_or(s.due_at <= clock_timestamp() AND (s.leased_until IS NULL OR s.leased_until <= clock_timestamp()))
     ORDER BY count(*) FILTER (WHERE s.leased_until > clock_timestamp()), max(s.claimed_at) NULLS FIRST,
           s.organization_id
"""


def upgrade() -> None:
    op.execute(TABLE)
    op.execute(
        "INSERT INTO diagnosis_schedule (organization_id, subject_id, triggered_us, diagnosed_us, due_at) "
        "SELECT organization_id, subject_id, triggered_us, diagnosed_us, now() FROM diagnosis_watches"
    )
    op.execute("CREATE INDEX diagnosis_schedule_due ON diagnosis_schedule (due_at) WHERE due_at IS NOT NULL")
    enable_tenant_rls("diagnosis_schedule")
    definer_function(
        "system_diagnosis_turns()", "TABLE (organization_id bigint, due bigint)", TURNS, volatility="VOLATILE"
    )
    op.execute("DROP TABLE diagnosis_watches")


def downgrade() -> None:
    op.execute("DROP FUNCTION system_diagnosis_turns()")
    op.execute(
        f"CREATE TABLE diagnosis_watches ({ORGANIZATION}, subject_id bigint NOT NULL, triggered_us bigint NOT NULL, "
        "diagnosed_us bigint NOT NULL DEFAULT 0, PRIMARY KEY (organization_id, subject_id)) WITH (fillfactor = 50)"
    )
    op.execute(
        "INSERT INTO diagnosis_watches SELECT organization_id, subject_id, triggered_us, diagnosed_us "
        "FROM diagnosis_schedule"
    )
    enable_tenant_rls("diagnosis_watches")
    op.execute("DROP TABLE diagnosis_schedule")
