"""The verdict for scripts. The shape is documented in docs/doctor.md, and stable."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_specdecode.cli._doctor_process import ProcessReport
    from otel_specdecode.cli._doctor_server import ServerReport
    from otel_specdecode.cli._doctor_verdict import Verdict

SCHEMA = "otel-specdecode.doctor/1"


def to_json(verdict: Verdict) -> str:
    """Return one JSON object."""
    found = {
        "schema": SCHEMA,
        "exit_code": verdict.exit_code,
        "server": None if verdict.server is None else _server(verdict.server),
        "environment": _environment(verdict.process),
        "findings": [asdict(finding) for finding in verdict.findings],
    }
    return json.dumps(found, indent=2)


def _server(report: ServerReport) -> dict[str, Any]:
    return {
        "base_url": report.base_url,
        "reachable": report.reachable,
        "failure": report.failure,
        "kind": report.kind,
        "version": report.version,
        "models": report.models,
        "model": report.model,
        "engine": report.engine,
        "usage_on_streams": {
            "asked": report.usage_asked,
            "unasked": report.usage_unasked or "unknown",
        },
        "acceptance": {
            "on_streams": report.stream_statistics,
            "in_whole_answers": report.answer_statistics,
            "malformed": report.malformed,
        },
        "metrics_page": {
            "speculation": report.metrics.speculation,
            "num_draft_tokens": report.metrics.num_draft_tokens,
        },
        "has_timing": report.has_timing,
        "unknown_fields": report.unknown_fields,
        "num_requests": report.num_requests,
    }


def _environment(report: ProcessReport) -> dict[str, Any]:
    return {
        "python": report.python,
        "packages": dict(report.packages),
        "instrumentors": [asdict(one) for one in report.instrumentors],
        "variables": [
            {"name": one.name, "value": one.value, "problem": one.problem}
            for one in report.variables
        ],
        "telemetry": [asdict(outlet) for outlet in report.outlets],
    }
