"""The process of a worker: ``python -m palladion.service.worker``. Its settings come in JSON."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
from types import FrameType

from palladion.service.assembly import assemble
from palladion.service.logs import log_to
from palladion.service.settings import Settings
from palladion.service.tracing import end_tracing, start_tracing
from palladion.service.worker.calls import PipeCalls
from palladion.service.worker.worker import Worker


def main() -> None:
    """Run jobs until SIGTERM, or until the process that started this one is gone."""
    settings = Settings.model_validate_json(sys.stdin.readline())
    calls = PipeCalls(sys.stdin, sys.stdout)

    def end(_number: int, _frame: FrameType | None) -> None:
        calls.end()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the group: the parent decides
    log_to(sys.stderr)
    start_tracing("worker")
    parts = assemble(settings)
    name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    print(name, flush=True)
    calls.listen()
    Worker(name, settings, parts.queue, parts.keys, parts.store).work(calls)
    end_tracing()


if __name__ == "__main__":
    main()
