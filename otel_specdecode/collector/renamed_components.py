"""Component types and settings of the collector that have a newer name or no effect.

Aliases go one way: the old name works on a new collector, with a warning, while the
new name fails on an old one. Sources: the changelogs of opentelemetry-collector and
opentelemetry-collector-contrib, v0.123 to v0.165.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RENAMED: Mapping[tuple[str, str], tuple[str, str]] = {
    ("exporters", "otlp"): ("otlp_grpc", "0.144"),
    ("exporters", "otlphttp"): ("otlp_http", "0.144"),
    ("exporters", "prometheusremotewrite"): ("prometheus_remote_write", "0.154"),
    ("exporters", "loadbalancing"): ("load_balancing", "0.156"),
    ("processors", "metricstransform"): ("metrics_transform", "0.156"),
    ("processors", "k8sattributes"): ("k8s_attributes", "0.156"),
    ("processors", "resourcedetection"): ("resource_detection", "0.156"),
    ("processors", "cumulativetodelta"): ("cumulative_to_delta", "0.158"),
    ("processors", "deltatocumulative"): ("delta_to_cumulative", "0.161"),
    ("processors", "metricstarttime"): ("metric_start_time", "0.158"),
    ("connectors", "spanmetrics"): ("span_metrics", "0.156"),
    ("exporters", "logging"): ("debug", "0.86"),
}
"""(section, old type) to (new type, first version that knows it)."""

WITHOUT_EFFECT: Mapping[tuple[str, str], str] = {
    ("prometheus", "add_metric_suffixes"): (
        "ignored since 0.154: set translation_strategy"
    ),
    ("prometheus", "resource_to_telemetry_conversion"): (
        "deprecated: join target_info, or set resource_constant_labels"
    ),
    ("prometheus_remote_write", "add_metric_suffixes"): (
        "ignored since 0.154: set translation_strategy"
    ),
}
"""(exporter type, setting) to what to do instead."""
