"""The history of the database's shape, run by Alembic when the store opens."""
