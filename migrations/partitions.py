"""Time-partitioned tables: hypertables with TimescaleDB, native range partitions without; used by migrations."""

from __future__ import annotations

from alembic import op

from migrations.helpers import APP_ROLE, has_timescaledb

DAY_US = 86_400_000_000
CHUNK_SCHEMA = "jitterscope_chunks"

ENSURE = """
CREATE FUNCTION ensure_time_partitions(p_from_us bigint, p_to_us bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $function$
DECLARE
    managed record; lower_us bigint; child text;
    now_us constant bigint := (extract(epoch FROM now()) * 1000000)::bigint;
BEGIN
    IF p_from_us < now_us - 1200 * 86400000000 OR p_to_us > now_us + 14 * 86400000000 OR p_to_us < p_from_us THEN
        RAISE EXCEPTION 'partitions from % to % are out of range', p_from_us, p_to_us USING ERRCODE = '22023';
    END IF;
    PERFORM pg_advisory_xact_lock(1785296756, 1);
    FOR managed IN SELECT table_name, width_us FROM time_partitioned_tables WHERE NOT hypertable LOOP
        lower_us := p_from_us - p_from_us % managed.width_us;
        WHILE lower_us <= p_to_us LOOP
            child := format('%s_p%s', managed.table_name, to_char(to_timestamp(lower_us / 1000000) AT TIME ZONE 'UTC', 'YYYYMMDD'));
            IF to_regclass(child) IS NULL THEN
                -- Attaching locks the parent against other changes of it only; CREATE … PARTITION OF would block reads.
                EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)',
                               child, managed.table_name);
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                               managed.table_name, child, lower_us, lower_us + managed.width_us);
            END IF;
            lower_us := lower_us + managed.width_us;
        END LOOP;
    END LOOP;
END $function$
"""

# Only what is empty goes, so that whoever calls it destroys nothing: rows are deleted before, under row-level security.
DROP_EMPTY = """
CREATE FUNCTION drop_empty_time_partitions(p_before_us bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $function$
DECLARE
    managed record; part record; filled boolean; dropped integer := 0;
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    FOR managed IN SELECT table_name, width_us, hypertable FROM time_partitioned_tables LOOP
        FOR part IN EXECUTE CASE WHEN managed.hypertable
            THEN format('SELECT show_chunks(%L::regclass, older_than => %s::bigint) AS child', managed.table_name, p_before_us)
            ELSE format($q$SELECT c.oid::regclass AS child FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                        WHERE i.inhparent = %L::regclass
                          AND substring(pg_get_expr(c.relpartbound, c.oid) FROM $r$TO \\('?(-?\\d+)'?\\)$r$)::bigint <= %s$q$,
                        managed.table_name, p_before_us) END
        LOOP
            BEGIN
                EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part.child);
                EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part.child) INTO filled;
                IF NOT filled THEN
                    EXECUTE format('DROP TABLE %s', part.child);
                    dropped := dropped + 1;
                END IF;
            EXCEPTION WHEN lock_not_available THEN NULL;  -- in use: the next run takes it
            END;
        END LOOP;
    END LOOP;
    RETURN dropped;
END $function$
"""


def create_partition_management() -> None:
    op.execute(
        "CREATE TABLE time_partitioned_tables "
        "(table_name text PRIMARY KEY, width_us bigint NOT NULL CHECK (width_us > 0), hypertable boolean NOT NULL)"
    )
    op.execute(f"GRANT SELECT ON time_partitioned_tables TO {APP_ROLE}")
    for create, signature in (
        (ENSURE, "ensure_time_partitions(bigint, bigint)"),
        (DROP_EMPTY, "drop_empty_time_partitions(bigint)"),
    ):
        op.execute(create)
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO {APP_ROLE}")


def create_time_partitioned(table: str, columns: str, width_us: int = DAY_US) -> None:
    """A table partitioned by its column start_us (µs since the epoch). `columns` includes start_us bigint NOT NULL."""
    hypertable = has_timescaledb()
    op.execute(f"CREATE TABLE {table} ({columns}){'' if hypertable else ' PARTITION BY RANGE (start_us)'}")
    if hypertable:
        # Chunks carry copies of their hypertable's grants, but not its policies. In a schema of their own, which the
        # application role may not use, they can be reached through the hypertable only, where the policies hold.
        op.execute(f"CREATE SCHEMA IF NOT EXISTS {CHUNK_SCHEMA}")
        op.execute(
            f"SELECT create_hypertable('{table}', 'start_us', chunk_time_interval => {width_us}::bigint, "
            f"create_default_indexes => false, associated_schema_name => '{CHUNK_SCHEMA}')"
        )
    op.execute(
        f"INSERT INTO time_partitioned_tables VALUES ('{table}', {width_us}, {'true' if hypertable else 'false'})"
    )


def drop_partition_management() -> None:
    op.execute("DROP FUNCTION drop_empty_time_partitions(bigint)")
    op.execute("DROP FUNCTION ensure_time_partitions(bigint, bigint)")
    op.execute("DROP TABLE time_partitioned_tables")
