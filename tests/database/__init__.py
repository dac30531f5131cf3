"""What the bot remembers, in SQLite and in a real Postgres."""
