"""The names that queries about speculation may use, and what to say of others.

Servers: vLLM 0.32, as its `/metrics` names them. Clients: what this package exports,
under its Prometheus names. Tests hold both lists to a real server's page and to the
instruments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_specdecode.collector.findings import QueryFinding

if TYPE_CHECKING:
    from collections.abc import Mapping

_SERVER_COUNTERS = frozenset(
    {
        "admission_rejections",
        "estimated_flops_per_gpu",
        "estimated_read_bytes_per_gpu",
        "estimated_write_bytes_per_gpu",
        "external_prefix_cache_hits",
        "external_prefix_cache_queries",
        "generation_tokens",
        "mm_cache_hits",
        "mm_cache_queries",
        "num_preemptions",
        "prefix_cache_hits",
        "prefix_cache_queries",
        "prompt_tokens",
        "prompt_tokens_by_source",
        "prompt_tokens_cached",
        "prompt_tokens_cached_by_source",
        "request_success",
        "spec_decode_num_accepted_tokens",
        "spec_decode_num_accepted_tokens_per_pos",
        "spec_decode_num_draft_tokens",
        "spec_decode_num_drafts",
    }
)
_SERVER_HISTOGRAMS = frozenset(
    {
        "e2e_request_latency_seconds",
        "inter_token_latency_seconds",
        "iteration_tokens_total",
        "request_decode_time_seconds",
        "request_generation_tokens",
        "request_inference_time_seconds",
        "request_max_num_generation_tokens",
        "request_num_preemptions",
        "request_params_max_tokens",
        "request_params_n",
        "request_prefill_kv_computed_tokens",
        "request_prefill_time_seconds",
        "request_prompt_tokens",
        "request_queue_time_seconds",
        "request_time_per_output_token_seconds",
        "time_to_first_token_seconds",
    }
)
_SERVER_GAUGES = frozenset(
    {
        "cache_config_info",
        "engine_sleep_state",
        "kv_cache_usage_perc",
        "num_requests_running",
        "num_requests_waiting",
        "num_requests_waiting_by_reason",
    }
)
# What vLLM publishes only when it was started for it: adapters, transfers and
# offloading of the KV cache, diffusion, sleep. Read in its source, and let be.
_SERVER_BY_START = re.compile(
    r"corrupted_requests|diffusion_|hf3fs_|hisparse_|kv_block_|kv_offload_"
    r"|lora_requests_info$|mooncake_store_|nixl_|num_requests_kv_fetch_by_stage$"
    r"|rl_weight_update_|simple_kv_offload_|sleep_mode_|tool_call_parser_"
    r"|watermark_requests|websocket_connection"
)
CLIENT_COUNTERS = frozenset(
    {
        "accepted_tokens",
        "accepted_tokens_by_position",
        "chunk_count_sites",
        "content_chunks",
        "draft_tokens",
        "output_tokens",
        "requests",
        "spec_steps",
        "telemetry_dropped",
    }
)
"""Without `specdecode_client_` and `_total`."""
CLIENT_HISTOGRAMS = frozenset(
    {
        "chunk_gap_max_seconds",
        "chunk_gap_mean_seconds",
        "consumer_share",
        "draft_acceptance_rate",
        "mean_acceptance_length",
        "output_token_rate_per_second",
        "server_decode_time_seconds",
        "server_prefill_time_seconds",
        "server_queue_time_seconds",
        "time_per_output_token_seconds",
        "time_to_first_token_seconds",
        "tokens_per_chunk",
    }
)
"""Without `specdecode_client_` and the endings of a histogram."""

# Ratios that a server computed: their mean over servers or time is no ratio.
RATIO_GAUGES = frozenset(
    {
        "sglang:spec_accept_rate",
        "sglang:spec_accept_length",
        "sglang_spec_accept_rate",
        "sglang_spec_accept_length",
    }
)

NEEDED_BY_RULES = (
    "spec_decode_num_drafts_total",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_accepted_tokens_per_pos_total",
    "generation_tokens_total",
)
"""Series of a server that the bundle's recording rules read, without `vllm:`."""

_ACCEPTANCE = (
    "rate(vllm:spec_decode_num_accepted_tokens_total[5m]) / "
    "(rate(vllm:spec_decode_num_draft_tokens_total[5m]) > 0), each summed first"
)
_WASTE = "1 - acceptance, that is accepted over drafted tokens, each a summed rate"
# What to write for a name that older servers had.
_INSTEAD: Mapping[str, str] = {
    "spec_decode_draft_acceptance_rate": _ACCEPTANCE,
    "spec_decode_acceptance_rate": _ACCEPTANCE,
    "spec_decode_efficiency": _ACCEPTANCE,
    "spec_decode_draft_overhead_fraction": _WASTE,
}
_ENDINGS = ("_bucket", "_sum", "_count")
_SERVER = re.compile(r"^vllm[:_](?P<name>.+)$")
_RECORDED_RATIO = re.compile(
    r"^(?:job_)?model(?:_position)?:\w+:(?:ratio_\w+|(?<=mean_acceptance_length:)rate5m)$"
)
_CLIENT = re.compile(r"^specdecode_client_(?P<name>.+)$")


def missing_name(name: str) -> QueryFinding | None:
    """Why a metric's name returns nothing; `None` where nothing is known against it."""
    if found := _SERVER.match(name):
        if _SERVER_BY_START.match(found["name"]):
            return None
        return _advice(
            name, found["name"], _SERVER_COUNTERS, _SERVER_HISTOGRAMS, _SERVER_GAUGES
        )
    if found := _CLIENT.match(name):
        return _advice(
            name, found["name"], CLIENT_COUNTERS, CLIENT_HISTOGRAMS, frozenset()
        )
    return None


def _advice(
    name: str,
    rest: str,
    counters: frozenset[str],
    histograms: frozenset[str],
    gauges: frozenset[str],
) -> QueryFinding | None:
    if rest in gauges or _histogram(rest) in histograms:
        return None
    if rest.removesuffix("_total") in counters:
        if rest.endswith("_total"):
            return None
        message = f"{name} is a counter and ends in _total: {name}_total"
        return QueryFinding(code="Q102", message=message)
    if rest in histograms:
        message = (
            f"{name} is a histogram: its series end in _bucket, _sum and _count; where "
            "it may be a native one, ask for both, joined by or"
        )
        return QueryFinding(code="Q102", message=message)
    if rest.removesuffix("_total") in gauges:
        gauge = name.removesuffix("_total")
        message = f"{name} is a gauge and has no _total: {gauge}"
        return QueryFinding(code="Q102", message=message)
    instead = _INSTEAD.get(rest)
    advice = f"; write {instead}" if instead else ""
    message = f"no server or client of today exports {name}{advice}"
    return QueryFinding(code="Q101", message=message)


def _histogram(rest: str) -> str | None:
    for ending in _ENDINGS:
        if rest.endswith(ending):
            return rest.removesuffix(ending)
    return None


def is_counter(name: str) -> bool:
    """Whether a known name only ever grows: a counter, or a part of a histogram."""
    if missing_name(name) is not None:
        return False
    found = _SERVER.match(name) or _CLIENT.match(name)
    if found is None:
        return False
    rest = found["name"]
    return _histogram(rest) is not None or (
        rest.removesuffix("_total") in _SERVER_COUNTERS | CLIENT_COUNTERS
        and rest.endswith("_total")
    )


def is_gauge(name: str) -> bool:
    """Whether a server's known name rises and falls."""
    found = _SERVER.match(name)
    return found is not None and found["name"] in _SERVER_GAUGES


def is_recorded_ratio(name: str) -> bool:
    """Whether a recording rule of the bundle makes a quotient under this name."""
    return _RECORDED_RATIO.match(name) is not None
