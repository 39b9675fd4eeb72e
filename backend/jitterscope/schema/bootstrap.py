"""Creates roles, database, and extension, as a superuser, once per server. Safe to repeat."""

from __future__ import annotations

from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.pool import NullPool

OWNER = "jitterscope_owner"
APP = "jitterscope_app"

# Privileges of the two roles. The application role must never own a table, nor bypass row-level security.
_ROLES = {
    OWNER: "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS",
    APP: "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS",
}


def bootstrap(superuser_url: str, database: str, owner_password: str, app_password: str) -> tuple[str, str]:
    """Create or correct everything; returns the URLs of the owner and of the application role."""
    server = make_url(superuser_url).set(drivername="postgresql+psycopg")
    with _connect(server) as connection:
        for role, password in ((OWNER, owner_password), (APP, app_password)):
            _role(connection, role, password)
        exists = connection.execute(
            text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": database}
        ).scalar()
        if not exists:
            connection.execute(text(f"CREATE DATABASE {_identifier(database)} OWNER {OWNER} TEMPLATE template0"))
        connection.execute(text(f"REVOKE ALL ON DATABASE {_identifier(database)} FROM PUBLIC"))
        connection.execute(text(f"GRANT CONNECT ON DATABASE {_identifier(database)} TO {APP}"))
    with _connect(server.set(database=database)) as connection:
        connection.execute(text(f"ALTER SCHEMA public OWNER TO {OWNER}"))
        connection.execute(text("REVOKE CREATE ON SCHEMA public FROM PUBLIC"))
        _timescaledb(connection)
    return tuple(  # type: ignore[return-value]
        server.set(database=database, username=role, password=password, drivername="postgresql").render_as_string(
            hide_password=False
        )
        for role, password in ((OWNER, owner_password), (APP, app_password))
    )


def _role(connection: Connection, role: str, password: str) -> None:
    exists = connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role}).scalar()
    verb = "ALTER" if exists else "CREATE"
    # Utility statements accept no parameters; quote_literal makes the password a literal.
    quoted = connection.execute(text("SELECT quote_literal(:password)"), {"password": password}).scalar_one()
    connection.exec_driver_sql(f"{verb} ROLE {role} {_ROLES[role]} PASSWORD {quoted}")


def _timescaledb(connection: Connection) -> None:
    """Install the extension if the server offers it."""
    offered = connection.execute(text("SELECT 1 FROM pg_available_extensions WHERE name = 'timescaledb'")).scalar()
    if offered:
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS timescaledb"))


def _connect(url: URL) -> Connection:
    return create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect()


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
