"""Runs migrations on the connection that `jitterscope.schema.runner` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

from jitterscope.db import Base
from jitterscope.kit.discovery import import_named

import_named("jitterscope", "models")
connection: Connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, transaction_per_migration=True)
connection.execute(text("SET lock_timeout = '5s'"))
connection.execute(text("SET statement_timeout = '15min'"))
connection.commit()
with context.begin_transaction():
    context.run_migrations()
connection.commit()
for module in import_named("jitterscope", "after_migration"):
    module.after_migration(connection)
connection.commit()
