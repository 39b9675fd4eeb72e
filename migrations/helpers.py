"""What every migration of a tenant table needs."""

from __future__ import annotations

from alembic import op
from sqlalchemy import text

APP_ROLE = "jitterscope_app"
# NULL where no organization is set: then no row matches. The subquery is evaluated once a statement, not once a row.
CURRENT_ORGANIZATION = "(SELECT nullif(current_setting('jitterscope.organization_id', true), '')::bigint)"


def enable_tenant_rls(table: str, privileges: str = "SELECT, INSERT, UPDATE, DELETE") -> None:
    """Bind `table` (with a column organization_id) to the organization of the transaction and grant it to the app.

    For partitioned tables and hypertables call it on the parent only: partitions and chunks must not be granted, since
    policies of the parent do not hold for those who read them directly.
    """
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    # Not a plain equality: together with `organization_id = 7` in a statement the planner would derive a constant
    # condition, on which TimescaleDB 2.19 fails for UPDATE and DELETE ("variable not found in subplan target list").
    rule = f"organization_id = ANY (ARRAY[{CURRENT_ORGANIZATION}])"
    op.execute(f"CREATE POLICY tenant ON {table} TO {APP_ROLE} USING ({rule}) WITH CHECK ({rule})")
    op.execute(f"GRANT {privileges} ON {table} TO {APP_ROLE}")


def definer_function(
    signature: str, returns: str, body: str, language: str = "sql", volatility: str = "STABLE"
) -> None:
    """A SECURITY DEFINER function that only the application role may call. It runs as the schema's owner, whom
    row-level security does not bind: it must return nothing but the row that its arguments prove knowledge of."""
    op.execute(
        f"CREATE FUNCTION {signature} RETURNS {returns} LANGUAGE {language} {volatility} SECURITY DEFINER "
        f"SET search_path = public, pg_temp AS $function${body}$function$"
    )
    op.execute(f"REVOKE ALL ON FUNCTION {signature_of(signature)} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {signature_of(signature)} TO {APP_ROLE}")


def signature_of(declaration: str) -> str:
    """ "f(a bigint, b text)" → "f(bigint, text)"."""
    name, _, rest = declaration.partition("(")
    arguments = [argument.strip().split(" ", 1)[-1] for argument in rest.rstrip(")").split(",") if argument.strip()]
    return f"{name}({', '.join(arguments)})"


def has_timescaledb() -> bool:
    """Whether the database has the TimescaleDB extension: hypertables there, native partitions elsewhere."""
    found = op.get_bind().execute(text("SELECT 1 FROM pg_extension WHERE extname = 'timescaledb'")).scalar()
    return found is not None
