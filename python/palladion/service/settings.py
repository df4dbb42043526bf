"""The settings of a service: a TOML file, variables of the environment, options of the command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from palladion.errors import DataError, UsageError

PREFIX: Final = "PALLADION_SERVE_"
"""Prefix of variables of the environment. ``PALLADION_SERVE_LIMITS__JOBS`` is ``limits.jobs``."""

MB: Final = 1_000_000
DAY: Final = 86_400
"""Seconds of a day."""

MOST_INPUTS: Final = 1_000_000_000
"""The most inputs of a program that a tenant may have, whatever its floods hide."""

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


class Limits(BaseModel):
    """The most that a tenant may use, unless it has limits of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests_per_minute: Positive = 600
    jobs: Positive = 100
    """Jobs that wait or run."""
    key_bytes: Positive = 4_000 * MB
    """Bytes of stored evaluation keys, unfinished uploads included."""
    query_bytes: Positive = 1_000 * MB
    """Bytes of the queries of jobs that wait or run."""
    core_seconds_per_day: Seconds = 10 * DAY
    """Predicted core-seconds of the jobs that were submitted within a day."""
    sessions: Positive = 2
    """Sessions of two parties at once."""
    hybrid_inputs: Annotated[int, Field(ge=0, le=MOST_INPUTS)] = 0
    """Inputs of each program for two parties, ever. 0 for as many as its floods hide together: more
    give away weights."""


class Serving(BaseModel):
    """The versions of a model that answer requests which name none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str | None = None
    """The version; by default the last one."""
    split: dict[str, Annotated[float, Field(ge=0)]] = {}
    """Versions and their shares of the requests, such as ``{"1" = 95, "2" = 5}``."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Serving:
        if self.version is not None and self.split:
            raise ValueError("has both version and split, expected one of them")
        if self.split and not sum(self.split.values()):
            raise ValueError("split has no share above 0")
        return self


class Settings(BaseModel):
    """All settings of a service."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    programs: Path = Path("models")
    """Folder of programs: ``NAME.program``, or ``NAME/VERSION.program``."""
    data: Path = Path("palladion-data")
    """Folder of the service's own files."""
    database: str = ""
    """URL of a PostgreSQL database; by default a file of SQLite in ``data``."""
    store: str = ""
    """URL of an S3 bucket for keys, queries and answers; by default a folder in ``data``."""
    cache_bytes: Positive = 20_000 * MB
    """Disk of each machine for copies of blobs from S3. Copies that were used last stay."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    grpc_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """Port for gRPC on the same address, 0 for any that is free. Without one there is no gRPC."""

    workers: Annotated[int, Field(ge=0)] = 1
    """Processes that run programs. Without one, workers elsewhere do."""
    ray: str = ""
    """Address of a cluster of Ray, such as ``auto``, whose machines run the workers."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of each worker; 0 for all cores, shared among the workers."""
    key_memory_bytes: Positive = 2_500 * MB
    """Memory of each worker for evaluation keys. Keys that were used last stay."""
    memory_bytes: Annotated[int, Field(ge=0)] = 0
    """Memory of a worker's machine, above which a run is refused; 0 for that of this machine."""
    lease_seconds: Seconds = 15.0
    """A running job whose worker gives no sign of life for so long goes back to the queue."""
    ahead_seconds: Annotated[float, Field(ge=0)] = 10.0
    """Seconds for which a worker takes jobs before their turn because their keys are in its memory,
    before it takes the one whose turn it is."""
    attempts: Positive = 3
    """Workers that a job may lose before it fails."""

    sessions: Positive = 4
    """Sessions of two parties at once, of all tenants. Each is a process of this machine."""
    session_identity: Path | None = None
    """File of the certificate of sessions and of its key, in PEM; by default one in ``data``."""

    receipt_key: Path | None = None
    """File of the private key that signs receipts, Ed25519 in PEM; by default one in ``data``."""
    part_bytes: Annotated[int, Field(ge=65_536, le=1_000 * MB)] = 8 * MB
    """Size of the parts in which keys are uploaded. Proxies often take no more than 1 to 100 MB."""
    largest_query_bytes: Positive = 256 * MB
    queue_seconds: Seconds = 3_600.0
    """Predicted seconds of waiting above which new jobs are refused."""
    answer_seconds: Seconds = 1.0 * DAY
    """Time for which answers are kept."""
    upload_seconds: Seconds = 1.0 * DAY
    """Time for which an unfinished upload is kept."""
    longest_wait_seconds: Seconds = 60.0
    """The longest time for which a request may wait for its answer."""
    free_bytes: Annotated[int, Field(ge=0)] = 500 * MB
    """Space on the disk below which nothing new is taken."""

    limits: Limits = Limits()
    models: dict[str, Serving] = {}

    @field_validator("grpc_port")
    @classmethod
    def _another_port(cls, port: int | None, info: ValidationInfo) -> int | None:
        if port and port == info.data.get("port"):
            raise ValueError("is the port of HTTP too, expected another one")
        return port

    @field_validator("database")
    @classmethod
    def _known_database(cls, url: str) -> str:
        if url and not url.startswith(("postgresql://", "postgresql+psycopg://", "sqlite://")):
            raise ValueError(f"is {url.partition(':')[0]}:…, expected postgresql:// or sqlite://")
        return url.replace("postgresql://", "postgresql+psycopg://", 1)

    @field_validator("store")
    @classmethod
    def _known_store(cls, url: str) -> str:
        if url and not url.startswith("s3://"):
            raise ValueError(f"is {url!r}, expected s3://BUCKET/PREFIX")
        return url

    @classmethod
    def read(cls, path: Path | None = None, **options: Any) -> Settings:
        """The settings of options that are not ``None``, of the environment, and of a file: the
        first that has a setting decides.

        Raises
        ------
        DataError
            If the file cannot be read or is no TOML.
        UsageError
            If a setting is unknown or out of range. The message names each.
        """
        chosen = {name: value for name, value in options.items() if value is not None}
        try:
            if path is not None:
                path.open("rb").close()
            settings = cls.model_validate(sources(path)(**chosen).model_dump())
            folders = {"programs": settings.programs.resolve(), "data": settings.data.resolve()}
            return settings.model_copy(update=folders)  # workers may start elsewhere
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}") from error
        except ValidationError as error:
            where = "settings" if path is None else str(path)
            raise UsageError("; ".join(f"{where}: {line}" for line in faults(error))) from error
        except ValueError as error:
            raise DataError(f"{path} is no TOML: {error}") from error

    @property
    def database_url(self) -> str:
        """URL of the database."""
        return self.database or f"sqlite:///{(self.data / 'service.sqlite').resolve()}"

    @property
    def grpc_address(self) -> str | None:
        """Address for gRPC, such as ``127.0.0.1:8001``; ``None`` without gRPC."""
        if self.grpc_port is None:
            return None
        return (
            f"[{self.host}]:{self.grpc_port}"
            if ":" in self.host
            else (f"{self.host}:{self.grpc_port}")
        )

    @property
    def worker_threads(self) -> int:
        """Threads of each worker."""
        return self.threads or max(1, cores() // max(1, self.workers))


def sources(path: Path | None) -> type[BaseSettings]:
    """Settings that pydantic reads from where they are written down."""

    class Sources(BaseSettings, Settings):
        model_config = SettingsConfigDict(
            env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", toml_file=path
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    return Sources


def faults(error: ValidationError) -> list[str]:
    """The faults of settings: name, value and expectation of each."""
    lines = []
    for fault in error.errors(include_url=False):
        name = ".".join(map(str, fault["loc"])) or "settings"
        if fault["type"] == "extra_forbidden":
            lines.append(f"there is no setting {name}")
        else:
            lines.append(f"{name} = {fault['input']!r}: {fault['msg']}")
    return lines


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
