"""The tables of the bot's database. Their history is in `bot/migrations`; a test compares the two."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

metadata = MetaData()

# Times are seconds since the epoch: the same in SQLite and Postgres, and compared without a time zone's traps.

delivery = Table(
    "delivery",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("event", String(60), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("received_at", Float, nullable=False),
    Column("processed_at", Float),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("due_at", Float, nullable=False),
    Column("outcome", Text),
    Index("delivery_due", "processed_at", "due_at"),
)

preview = Table(
    "preview",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("repo_id", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("repo_name", String(200), nullable=False),
    Column("clone_url", Text, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("installation_id", BigInteger),
    Column("sandbox_name", String(100), nullable=False),
    Column("generation", Integer, nullable=False, server_default="0"),
    Column("wanted", Boolean, nullable=False, server_default=false()),
    Column("held", Boolean, nullable=False, server_default=false()),
    Column("stop_reason", String(30)),
    Column("approved_sha", String(40)),
    Column("comment_id", BigInteger),
    Column("comment_claim", Float),
    Column("version", Integer, nullable=False, server_default="0"),
    Column("reported_version", Integer, nullable=False, server_default="0"),
    Column("box", JSON),
    UniqueConstraint("repo_id", "number"),
)

launch = Table(
    "launch",
    metadata,
    Column("preview_id", Integer, ForeignKey("preview.id", ondelete="CASCADE"), primary_key=True),
    Column("generation", Integer, primary_key=True),
    Column("sha", String(40), nullable=False),
    Column("phase", String(30), nullable=False),
    Column("requested_at", Float, nullable=False),
    Column("phase_since", Float, nullable=False),
    Column("ready_at", Float),
    Column("url", Text),
    Column("in_place", Boolean, nullable=False, server_default=false()),
    Column("plan", JSON),
    Column("notes", JSON),
    Column("timings", JSON),
    Column("failure", JSON),
    Column("stop_reason", String(30)),
)
