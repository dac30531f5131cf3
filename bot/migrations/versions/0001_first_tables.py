"""The first tables: deliveries, previews, launches."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "delivery",
        sa.Column("id", sa.String(100), primary_key=True),
        sa.Column("event", sa.String(60), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("received_at", sa.Float, nullable=False),
        sa.Column("processed_at", sa.Float),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("due_at", sa.Float, nullable=False),
        sa.Column("outcome", sa.Text),
    )
    op.create_index("delivery_due", "delivery", ["processed_at", "due_at"])
    op.create_table(
        "preview",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("repo_id", sa.BigInteger, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("repo_name", sa.String(200), nullable=False),
        sa.Column("clone_url", sa.Text, nullable=False),
        sa.Column("private", sa.Boolean, nullable=False),
        sa.Column("installation_id", sa.BigInteger),
        sa.Column("sandbox_name", sa.String(100), nullable=False),
        sa.Column("generation", sa.Integer, nullable=False, server_default="0"),
        sa.Column("wanted", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("held", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("stop_reason", sa.String(30)),
        sa.Column("approved_sha", sa.String(40)),
        sa.Column("comment_id", sa.BigInteger),
        sa.Column("comment_claim", sa.Float),
        sa.Column("version", sa.Integer, nullable=False, server_default="0"),
        sa.Column("reported_version", sa.Integer, nullable=False, server_default="0"),
        sa.Column("box", sa.JSON),
        sa.UniqueConstraint("repo_id", "number"),
    )
    op.create_table(
        "launch",
        sa.Column("preview_id", sa.Integer, sa.ForeignKey("preview.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("generation", sa.Integer, primary_key=True),
        sa.Column("sha", sa.String(40), nullable=False),
        sa.Column("phase", sa.String(30), nullable=False),
        sa.Column("requested_at", sa.Float, nullable=False),
        sa.Column("phase_since", sa.Float, nullable=False),
        sa.Column("ready_at", sa.Float),
        sa.Column("url", sa.Text),
        sa.Column("in_place", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("plan", sa.JSON),
        sa.Column("notes", sa.JSON),
        sa.Column("timings", sa.JSON),
        sa.Column("failure", sa.JSON),
        sa.Column("stop_reason", sa.String(30)),
    )
