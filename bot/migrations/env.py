"""Run the migrations on the connection that `bot.store` hands over."""

from alembic import context

from bot.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
