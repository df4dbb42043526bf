"""Alembic's entry: migrations run on the connection that the database gives."""

from alembic import context
from palladion.service.state.schema import META

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=META,
    render_as_batch=True,  # SQLite changes a column by a copy of the table
)
with context.begin_transaction():
    context.run_migrations()
