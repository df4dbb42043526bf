"""Inputs of programs for two parties are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "hybrid_inputs",
        sa.Column("tenant", sa.String(length=32), nullable=False),
        sa.Column(
            "program_hash",
            sa.String(length=64),
            nullable=False,
            comment="of the program's public part",
        ),
        sa.Column(
            "used", sa.BigInteger(), nullable=False, comment="inputs that sessions had or have"
        ),
        sa.Column("granted", sa.BigInteger(), nullable=False, comment="inputs beside the limit"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("tenant", "program_hash"),
    )
