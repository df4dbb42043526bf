"""Connections between two parties on one machine: loopback as it is, or slowed down to a bandwidth and
a latency, by network namespaces or by a proxy.

Traffic stays on loopback or in namespaces that are made here and removed at the end, also after a
failure.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from .environments import NotRunError


@dataclass(frozen=True)
class Link:
    """Mbit/s in each direction, and ms there and back. Zeros stand for loopback as it is."""

    name: str
    bandwidth: float = 0.0
    latency: float = 0.0

    @property
    def shaped(self) -> bool:
        return self.bandwidth > 0

    @property
    def assumed(self) -> tuple[float, float]:
        """Mbit/s and ms to compile for and to predict with: those of the loopback are a guess."""
        return (self.bandwidth, self.latency) if self.shaped else (20_000.0, 0.05)

    def __str__(self) -> str:
        if not self.shaped:
            return "loopback"
        rate = f"{self.bandwidth / 1000:g} G" if self.bandwidth >= 1000 else f"{self.bandwidth:g} M"
        return f"{rate}bit/s, {self.latency:g} ms"


LINKS = {
    link.name: link
    for link in (
        Link("loopback"),
        Link("lan", 2000, 0.2),
        Link("1g", 1000, 1),
        Link("wan", 400, 40),
    )
}
SHAPES = ("auto", "netns", "proxy")


class Connected(Protocol):
    """Two parties, 0 and 1, each with an address of its own."""

    shape: str

    def own(self, party: int) -> str:
        """The address at which a party listens."""

    def reached(self, party: int) -> str:
        """The address at which the other party finds it."""

    def prefix(self, party: int) -> list[str]:
        """Beginning of a party's command: one core, and the party's side of the connection."""


@contextlib.contextmanager
def connect(link: Link, shape: str) -> Iterator[Connected]:
    """The connection, for the length of the block.

    Raises
    ------
    NotRunError
        If ``shape`` is ``netns`` and this kernel or user cannot make such a connection.
    """
    if not link.shaped:
        yield _Loopback()
        return
    reason = None if shape == "proxy" else why_no_namespaces()
    if shape == "netns" and reason:
        raise NotRunError(f"{reason}: use --shape proxy")
    with _proxies(link) if shape == "proxy" or reason else _namespaces(link) as found:
        yield found


def core(party: int) -> list[str]:
    """The first core is the server's, the last one the client's."""
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cores[0] if party == 0 else cores[-1])]


def free_port() -> int:
    """A port of loopback that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class _Loopback:
    shape = "loopback"

    def __init__(self) -> None:
        self._ports = (free_port(), free_port())

    def own(self, party: int) -> str:
        return f"127.0.0.1:{self._ports[party]}"

    def reached(self, party: int) -> str:
        return self.own(party)

    def prefix(self, party: int) -> list[str]:
        return core(party)


# Namespaces


def why_no_namespaces() -> str | None:
    """The reason why connections cannot be shaped by namespaces here, or ``None``."""
    name = f"palladion-{os.getpid()}-probe"
    try:
        _ip("netns", "add", name)
    except NotRunError as error:
        return str(error)
    try:
        _ip(
            "netns", "exec", name, "tc", "qdisc", "add", "dev", "lo", *_netem(Link("probe", 100, 1))
        )
    except NotRunError:
        return "this kernel lacks netem, which delays packets in a namespace"
    finally:
        _ip("netns", "delete", name)
    return None


def _ip(*arguments: str) -> None:
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise NotRunError("namespaces need the command ip, of the package iproute2") from None
    if done.returncode != 0:
        raise NotRunError(f"ip {' '.join(arguments)}: {done.stderr.strip() or 'failed'}")


def _netem(link: Link) -> list[str]:
    """One direction: half of the latency, and room for all packets on their way."""
    return ["root", "netem", "limit", "100000", "delay", f"{link.latency / 2}ms",
            "rate", f"{link.bandwidth}mbit"]  # fmt: skip


class _Namespaces:
    shape = "network namespaces"

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def own(self, party: int) -> str:
        return f"10.99.0.{1 + party}:7711"

    def reached(self, party: int) -> str:
        return self.own(party)

    def prefix(self, party: int) -> list[str]:
        return ["ip", "netns", "exec", self._names[party], *core(party)]


@contextlib.contextmanager
def namespaces(shaping: list[str]) -> Iterator[_Namespaces]:
    """Two namespaces with a cable between them, whose ends have the queue ``shaping`` of tc."""
    names = [f"palladion-{os.getpid()}-{party}" for party in (0, 1)]
    ends = [f"p{os.getpid()}n{party}" for party in (0, 1)]
    made: list[str] = []
    try:
        for name in names:
            _ip("netns", "add", name)
            made.append(name)
        _ip("link", "add", ends[0], "netns", names[0], "type", "veth",
            "peer", "name", ends[1], "netns", names[1])  # fmt: skip
        for party, (name, end) in enumerate(zip(names, ends, strict=True)):
            inside = ("-netns", name)
            _ip(*inside, "address", "add", f"10.99.0.{1 + party}/24", "dev", end)
            _ip(*inside, "link", "set", "lo", "up")
            _ip(*inside, "link", "set", end, "up")
            if shaping:
                _ip("netns", "exec", name, "tc", "qdisc", "add", "dev", end, *shaping)
        yield _Namespaces(names)
    finally:
        for name in made:  # the cable goes with them
            _ip("netns", "delete", name)


def _namespaces(link: Link) -> contextlib.AbstractContextManager[_Namespaces]:
    return namespaces(_netem(link))


# Proxy


class _Direction:
    """One direction of the connection. Bytes leave when those before them are through, and arrive
    half of the latency later. Connections of the same direction share it."""

    def __init__(self, link: Link) -> None:
        self._seconds_per_byte = 8 / link.bandwidth / 1e6
        self._delay = link.latency / 2000
        self._free = 0.0
        self._lock = threading.Lock()

    def due(self, count: int) -> float:
        """When ``count`` bytes that are there now arrive."""
        with self._lock:
            self._free = max(self._free, time.perf_counter()) + count * self._seconds_per_byte
            return self._free + self._delay


def _carry(source: socket.socket, sink: socket.socket, direction: _Direction) -> None:
    waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def deliver() -> None:
        while True:
            due, chunk = waiting.get()
            time.sleep(max(0.0, due - time.perf_counter()))
            with contextlib.suppress(OSError):
                if not chunk:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(chunk)

    threading.Thread(target=deliver, daemon=True).start()
    chunk = b"first"
    while chunk:
        try:
            chunk = source.recv(1 << 18)
        except OSError:
            chunk = b""
        waiting.put((direction.due(len(chunk)), chunk))


def _proxy(link: Link, listeners: list[socket.socket], ports: list[int]) -> None:
    """Passes every connection on to the party that it is meant for."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 2:  # with two, it takes the core that has nothing to do
        os.sched_setaffinity(0, cores[1:-1])
    towards = [_Direction(link), _Direction(link)]

    def accept(party: int) -> None:
        while True:
            near, _ = listeners[party].accept()
            try:
                far = socket.create_connection(("127.0.0.1", ports[party]))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for way in ((near, far, towards[party]), (far, near, towards[1 - party])):
                threading.Thread(target=_carry, args=way, daemon=True).start()

    for party in (0, 1):
        threading.Thread(target=accept, args=(party,), daemon=True).start()
    threading.Event().wait()


class _Proxies(_Loopback):
    shape = "a proxy"

    def __init__(self) -> None:
        super().__init__()
        self.ports = list(self._ports)
        self.listeners = [socket.create_server(("127.0.0.1", 0)) for _ in (0, 1)]

    def reached(self, party: int) -> str:
        return f"127.0.0.1:{self.listeners[party].getsockname()[1]}"


@contextlib.contextmanager
def _proxies(link: Link) -> Iterator[_Proxies]:
    found = _Proxies()
    arguments = (link, found.listeners, found.ports)
    process = multiprocessing.get_context("fork").Process(
        target=_proxy, args=arguments, daemon=True
    )
    process.start()
    try:
        yield found
    finally:
        process.terminate()
        process.join()
        for listener in found.listeners:
            listener.close()
