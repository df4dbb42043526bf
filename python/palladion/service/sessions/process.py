"""The process of a session: ``python -m palladion.service.sessions.process``.

It serves one client, whose certificate it is told, at an address of this machine alone, and ends.
Orders come as a line of JSON, and events go out as lines of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from palladion import _native
from palladion.errors import PalladionError
from palladion.hybrid import Event, HybridModel, Served
from palladion.support.records import Json

LOOPBACK = "127.0.0.1:0"


@dataclass(frozen=True)
class Orders:
    """Orders of a process: a program, and the one client to serve."""

    program: str
    """File of the program."""
    identity: str
    """File of the certificate and its key."""
    client: str
    """Hash of the client's certificate. No other connection is answered."""
    inputs: int
    """Inputs of the session, at most."""
    threads: int

    def to_line(self) -> bytes:
        """As a line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> None:
    """Serve one session. SIGTERM ends it, and so does the end of the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the group: the parent decides
    line = sys.stdin.readline()
    if not line:
        return
    orders = Orders(**json.loads(line))
    threading.Thread(target=end_with_parent, name="parent", daemon=True).start()
    try:
        serve(orders)
    except PalladionError as error:
        say({"event": "refused", "reason": str(error)})
        sys.exit(1)


def serve(orders: Orders) -> None:
    """Serve the client of some orders.

    Raises
    ------
    PalladionError
        If the program cannot be served.
    """
    _native.set_threads(orders.threads)
    identity = Path(orders.identity)
    HybridModel.load(orders.program).serve(
        LOOPBACK,
        tell,
        clients=[orders.client],
        identity=(identity, identity),
        sessions=1,
        at_once=1,
        per_address=1,
        inputs_per_client=orders.inputs,
    )


def tell(event: Event) -> None:
    """Tell the front of an event."""
    words: Json = {"event": event.event, "address": event.address}
    if isinstance(event, Served):
        words["inputs"] = event.report.inputs
    reason = getattr(event, "reason", None)
    say(words if reason is None else {**words, "reason": reason})


def say(words: Json) -> None:
    """Print a line of JSON."""
    print(json.dumps(words), flush=True)


def end_with_parent() -> None:
    """End this process when the one that started it is gone: nobody relays the session then."""
    while sys.stdin.readline():
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
