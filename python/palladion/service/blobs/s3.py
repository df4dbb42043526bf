"""A store in a bucket of S3, or of a server that speaks its protocol."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from palladion.errors import UsageError
from palladion.service.blobs.cache import Cache
from palladion.service.blobs.incoming import translated
from palladion.service.blobs.store import MissingBlobError, StoreError
from palladion.support.extras import missing

try:
    import obstore
    from obstore.exceptions import BaseError, NotFoundError
    from obstore.store import S3Store
except ImportError as error:
    raise missing(error, "a store in S3", "s3") from error

CHUNK: Final = 16 << 20
"""Bytes in memory at once. A longer blob is written by several requests."""

SIDE_BY_SIDE: Final = 4
"""Requests at once that write one blob."""

PATIENCE: Final = timedelta(seconds=10)
"""Time for which a request is sent again while the server is away. Then those who called decide."""

LONGEST: Final = "1 hour"
"""Time that one request may take, with its body."""

ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


class S3:
    """Blobs as objects of a bucket, beneath a prefix. See
    :class:`palladion.service.blobs.store.Store`.

    Credentials, region and endpoint come from the usual variables of the environment:
    ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_REGION``, ``AWS_ENDPOINT_URL`` and
    others. An object is written in parts, and is there when all of them are: a bucket should drop
    parts of unfinished uploads after a day.

    Parameters
    ----------
    url
        ``s3://BUCKET/PREFIX``.
    cache
        Folder for copies of blobs and for new files.
    budget
        Bytes that the copies may have.
    """

    def __init__(self, url: str, cache: Path, budget: int) -> None:
        where = urlsplit(url)
        if where.scheme != "s3" or not where.netloc:
            raise UsageError(f"the store {url!r}, expected s3://BUCKET/PREFIX")
        endpoint = next(filter(None, map(os.environ.get, ENDPOINTS)), "")
        self.url = url
        self._folder = cache
        self._cache = Cache(cache, budget)
        with self._translated(url):
            self._bucket = S3Store(
                where.netloc,
                prefix=where.path.strip("/") or None,
                client_options={
                    "allow_http": endpoint.startswith("http://"),
                    "connect_timeout": "5 seconds",
                    "read_timeout": "30 seconds",
                    "timeout": LONGEST,
                },
                retry_config={
                    "max_retries": 4,
                    "retry_timeout": PATIENCE,
                    "backoff": {"max_backoff": timedelta(seconds=2)},
                },
            )

    def incoming(self) -> AbstractContextManager[Path]:
        return self._cache.incoming()

    def move_in(self, name: str, file: Path) -> None:
        with self._translated(name):
            obstore.put(self._bucket, name, file, chunk_size=CHUNK, max_concurrency=SIDE_BY_SIDE)

    def put(self, name: str, data: bytes) -> None:
        with self._translated(name):
            obstore.put(self._bucket, name, data, chunk_size=CHUNK, max_concurrency=SIDE_BY_SIDE)

    def read(self, name: str) -> bytes:
        return b"".join(self._chunks(name))

    def file(self, name: str) -> Path:
        def size() -> int:
            with self._translated(name):
                return obstore.head(self._bucket, name)["size"]

        def fetch(path: Path) -> None:
            with path.open("wb") as file:
                for chunk in self._chunks(name):
                    file.write(chunk)

        return self._cache.file(name, size, fetch)

    def delete(self, name: str) -> None:
        try:
            with self._translated(name):
                obstore.delete(self._bucket, name)
        except MissingBlobError:
            pass
        self._cache.forget(name)

    def names(self, prefix: str) -> Iterator[str]:
        with self._translated(prefix):
            for some in obstore.list(self._bucket, prefix, chunk_size=1000):
                yield from (item["path"] for item in some)

    def free(self) -> int | None:
        """Bytes that are left on the local disk, where bodies of requests arrive. A bucket has no
        end."""
        with translated(self._folder):
            return shutil.disk_usage(self._folder).free

    def check(self) -> None:
        try:
            next(iter(self.names("programs")), None)
        except (MissingBlobError, StoreError) as error:
            words = (
                "expected a bucket that is there, and credentials and endpoint in AWS_ variables"
            )
            raise StoreError(f"{error}; {words}") from error

    def _chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of a blob, of one version."""
        with self._translated(name):
            for chunk in obstore.get(self._bucket, name).stream(min_chunk_size=CHUNK):
                yield bytes(chunk)

    @contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        """Turn errors of the client into those of a store."""
        try:
            yield
        except (NotFoundError, FileNotFoundError) as error:
            raise MissingBlobError(f"there is no {name} in the store") from error
        except BaseError as error:
            reason = str(error).strip().partition("\n")[0].partition(": <?xml")[0][:300]
            raise StoreError(f"the store {self.url} refuses {name}: {reason}") from error
