"""The process of a worker: ``python -m palladion.service.worker``. Its settings come in JSON."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import threading
from types import FrameType

from palladion.service.assembly import assemble
from palladion.service.logs import log_to
from palladion.service.settings import Settings
from palladion.service.worker.worker import Worker


def main() -> None:
    """Run jobs until SIGTERM, or until the process that started this one is gone."""
    settings = Settings.model_validate_json(sys.stdin.readline())
    parent = os.getppid()
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the group: the parent decides
    log_to(sys.stderr)

    def watch() -> None:
        while not stop.wait(1.0):
            if os.getppid() != parent:
                stop.set()

    threading.Thread(target=watch, name="parent", daemon=True).start()
    parts = assemble(settings)
    name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    print(name, flush=True)
    Worker(name, settings, parts.queue, parts.keys, parts.store).work(stop)


if __name__ == "__main__":
    main()
