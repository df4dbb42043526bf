"""`bench/run-hybrid`: slowed connections, and the computed crossing of the modes."""

from __future__ import annotations

import importlib
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parent.parent / "bench"


def harness(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    for loaded in [m for m in sys.modules if m.split(".")[0] == "harness"]:
        monkeypatch.delitem(sys.modules, loaded)
    return importlib.import_module(f"harness.{name}")


def echo(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        while data := connection.recv(1 << 16):
            connection.sendall(data)


def test_a_proxy_delays_and_paces_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    links = harness("links", monkeypatch)
    link = links.Link("slow", bandwidth=80, latency=50)
    with links.connect(link, "proxy") as net:
        host, port = net.own(0).split(":")
        with socket.create_server((host, int(port))) as listener:
            threading.Thread(target=echo, args=(listener,), daemon=True).start()
            host, port = net.reached(0).split(":")
            with socket.create_connection((host, int(port)), timeout=30) as end:
                assert exchange(end, 1) >= 0.05, "a byte takes the latency there and back"
                # One direction fills while the other does: 0.2 s, and the latency.
                found = exchange(end, 2_000_000)
                assert 0.25 <= found < 5, f"2 MB there and back took {found:.2f} s"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), timeout=5)


def exchange(end: socket.socket, count: int) -> float:
    started, received = time.perf_counter(), 0
    threading.Thread(target=end.sendall, args=(bytes(count),), daemon=True).start()
    while received < count:
        received += len(end.recv(1 << 16))
    return time.perf_counter() - started


def test_namespaces_are_refused_with_a_reason_or_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    links = harness("links", monkeypatch)
    reason = links.why_no_namespaces()
    if reason is not None:
        refusal = pytest.raises(links.NotRunError, match="--shape proxy")
        with refusal, links.connect(links.LINKS["lan"], "netns"):
            pass
    assert not list(Path("/run/netns").glob(f"palladion-{links.os.getpid()}-*"))


def test_at_the_crossing_both_modes_take_equally_long(monkeypatch: pytest.MonkeyPatch) -> None:
    table = harness("hybrid_table", monkeypatch)
    part = {"bytes_to_server": 10e6, "bytes_to_client": 20e6, "messages": 300}
    row = {
        "online_seconds": 0.5,
        "offline_seconds": 4.0,
        "predicted_cost": {"online": part, "material": part},
    }
    run = {"seconds_of_a_run": 60.0, "bytes_of_a_run": 1e6}
    for latency in (0.2, 40):
        at = table.crossing(row, run, latency)
        hybrid = table.hybrid_seconds(row, at, latency, offline=True)
        assert hybrid == pytest.approx(table.fhe_seconds(run, at, latency))
    assert table.crossing(row, run, 400) is None, "the waits alone take longer than the other mode"
