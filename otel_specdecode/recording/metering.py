"""Sums and instruments of one meter provider, whoever else gets the spans.

A provider reads each observable counter once: of two under one name, the sums of one
are lost. So every recorder that records into a provider shares what is here.
"""

from __future__ import annotations

import os
import weakref
from threading import Lock
from typing import TYPE_CHECKING

from opentelemetry import metrics

from otel_specdecode.recording import semconv as names
from otel_specdecode.recording._sums import AttributeKey, Sums
from otel_specdecode.recording.counting import Rows
from otel_specdecode.recording.instruments import (
    Instruments,
    own_histograms,
    register_counters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.metrics import MeterProvider

_meterings: weakref.WeakSet[Metering] = weakref.WeakSet()


class Metering:
    """Counts and measures the requests of one meter provider.

    Attributes:
        sums: behind the observable counters.
        rows: the cells of requests that are alike.
        renew: makes the meter provider of a forked child; `None` to keep the
            parent's.
        forked: whether this is a child that has not recorded yet.
    """

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        """Create the instruments.

        Args:
            meter_provider: `None` for the global one, also when it is set later.
        """
        self.sums = Sums()
        self.rows = Rows(self.sums)
        self.renew: Callable[[], MeterProvider] | None = None
        self.forked = False
        self._renewing = Lock()
        self._by_names: dict[names.GenAINames, Instruments] = {}
        self.use_meter_provider(meter_provider)
        _meterings.add(self)

    def use_meter_provider(self, meter_provider: MeterProvider | None) -> None:
        """Create the instruments anew, in a child whose provider is a new one."""
        self._meter = metrics.get_meter(
            names.SCOPE, meter_provider=meter_provider, schema_url=names.SCHEMA_URL
        )
        self._own = own_histograms(self._meter)
        register_counters(self._meter, self.sums)
        for instruments in self._by_names.values():
            instruments.use_meter(self._meter, self._own)

    def instruments(self, genai_names: names.GenAINames) -> Instruments:
        """Return the instruments with these names of the standard GenAI metrics."""
        found = self._by_names.get(genai_names)
        if found is None:
            genai = names.genai_metrics(genai_names)
            found = Instruments(self._meter, self._own, genai)
            self._by_names[genai_names] = found
        return found

    def count(self, metric: names.Metric, key: AttributeKey, value: int = 1) -> None:
        """Add to one counter outside of a request."""
        with self.sums.lock:
            self.sums.cell(metric.name, key).value += value

    def read(self, metric: names.Metric) -> list[tuple[int, Mapping[str, object]]]:
        """Return the sums of one counter, with their attributes."""
        return [*self.sums.read(metric.name)]

    def restart(self) -> None:
        """Forget what the parent process counted."""
        self.sums.restart()
        self.rows.restart()
        self._renewing = Lock()
        # Done when the child makes a request; most children never do.
        self.forked = True

    def use_own_provider(self) -> None:
        """Record into the forked child's own provider from here on."""
        # Threads that come meanwhile wait: the old instruments export nothing here.
        with self._renewing:
            if self.forked and self.renew is not None:
                self.use_meter_provider(self.renew())
            self.forked = False


def _restart_all() -> None:
    for metering in list(_meterings):
        metering.restart()


if hasattr(os, "register_at_fork"):  # pragma: no branch (as this system does)
    os.register_at_fork(after_in_child=_restart_all)
