"""The providers of a process and of its forked children, flushed in bounded time."""

from __future__ import annotations

import os
from threading import Event, Lock, RLock, Thread
from typing import TYPE_CHECKING

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import DropAggregation, View
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from otel_specdecode.instrumentation import abandoned
from otel_specdecode.instrumentation._guard import warn
from otel_specdecode.otlp.exporters import metric_exporter
from otel_specdecode.recording import SCOPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExporter


class Telemetry:
    """The providers that `configure` made.

    Our metrics have a provider of their own, which a forked child makes anew: the
    SDK's histograms cannot be set back to zero, and a child that went on with its
    parent's would export that past a second time.

    Attributes:
        tracer_provider: set as the global one.
        meter_provider: set as the global one; holds all metrics but ours.
    """

    def __init__(
        self,
        *,
        resource: Resource,
        spans: SpanExporter | None,
        interval_s: float | None,
        exit_timeout_s: float,
    ) -> None:
        """Make the providers, without setting them as the global ones.

        Args:
            resource: what the telemetry is of.
            spans: where spans go; `None` for nowhere.
            interval_s: seconds between exports of metrics; `None` for the default.
            exit_timeout_s: seconds that `shutdown` waits unless told otherwise.
        """
        self._interval_ms = None if interval_s is None else interval_s * 1000
        self._exit_timeout_s = exit_timeout_s
        self.tracer_provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        if spans is not None:
            self.tracer_provider.add_span_processor(BatchSpanProcessor(spans))
        not_ours = View(
            instrument_name="*", meter_name=SCOPE, aggregation=DropAggregation()
        )
        self.meter_provider = self._make_meter_provider(not_ours)
        self._own = self._make_meter_provider(this_process_only=True)
        self._own_pid = os.getpid()
        self._forget_threads()
        self._ensure_closer()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_threads)

    def own_meter_provider(self) -> MeterProvider:
        """Return the provider of our metrics in this process."""
        with self._lock:
            if self._own_pid != os.getpid():
                self._own = self._make_meter_provider(this_process_only=True)
                self._own_pid = os.getpid()
            self._ensure_closer()
            return self._own

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Export what has been recorded so far.

        Args:
            timeout_s: seconds to wait; an export that takes longer goes on.

        Returns:
            Whether everything was handed over within that time.
        """
        abandoned.flush()
        with self._flushing:
            if self._asked is None:
                self._asked = Event()
            done = self._asked
            if self._flusher is None:
                self._flusher = Thread(
                    target=self._flush_all, name="otel-specdecode-flush", daemon=True
                )
                self._flusher.start()
        return done.wait(timeout_s)

    def _flush_all(self) -> None:
        """Flush for all who ask meanwhile together.

        A thread for each of them would be one more for each while a collector hangs.
        """
        while True:
            with self._flushing:
                done, self._asked = self._asked, None
                if done is None:
                    self._flusher = None
                    return
            flushed = [
                _attempt(self.tracer_provider.force_flush),
                _attempt(lambda: self.own_meter_provider().force_flush()),
                _attempt(self.meter_provider.force_flush),
            ]
            if all(flushed):
                done.set()

    def shutdown(self, timeout_s: float | None = None) -> bool:
        """Export what is left, and stop. Runs by itself at the end of the process.

        Args:
            timeout_s: seconds to wait; `None` for `configure`'s `exit_timeout_s`.

        Returns:
            Whether it was done within that time.
        """
        abandoned.flush_at_exit()
        self._wait_s = self._exit_timeout_s if timeout_s is None else timeout_s
        self._closing.set()
        try:
            with self._lock:
                self._ensure_closer()
        except RuntimeError:
            # A child that made no request, and it is too late for a thread.
            self._close()
        return self._closed.wait(self._wait_s)

    def _forget_threads(self) -> None:
        """Start anew in a forked child, without a thread until there is a request.

        Most children only execute another program. To start a thread there runs the
        parent's greenlets a second time under gevent:
        https://github.com/open-telemetry/opentelemetry-python/issues/4298
        """
        self._lock = Lock()
        self._closing, self._closed = Event(), Event()
        self._closer: Thread | None = None
        # Reentrant: a signal handler may flush as well.
        self._flushing = RLock()
        self._asked: Event | None = None
        self._flusher: Thread | None = None

    def _ensure_closer(self) -> None:
        """Start the thread that shuts down: at exit none can be started any more."""
        if self._closer is None:
            closer = Thread(
                target=self._close, name="otel-specdecode-exit", daemon=True
            )
            closer.start()
            self._closer = closer

    def _close(self) -> None:
        self._closing.wait()
        # Metrics first: a collector that hangs must not cost them their share.
        share_ms = self._wait_s * 1000 / 3
        if self._own_pid == os.getpid():
            _attempt(lambda: self._own.shutdown(share_ms))
        _attempt(lambda: self.meter_provider.shutdown(share_ms))
        _attempt(self.tracer_provider.shutdown)
        self._closed.set()

    def _make_meter_provider(
        self, *views: View, this_process_only: bool = False
    ) -> MeterProvider:
        exporter = metric_exporter(this_process_only=this_process_only)
        readers = (
            []
            if exporter is None
            else [
                PeriodicExportingMetricReader(
                    exporter, export_interval_millis=self._interval_ms
                )
            ]
        )
        return MeterProvider(
            metric_readers=readers,
            # An SDK that renews the id of this process has done so here.
            resource=self.tracer_provider.resource,
            views=views,
            shutdown_on_exit=False,
        )


def _attempt(step: Callable[[], object]) -> bool:
    try:
        step()
    except Exception as error:  # noqa: BLE001 (the SDK raises when time is up)
        warn("Exporting telemetry: %s", error)
        return False
    return True
