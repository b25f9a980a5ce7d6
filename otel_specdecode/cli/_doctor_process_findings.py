"""What of this environment keeps telemetry from being recorded, or from arriving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_specdecode.cli._doctor_findings import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.cli._doctor_process import Outlet, ProcessReport

_EXPORTERS = {
    "grpc": "opentelemetry-exporter-otlp-proto-grpc",
    "http/protobuf": "opentelemetry-exporter-otlp-proto-http",
}


def about_process(report: ProcessReport) -> Iterator[Finding]:
    """Judge an environment."""
    yield from _about_packages(report)
    yield from _about_instrumentors(report)
    for variable in report.variables:
        if variable.problem is not None:
            yield Finding(
                code="variable_unknown" if variable.unknown else "variable_wrong",
                level=Level.WRONG,
                text=f"{variable.name} {variable.problem}"
                if variable.unknown
                else f"{variable.name}: {variable.problem}",
            )
    if report.sdk_disabled:
        yield Finding(
            code="sdk_disabled",
            level=Level.MISSING,
            text="OTEL_SDK_DISABLED turns the SDK off, so nothing leaves a program.",
            fix="unset OTEL_SDK_DISABLED",
        )
    else:
        yield from _about_outlets(report)
    if report.has_base_url:
        yield Finding(
            code="base_url_in_environment",
            level=Level.NOTE,
            text="OPENAI_BASE_URL names a server, which is examined only on request.",
            fix='--base-url "$OPENAI_BASE_URL"',
        )


def _about_packages(report: ProcessReport) -> Iterator[Finding]:
    if report.packages["openai"] is None:
        yield Finding(
            code="openai_missing",
            level=Level.MISSING,
            text="openai is not installed, so there is no client to observe.",
            fix="pip install 'otel-specdecode[instruments]'",
        )
    if report.openai_conflict is not None:
        yield Finding(
            code="openai_unsupported",
            level=Level.WRONG,
            text=f"This release of openai is not supported: {report.openai_conflict}.",
        )
    if report.packages["opentelemetry-sdk"] is None:
        yield Finding(
            code="sdk_missing",
            level=Level.MISSING,
            text="The OpenTelemetry SDK is not installed, so nothing is exported.",
            fix="pip install 'otel-specdecode[otlp]'",
        )
        return
    for protocol in sorted({outlet.protocol for outlet in _otlp(report)}):
        package = _EXPORTERS.get(protocol)
        if package is not None and report.packages[package] is None:
            yield Finding(
                code="exporter_missing",
                level=Level.MISSING,
                text=f"No exporter for the protocol {protocol} is installed.",
                fix=f"pip install {package}",
            )


def _about_instrumentors(report: ProcessReport) -> Iterator[Finding]:
    ours = [one for one in report.instrumentors if one.ours]
    if any(one.disabled for one in ours):
        yield Finding(
            code="instrumentor_disabled",
            level=Level.MISSING,
            text="OTEL_PYTHON_DISABLED_INSTRUMENTATIONS keeps opentelemetry-instrument"
            " from loading ours.",
            fix="take specdecode out of OTEL_PYTHON_DISABLED_INSTRUMENTATIONS",
        )


def _about_outlets(report: ProcessReport) -> Iterator[Finding]:
    unreached = [outlet for outlet in _otlp(report) if outlet.reachable is False]
    for endpoint in sorted({outlet.endpoint for outlet in unreached}):
        lost = [outlet for outlet in unreached if outlet.endpoint == endpoint]
        signals = " and ".join(outlet.signal for outlet in lost)
        if all(outlet.is_default for outlet in lost):
            yield Finding(
                code="endpoint_default",
                level=Level.NOTE,
                text=f"No variable says where {signals} go, and nobody listens at the"
                f" default, {endpoint}.",
                fix="OTEL_EXPORTER_OTLP_ENDPOINT=http://HOST:4317",
            )
        else:
            yield Finding(
                code="endpoint_unreachable",
                level=Level.MISSING,
                text=f"Nobody listens at {endpoint}, where {signals} go.",
            )
    off = [o.signal for o in report.outlets if not o.exporter.startswith("otlp")]
    if off:
        yield Finding(
            code="exporter_not_otlp",
            level=Level.NOTE,
            text=f"Variables keep {' and '.join(off)} from going out over OTLP.",
        )


def _otlp(report: ProcessReport) -> Iterator[Outlet]:
    return (one for one in report.outlets if one.exporter.startswith("otlp"))
