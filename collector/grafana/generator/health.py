"""Can the other dashboards be believed: the instrumentation and the collector."""

from __future__ import annotations

from generator import queries as q
from generator.dashboard_json import Dashboard, Panel, Row, Target


def _panel(
    title: str, unit: str, description: str, *targets: Target, width: int = 8
) -> Panel:
    return Panel(
        title=title, unit=unit, description=description, targets=targets, width=width
    )


def _flows(word: str, name: str, by: str) -> tuple[Target, ...]:
    """Spans and data points apart: with equal labels one query fails on both."""
    return tuple(
        Target(
            expr=q.collector_rate(f"{name}_{signal}", (by,)),
            legend=f"{signal.replace('metric_', '')} {word} {{{{{by}}}}}",
        )
        for signal in ("spans", "metric_points")
    )


def _by(label: str) -> Target:
    return Target(
        expr=q.client_rate("requests_total", (label,)), legend=f"{{{{{label}}}}}"
    )


_CLIENTS = (
    _panel(
        "Requests by outcome",
        "reqps",
        "abandoned: the application closed a stream early; cancelled: it was "
        "cancelled. Neither is an error.",
        _by("specdecode_outcome"),
    ),
    _panel(
        "Requests by usage",
        "reqps",
        "requested: by the caller; forced: by this package; refused, absent: no token "
        "count came.",
        _by("specdecode_usage"),
    ),
    _panel(
        "Requests by acceptance",
        "reqps",
        "present: the response says what was accepted; not_applicable: n above 1, "
        "several prompts, or the Responses API.",
        _by("specdecode_acceptance"),
    ),
    _panel(
        "Call sites that count chunks, last hour",
        "short",
        "Call sites that derive a token rate from streamed chunks, found while they "
        "ran.",
        Target(
            expr=q.client_latest("chunk_count_sites_total", ("job", "specdecode_rule")),
            legend="{{job}} {{specdecode_rule}}",
        ),
        width=12,
    ),
    _panel(
        "Not recorded, last hour",
        "short",
        "What the instrumentation could not record. Sums are too low by this much.",
        Target(
            expr=q.client_latest(
                "telemetry_dropped_total", ("job", "specdecode_reason")
            ),
            legend="{{job}} {{specdecode_reason}}",
        ),
        width=12,
    ),
)

_SCRAPES = (
    _panel(
        "Scrapes that answer",
        "short",
        "1 for a server or collector whose metrics could be read, else 0.",
        Target(expr=q.gauge("up", ("job", "instance")), legend="{{job}} {{instance}}"),
        width=12,
    ),
    _panel(
        "Duration of scrapes",
        "s",
        "Near the timeout a busy server is about to go missing.",
        Target(
            expr=q.gauge("scrape_duration_seconds", ("job", "instance")),
            legend="{{job}} {{instance}}",
        ),
        width=12,
    ),
)

_COLLECTOR = (
    _panel(
        "Accepted and refused",
        "cps",
        "Spans and data points that clients handed in a second.",
        *_flows("accepted", "receiver_accepted", "receiver"),
        *_flows("refused", "receiver_refused", "receiver"),
    ),
    _panel(
        "Sent and failed",
        "cps",
        "Spans and data points that backends took a second, and that were given up. "
        "What never failed has no series.",
        *_flows("sent", "exporter_sent", "exporter"),
        *_flows("failed", "exporter_send_failed", "exporter"),
        *_flows("not queued", "exporter_enqueue_failed", "exporter"),
    ),
    _panel(
        "Queue, share of its size",
        "percentunit",
        "Batches that wait for a backend. Full: new telemetry is refused.",
        Target(
            expr=q.ratio(
                q.gauge("otelcol_exporter_queue_size", ("exporter",)),
                q.gauge("otelcol_exporter_queue_capacity", ("exporter",)),
            ),
            legend="{{exporter}}",
        ),
    ),
    _panel(
        "Memory of the collector",
        "bytes",
        "Resident memory. Compare with the limit of its container.",
        Target(
            expr=q.gauge("otelcol_process_memory_rss", ("instance",)),
            legend="{{instance}}",
        ),
        width=12,
    ),
    _panel(
        "CPU of the collector",
        "percentunit",
        "Cores in use: 1 is one core.",
        Target(
            expr=q.collector_rate("process_cpu_seconds", ("instance",)),
            legend="{{instance}}",
        ),
        width=12,
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
