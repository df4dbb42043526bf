"""Figures for Prometheus. They have names of models and states, and no tenant."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from palladion.service.assembly import Parts
from palladion.service.jobs.job import State
from palladion.service.sessions.host import OUTCOMES, Sessions

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30, 120)


class Metrics:
    """Counts of the front itself, and figures that it reads from the database when it is asked."""

    def __init__(self, parts: Parts, sessions: Sessions) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "palladion_requests",
            "Requests by route and status",
            ["route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "palladion_request_seconds", "Time until a response begins", ["route"], buckets=BUCKETS,
            registry=self.registry,
        )  # fmt: skip
        self.registry.register(OfState(parts))
        self.registry.register(OfSessions(sessions))

    def count(self, route: str, status: int | str, seconds: float) -> None:
        """Count a response: its status is a number of HTTP, or a word of gRPC."""
        self.requests.labels(route, status).inc()
        self.seconds.labels(route).observe(seconds)


class OfSessions(Collector):
    """Figures of the sessions of this front."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def describe(self) -> Iterator[Metric]:
        """Nothing is read when the collector is registered."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The figures."""
        figures = self._sessions.figures
        running = self._sessions.running
        yield GaugeMetricFamily("palladion_sessions_running", "Sessions of two parties", running)
        ended = CounterMetricFamily(
            "palladion_sessions", "Sessions that have ended, by outcome", labels=["outcome"]
        )
        for outcome in OUTCOMES:
            ended.add_metric([outcome], figures.ended[outcome])
        yield ended
        yield CounterMetricFamily(
            "palladion_session_inputs", "Inputs that sessions answered", figures.inputs
        )
        moved = CounterMetricFamily(
            "palladion_session_bytes", "Bytes of sessions that have ended", labels=["to"]
        )
        moved.add_metric(["server"], figures.to_server)
        moved.add_metric(["client"], figures.to_client)
        yield moved


class OfState(Collector):
    """Figures of database and store."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Nothing is read when the collector is registered."""
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The figures."""
        counts = self._parts.queue.counts()
        jobs = GaugeMetricFamily(
            "palladion_jobs", "Jobs that are known, by state", labels=["state"]
        )
        for state in State:
            jobs.add_metric([state.value], counts.get(state.value, 0))
        yield jobs
        waiting = self._parts.queue.waiting_seconds()
        yield GaugeMetricFamily("palladion_queue_seconds", "Predicted seconds of waiting", waiting)
        runs = GaugeMetricFamily(
            "palladion_run_seconds_mean", "Seconds of kept runs", labels=["model"]
        )
        predicted = GaugeMetricFamily(
            "palladion_run_predicted_seconds_mean",
            "Predicted seconds of kept runs",
            labels=["model"],
        )
        for model, mean in self._parts.queue.means().items():
            runs.add_metric([model], mean.seconds)
            predicted.add_metric([model], mean.predicted)
        yield runs
        yield predicted
        held = self._parts.keys.total_bytes()
        yield GaugeMetricFamily("palladion_key_bytes", "Bytes of stored evaluation keys", held)
        free = self._parts.store.free()
        if free is not None:
            yield GaugeMetricFamily(
                "palladion_store_free_bytes", "Bytes that the store has left", free
            )
