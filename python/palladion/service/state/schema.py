"""The tables. Times are seconds since 1970, identities and digests are hexadecimal."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

META = MetaData()

TENANT = String(32)
DIGEST = String(64)
KEY = String(32)
Seconds = Double

identity = Table(
    "identity",
    META,
    Column("id", String(32), primary_key=True, comment="of this database; its store has it too"),
)

tenants = Table(
    "tenants",
    META,
    Column("id", TENANT, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("weight", Double, nullable=False, comment="share of the workers, beside others'"),
    Column("limits", JSON, nullable=False, comment="limits that differ from the settings'"),
    Column("used", Double, nullable=False, comment="core-seconds by weight: who has least is next"),
    Column("created", Seconds, nullable=False),
)

tokens = Table(
    "tokens",
    META,
    Column("hash", DIGEST, primary_key=True, comment="SHA-256 of the token, which is not stored"),
    Column("id", String(8), nullable=False, unique=True),
    Column("tenant", TENANT, ForeignKey("tenants.id", ondelete="CASCADE"), nullable=False),
    Column("created", Seconds, nullable=False),
    Column("expires", Seconds),
)

programs = Table(
    "programs",
    META,
    Column("digest", DIGEST, primary_key=True, comment="SHA-256 of the program's file"),
    Column("facts", JSON, nullable=False, comment="palladion.service.models.inspection.Facts"),
    Column("created", Seconds, nullable=False),
)

keys = Table(
    "keys",
    META,
    Column("tenant", TENANT, ForeignKey("tenants.id"), primary_key=True),
    Column("digest", DIGEST, primary_key=True),
    Column("key_id", KEY, nullable=False),
    Column("profile_id", DIGEST, nullable=False),
    Column("profile", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("created", Seconds, nullable=False),
    Column("expires", Seconds),
    Column("used", Seconds, nullable=False),
    Index("keys_by_secret", "tenant", "key_id"),
)

uploads = Table(
    "uploads",
    META,
    Column("id", String(32), primary_key=True),
    Column("tenant", TENANT, ForeignKey("tenants.id"), nullable=False),
    Column("digest", DIGEST, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("part_bytes", Integer, nullable=False),
    Column("created", Seconds, nullable=False),
    UniqueConstraint("tenant", "digest"),
)

upload_parts = Table(
    "upload_parts",
    META,
    Column("upload", ForeignKey("uploads.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
)

jobs = Table(
    "jobs",
    META,
    Column("id", String(32), primary_key=True),
    Column("tenant", TENANT, ForeignKey("tenants.id"), nullable=False),
    Column("idempotency", String(200), nullable=False),
    Column("model", String(200), nullable=False),
    Column("version", String(100), nullable=False),
    Column("program", ForeignKey("programs.digest"), nullable=False),
    Column("program_id", DIGEST, nullable=False),
    Column("key_id", KEY, nullable=False),
    Column("query_id", DIGEST, nullable=False),
    Column("query_bytes", BigInteger, nullable=False),
    Column("predicted_seconds", Double, nullable=False),
    Column("state", String(10), nullable=False),
    Column("fence", Integer, nullable=False, comment="counts workers that took the job"),
    Column("beat", Integer, nullable=False, comment="counts signs of life of the worker"),
    Column("worker", String(100)),
    Column("lost", Integer, nullable=False, comment="counts workers that died with the job"),
    Column("step", String(200)),
    Column("done", Double, nullable=False, comment="share of the work"),
    Column("seconds", Double, comment="of the run"),
    Column("answer", String(100), comment="name of the answer's blob"),
    Column("answer_bytes", BigInteger),
    Column("error_kind", String(20)),
    Column("error_detail", Text),
    Column("error_retry", Boolean),
    Column("created", Seconds, nullable=False),
    Column("not_before", Seconds, nullable=False),
    Column("started", Seconds),
    Column("finished", Seconds),
    Column("traceparent", String(100), comment="trace of the request that submitted it"),
    UniqueConstraint("tenant", "idempotency"),
    Index("jobs_by_state", "state", "created"),
    Index("jobs_by_tenant", "tenant", "state"),
)

hybrid_inputs = Table(
    "hybrid_inputs",
    META,
    Column("tenant", TENANT, ForeignKey("tenants.id"), primary_key=True),
    Column("program_hash", DIGEST, primary_key=True, comment="of the program's public part"),
    Column("used", BigInteger, nullable=False, comment="inputs that sessions had or have"),
    Column("granted", BigInteger, nullable=False, comment="inputs beside the limit"),
)

audit = Table(
    "audit",
    META,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Seconds, nullable=False),
    Column("tenant", String(100), nullable=False),
    Column("action", String(40), nullable=False),
    Column("subject", String(200), nullable=False),
)
