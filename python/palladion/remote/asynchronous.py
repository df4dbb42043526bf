"""The client of a service for programs of ``asyncio``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

import numpy.typing as npt

from palladion.nn.ends.prediction import Prediction
from palladion.remote.service import Service, connect
from palladion.runs import Progress
from palladion.support.records import Json

Result = TypeVar("Result")


async def connect_async(url: str, token: str, **options: Any) -> AsyncService:
    """As :func:`palladion.connect`, with its options, for programs of ``asyncio``."""
    return AsyncService(await asyncio.to_thread(connect, url, token, **options))


class AsyncService:
    """A :class:`palladion.Service` whose calls are awaited. Each works in a thread of its own: most
    of its time is the core's, which does not hold up other tasks."""

    def __init__(self, service: Service) -> None:
        self.service = service
        """The service, for calls that wait."""

    async def predict(
        self,
        x: npt.ArrayLike,
        model: str | None = None,
        *,
        version: str | None = None,
        progress: Progress | None = None,
    ) -> Prediction:
        """As :meth:`palladion.Service.predict`. If the task is cancelled, the job is."""
        stop = threading.Event()

        def heard(step: str, done: float, total: float) -> bool:
            answer = progress is None or progress(step, done, total) is not False
            return answer and not stop.is_set()

        call = self.service.predict
        try:
            return await asyncio.to_thread(call, x, model, version=version, progress=heard)
        except asyncio.CancelledError:
            stop.set()
            raise

    async def models(self) -> dict[str, list[str]]:
        """As :meth:`palladion.Service.models`."""
        return await self._call(self.service.models)

    async def keys(self) -> list[Json]:
        """As :meth:`palladion.Service.keys`."""
        return await self._call(self.service.keys)

    async def jobs(self) -> list[Json]:
        """As :meth:`palladion.Service.jobs`."""
        return await self._call(self.service.jobs)

    async def close(self) -> None:
        """Close the connection."""
        await self._call(self.service.close)

    async def _call(self, act: Callable[[], Result]) -> Result:
        return await asyncio.to_thread(act)

    async def __aenter__(self) -> AsyncService:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.close()
