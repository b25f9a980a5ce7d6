"""Can the other dashboards be believed: the instrumentation and the collector."""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Row, Target
from generator.panels import line, panel

_SIGNALS = {"spans": "spans", "metric_points": "points", "log_records": "logs"}


def _flows(word: str, name: str, by: str) -> tuple[Target, ...]:
    """Signals apart: with equal labels one query for two of them fails."""
    return tuple(
        line(
            q.collector_rate(f"{name}_{signal}", (by,)),
            f"{noun} {word} {{{{{by}}}}}",
        )
        for signal, noun in _SIGNALS.items()
    )


def _by(label: str) -> Target:
    return line(q.client_rate("requests_total", (label,)), f"{{{{{label}}}}}")


_CLIENTS = (
    panel(
        "Requests by outcome",
        "reqps",
        "abandoned: the application closed a stream early; cancelled: it was "
        "cancelled. Neither is an error.",
        _by("specdecode_outcome"),
        width=8,
    ),
    panel(
        "Requests by usage",
        "reqps",
        "requested: by the caller; forced: by this package; refused, absent: no token "
        "count came.",
        _by("specdecode_usage"),
        width=8,
    ),
    panel(
        "Requests by acceptance",
        "reqps",
        "present: the response says what was accepted; not_applicable: n above 1, "
        "several prompts, or the Responses API.",
        _by("specdecode_acceptance"),
        width=8,
    ),
    panel(
        "Call sites that count chunks, last hour",
        "short",
        "Call sites that derive a token rate from streamed chunks, found while they "
        "ran. none, at 0: a job that sends requests and counts no chunks.",
        line(
            q.client_latest("chunk_count_sites_total", "specdecode_rule"),
            "{{job}} {{specdecode_rule}}",
        ),
    ),
    panel(
        "Not recorded, last hour",
        "short",
        "What the instrumentation could not record. Sums are too low by this much. "
        "none, at 0: a job of which nothing was lost.",
        line(
            q.client_latest("telemetry_dropped_total", "specdecode_reason"),
            "{{job}} {{specdecode_reason}}",
        ),
    ),
)

_SCRAPES = (
    panel(
        "Scrapes that answer",
        "short",
        "1 for a server or collector whose metrics could be read, else 0.",
        line(q.gauge("up", ("job", "instance")), "{{job}} {{instance}}"),
    ),
    panel(
        "Duration of scrapes",
        "s",
        "Near the timeout a busy server is about to go missing.",
        line(
            q.gauge("scrape_duration_seconds", ("job", "instance")),
            "{{job}} {{instance}}",
        ),
    ),
)

_COLLECTOR = (
    panel(
        "Accepted and refused",
        "cps",
        "Spans, data points and logs that clients handed in a second.",
        *_flows("accepted", "receiver_accepted", "receiver"),
        *_flows("refused", "receiver_refused", "receiver"),
        width=8,
    ),
    panel(
        "Sent and failed",
        "cps",
        "Spans, data points and logs that backends took a second, and that were given "
        "up. What never failed has no series.",
        *_flows("sent", "exporter_sent", "exporter"),
        *_flows("failed", "exporter_send_failed", "exporter"),
        *_flows("not queued", "exporter_enqueue_failed", "exporter"),
        width=8,
    ),
    panel(
        "Queue, share of its size",
        "percentunit",
        "Batches that wait for a backend. Full: new telemetry is refused.",
        line(
            q.ratio(
                q.gauge("otelcol_exporter_queue_size", ("exporter",)),
                q.gauge("otelcol_exporter_queue_capacity", ("exporter",)),
            ),
            "{{exporter}}",
        ),
        width=8,
    ),
    panel(
        "Memory of the collector",
        "bytes",
        "Resident memory. Compare with the limit of its container.",
        line(
            q.gauge("otelcol_process_memory_rss", ("instance",)),
            "{{instance}}",
        ),
    ),
    panel(
        "CPU of the collector",
        "percentunit",
        "Cores in use: 1 is one core.",
        line(
            q.collector_rate("process_cpu_seconds", ("instance",)),
            "{{instance}}",
        ),
    ),
)

DASHBOARD = Dashboard(
    uid="specdecode-health",
    title="Speculation: instrumentation and collector",
    description="Whether what the other dashboards show is complete.",
    rows=(
        Row(title="Instrumentation", panels=_CLIENTS),
        Row(title="Scrapes", panels=_SCRAPES),
        Row(title="Collector", panels=_COLLECTOR),
    ),
)
