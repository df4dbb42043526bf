"""The tables of the first version."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "identity",
        sa.Column(
            "id",
            sa.String(length=32),
            nullable=False,
            comment="of this database; its store has it too",
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("tenant", sa.String(length=100), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "programs",
        sa.Column(
            "digest", sa.String(length=64), nullable=False, comment="SHA-256 of the program's file"
        ),
        sa.Column(
            "facts", sa.JSON(), nullable=False, comment="palladion.service.models.inspection.Facts"
        ),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "tenants",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column(
            "weight", sa.Double(), nullable=False, comment="share of the workers, beside others'"
        ),
        sa.Column(
            "limits", sa.JSON(), nullable=False, comment="limits that differ from the settings'"
        ),
        sa.Column(
            "used",
            sa.Double(),
            nullable=False,
            comment="core-seconds by weight: who has least is next",
        ),
        sa.Column("created", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("tenant", sa.String(length=32), nullable=False),
        sa.Column("idempotency", sa.String(length=200), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("version", sa.String(length=100), nullable=False),
        sa.Column("program", sa.String(length=64), nullable=False),
        sa.Column("program_id", sa.String(length=64), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("query_id", sa.String(length=64), nullable=False),
        sa.Column("query_bytes", sa.BigInteger(), nullable=False),
        sa.Column("predicted_seconds", sa.Double(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column(
            "fence", sa.Integer(), nullable=False, comment="counts workers that took the job"
        ),
        sa.Column(
            "beat", sa.Integer(), nullable=False, comment="counts signs of life of the worker"
        ),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column(
            "lost", sa.Integer(), nullable=False, comment="counts workers that died with the job"
        ),
        sa.Column("step", sa.String(length=200), nullable=True),
        sa.Column("done", sa.Double(), nullable=False, comment="share of the work"),
        sa.Column("seconds", sa.Double(), nullable=True, comment="of the run"),
        sa.Column(
            "answer", sa.String(length=100), nullable=True, comment="name of the answer's blob"
        ),
        sa.Column("answer_bytes", sa.BigInteger(), nullable=True),
        sa.Column("error_kind", sa.String(length=20), nullable=True),
        sa.Column("error_detail", sa.Text(), nullable=True),
        sa.Column("error_retry", sa.Boolean(), nullable=True),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("not_before", sa.Double(), nullable=False),
        sa.Column("started", sa.Double(), nullable=True),
        sa.Column("finished", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["program"],
            ["programs.digest"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "idempotency"),
    )
    op.create_index("jobs_by_state", "jobs", ["state", "created"], unique=False)
    op.create_index("jobs_by_tenant", "jobs", ["tenant", "state"], unique=False)
    op.create_table(
        "keys",
        sa.Column("tenant", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("key_id", sa.String(length=32), nullable=False),
        sa.Column("profile_id", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=True),
        sa.Column("used", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant", "digest"),
    )
    op.create_index("keys_by_secret", "keys", ["tenant", "key_id"], unique=False)
    op.create_table(
        "tokens",
        sa.Column(
            "hash",
            sa.String(length=64),
            nullable=False,
            comment="SHA-256 of the token, which is not stored",
        ),
        sa.Column("id", sa.String(length=8), nullable=False),
        sa.Column("tenant", sa.String(length=32), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash"),
        sa.UniqueConstraint("id"),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("tenant", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("part_bytes", sa.Integer(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("tenant", "digest"),
    )
    op.create_table(
        "upload_parts",
        sa.Column("upload", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["upload"], ["uploads.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("upload", "number"),
    )
