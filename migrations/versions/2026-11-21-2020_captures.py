"""Captures of the flight recorder: stacks and process tables around a trigger."""

from __future__ import annotations

from alembic import op

from migrations.helpers import APP_ROLE, enable_tenant_rls
from migrations.partitions import DAY_US, create_time_partitioned

revision = "20261121_2020"
down_revision = "20261121_1650"
depends_on = None
branch_labels = None

TABLE = "captures"


def upgrade() -> None:
    op.execute("CREATE SEQUENCE capture_ids")
    op.execute(f"GRANT USAGE ON SEQUENCE capture_ids TO {APP_ROLE}")
    # The payload is packed already: whole or not at all, and nothing for the database to compress.
    columns = (
        "organization_id bigint NOT NULL, id bigint NOT NULL DEFAULT nextval('capture_ids'), "
        "resource_id bigint NOT NULL, reason text NOT NULL, start_us bigint NOT NULL, end_us bigint NOT NULL, "
        "rate_hz double precision NOT NULL, samples integer NOT NULL, processes integer NOT NULL, "
        "cpus integer NOT NULL, lost_samples bigint NOT NULL, payload bytea STORAGE EXTERNAL NOT NULL"
    )
    create_time_partitioned(TABLE, columns, DAY_US)
    op.execute(f"CREATE INDEX {TABLE}_lookup ON {TABLE} (resource_id, start_us)")
    enable_tenant_rls(TABLE)


def downgrade() -> None:
    op.execute(f"DELETE FROM time_partitioned_tables WHERE table_name = '{TABLE}'")
    op.execute(f"DROP TABLE {TABLE}")
    op.execute("DROP SEQUENCE capture_ids")
