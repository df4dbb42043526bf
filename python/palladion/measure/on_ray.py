"""An executor whose tasks run on the machines of a Ray cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Final, TypeVar

from palladion.deployment import CompiledModel
from palladion.errors import UsageError
from palladion.support.extras import missing

Result = TypeVar("Result")

LARGE: Final = 1_000_000
"""Bytes of an argument above which it goes once to each machine, and not with every task."""


class RayExecutor(Executor):
    """Runs each task as a task of Ray. A task whose machine dies is started again elsewhere.

    Parameters
    ----------
    address
        Address of the cluster, such as ``auto``.
    threads
        Cores that Ray keeps for a task.
    memory_bytes
        Memory that Ray keeps for a task.

    Raises
    ------
    UsageError
        If Ray is not installed, or cannot be reached.
    """

    def __init__(self, address: str = "auto", *, threads: int = 1, memory_bytes: int = 0) -> None:
        try:
            import ray
        except ImportError as error:
            raise missing(error, "an evaluation on Ray", "ray") from error
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UsageError(f"Ray at {address!r} cannot be reached: {error}") from error
        self._ray: Any = ray
        self._options = {"num_cpus": threads, "memory": memory_bytes, "max_retries": 3}
        self._stored: dict[int, tuple[object, Any]] = {}
        self._references: list[Any] = []

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Start a task."""
        task = self._ray.remote(fn).options(**self._options)
        reference = task.remote(*map(self._shared, args), **kwargs)
        self._references.append(reference)
        future: Future[Result] = reference.future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster. Tasks that run are cancelled if asked."""
        if cancel_futures:
            for reference in self._references:
                self._ray.cancel(reference, force=True)
        elif wait:
            self._ray.wait(self._references, num_returns=len(self._references))
        self._ray.shutdown()

    def _shared(self, value: object) -> Any:
        """An argument: a large one as a reference to Ray's store of objects."""
        is_large = isinstance(value, (str, bytes)) and len(value) >= LARGE
        if not is_large and not isinstance(value, CompiledModel):
            return value
        if id(value) not in self._stored:
            self._stored[id(value)] = (
                value,
                self._ray.put(value),
            )  # kept, so that the id stays its own
        return self._stored[id(value)][1]
