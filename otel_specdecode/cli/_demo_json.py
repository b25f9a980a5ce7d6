"""The demo for machines, in the shape that `docs/demo.md` describes.

While `schema` stays the same, fields are added, and never renamed or removed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_specdecode.cli._demo_export import Sent, SentMetric
    from otel_specdecode.cli._demo_story import Story
    from otel_specdecode.model import Acceptance, Bounds

SCHEMA = "otel-specdecode.demo/1"


def to_json(stories: Sequence[Story], sent: Sent, *, version: str) -> str:
    """Write the demo as one JSON object; what is unknown is null."""
    document = {
        "schema": SCHEMA,
        "version": version,
        "servers": [_server(story) for story in stories],
        "sent": {
            "endpoint": sent.endpoint,
            "num_spans": len(sent.spans),
            "metrics": [_metric(metric) for metric in sent.metrics],
        },
    }
    return json.dumps(document, indent=2)


def _server(story: Story) -> dict[str, Any]:
    totals = story.totals
    gaps = totals.gaps
    p95 = story.chunk_gap_p95
    return {
        "name": story.name,
        "description": story.description,
        "base_url": story.base_url,
        "model": story.model,
        "num_requests": totals.num_requests,
        "num_completed": totals.num_completed,
        "chunk_counter": {
            "num_chunks": story.num_counted_chunks,
            "chunks_per_s": story.chunk_rate,
        },
        "truth": {
            "num_output_tokens": None
            if totals.num_without_usage
            else totals.num_output_tokens,
            "output_tokens_per_s": totals.output_token_rate,
            "undercount_factor": totals.undercount_factor,
        },
        "client_clock": {
            "ttft_median_s": story.ttft_median_s,
            "chunk_gap_mean_s": gaps.mean_s if gaps else None,
            "chunk_gap_p95_s": [p95.low_s, p95.high_s] if p95 else None,
            "chunk_gap_max_s": gaps.max_s if gaps else None,
            "tpot_s": totals.tpot_s,
        },
        "engine_clock": _timing(story),
        "acceptance": _acceptance(story.acceptance),
        "acceptance_states": dict(story.acceptance_states),
        "acceptance_reason": story.acceptance_reason,
        "decode_steps": _bounds(story.decode_steps),
        "tokens_per_step": _bounds(story.tokens_per_step),
        "step_coverage": _bounds(story.step_coverage),
        "chunking": dict(story.chunking),
        "usage_origins": dict(story.usage_origins),
        "sources": dict(story.sources),
        "advice": list(story.advice),
    }


def _acceptance(acceptance: Acceptance | None) -> dict[str, Any] | None:
    if acceptance is None:
        return None
    by_position = acceptance.acceptance_rate_by_position
    return {
        "num_spec_tokens": acceptance.num_spec_tokens,
        "num_spec_steps": acceptance.num_spec_steps,
        "num_draft_tokens": acceptance.num_draft_tokens,
        "num_accepted_draft_tokens": acceptance.num_accepted_draft_tokens,
        "draft_acceptance_rate": acceptance.draft_acceptance_rate,
        "mean_acceptance_length": acceptance.mean_acceptance_length,
        "acceptance_rate_by_position": None if by_position is None else [*by_position],
    }


def _timing(story: Story) -> dict[str, float | None] | None:
    timing = story.server_timing
    if timing is None:
        return None
    return {
        "queue_mean_s": timing.queue_s,
        "prefill_mean_s": timing.prefill_s,
        "decode_mean_s": timing.decode_s,
        "tpot_s": story.engine_tpot_s,
    }


def _bounds(bounds: Bounds | None) -> dict[str, float | None] | None:
    return None if bounds is None else {"low": bounds.low, "high": bounds.high}


def _metric(metric: SentMetric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "unit": metric.unit,
        "num_series": metric.num_series,
        "value": metric.value,
        "count": metric.count,
        "sum": metric.sum,
    }
