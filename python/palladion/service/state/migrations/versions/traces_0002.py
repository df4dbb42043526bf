"""Jobs have the trace in which they were submitted."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column."""
    op.add_column(
        "jobs",
        sa.Column(
            "traceparent",
            sa.String(length=100),
            nullable=True,
            comment="trace of the request that submitted it",
        ),
    )
