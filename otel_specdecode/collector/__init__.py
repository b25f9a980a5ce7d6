"""The collector bundle from Python: its files, checks of other people's, a probe.

Nothing here instruments anything; it imports neither the OpenTelemetry SDK nor a
client.
"""

from __future__ import annotations

from otel_specdecode.collector.bundle import bundle_root, copy_bundle, list_bundle
from otel_specdecode.collector.config_rules import check_configuration
from otel_specdecode.collector.findings import Finding, Severity
from otel_specdecode.collector.query_files import check_query_file
from otel_specdecode.collector.query_rules import check_query

__all__ = [
    "Finding",
    "Severity",
    "bundle_root",
    "check_configuration",
    "check_query",
    "check_query_file",
    "copy_bundle",
    "list_bundle",
]
