"""The PromQL from which the dashboards are made.

Rates come before sums and sums before ratios. A ratio has `> 0` below its line: no
traffic shows as a gap, never as 0 %. Servers are asked in both forms of their names
(docs/collector.md, "Names").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SERVER = 'job=~"$job", instance=~"$instance", model_name=~"$model"'
_CLIENT = 'job=~"$job", instance=~"$instance", gen_ai_response_model=~"$model"'
_ANY = 'job=~"$job", instance=~"$instance"'
_WINDOW = "[$__rate_interval]"

MODEL = "gen_ai_response_model"


def server_rate(name: str, by: Iterable[str] = ("model_name",)) -> str:
    """Sum of the rates of a server's counter, whichever form its name has."""
    rates = " or ".join(
        f"rate(vllm{mark}{name}{{{_SERVER}}}{_WINDOW})" for mark in (":", "_")
    )
    return f"sum by ({', '.join(by)}) ({rates})"


def server_gauge(name: str, by: Iterable[str] = ("model_name",)) -> str:
    """Sum of a server's gauge, whichever form its name has."""
    forms = " or ".join(f"vllm{mark}{name}{{{_SERVER}}}" for mark in (":", "_"))
    return f"sum by ({', '.join(by)}) ({forms})"


def server_quantile(quantile: float, name: str) -> str:
    """Quantile of a server's histogram, by model."""
    return _quantile(
        quantile,
        buckets=server_rate(f"{name}_bucket", by=("le", "model_name")),
        native=server_rate(name),
    )


def _quantile(quantile: float, *, buckets: str, native: str) -> str:
    """Quantile of a histogram, whichever form it is stored in.

    A histogram that the SDK made exponential, or that Prometheus converts, is one
    series without buckets. Of no traffic a quantile is NaN, which `>= 0` takes out.
    """
    return " or ".join(
        f"(histogram_quantile({quantile:g}, {form}) >= 0)" for form in (buckets, native)
    )


def client_rate(name: str, by: Iterable[str] = (MODEL,), where: str = "") -> str:
    """Sum of the rates of a clients' counter (`specdecode_client_` and its name)."""
    matchers = f"{_CLIENT}, {where}" if where else _CLIENT
    series = f"specdecode_client_{name}{{{matchers}}}"
    return f"sum by ({', '.join(by)}) (rate({series}{_WINDOW}))"


def client_latest(name: str, what: str) -> str:
    """Increase of a clients' counter over an hour, by job and one more label.

    Such a counter has no series until there is something to count. Where a job sends
    requests and has none, the answer is 0, which is measured and not missing.
    """
    series = f"specdecode_client_{name}{{{_ANY}}}"
    counted = f"sum by (job, {what}) (increase({series}[1h]))"
    alive = f"sum by (job) (increase(specdecode_client_requests_total{{{_ANY}}}[1h]))"
    none = f'label_replace(0 * {alive}, "{what}", "none", "", "")'
    return f"{counted} or ({none} unless on (job) {counted})"


def client_quantile(
    quantile: float, name: str, by: Iterable[str] = (MODEL,), where: str = ""
) -> str:
    """Quantile of a clients' histogram."""
    return _quantile(
        quantile,
        buckets=client_rate(f"{name}_bucket", by=("le", *by), where=where),
        native=client_rate(name, by, where),
    )


def client_mean(name: str, by: Iterable[str] = (MODEL,)) -> str:
    """Mean of a clients' histogram in either form: sum over count, each a rate."""
    native = client_rate(name, by)
    of_buckets = ratio(client_rate(f"{name}_sum", by), client_rate(f"{name}_count", by))
    of_native = ratio(f"histogram_sum({native})", f"histogram_count({native})")
    return f"{of_buckets} or {of_native}"


def collector_rate(names: str, by: Iterable[str]) -> str:
    """Sum of rates of the collector's counters, with or without `_total`."""
    series = f'{{__name__=~"otelcol_{names}(?:_total)?", {_ANY}}}'
    return f"sum by ({', '.join(by)}) (rate({series}{_WINDOW}))"


def gauge(name: str, by: Iterable[str] = ("instance",)) -> str:
    """Sum of any other gauge."""
    return f"sum by ({', '.join(by)}) ({name}{{{_ANY}}})"


def ratio(above: str, below: str) -> str:
    """Quotient, absent where nothing stands below the line."""
    return f"{above} / ({below} > 0)"


def acceptance_of_servers(by: Iterable[str] = ("model_name",)) -> str:
    """C / D, from the servers' counters."""
    return ratio(
        server_rate("spec_decode_num_accepted_tokens_total", by),
        server_rate("spec_decode_num_draft_tokens_total", by),
    )


def acceptance_of_clients(by: Iterable[str] = (MODEL,)) -> str:
    """C / D, from what clients were told."""
    return ratio(
        client_rate("accepted_tokens_total", by), client_rate("draft_tokens_total", by)
    )


def length_of_servers(by: Iterable[str] = ("model_name",)) -> str:
    """1 + C / R, from the servers' counters."""
    return "1 + " + ratio(
        server_rate("spec_decode_num_accepted_tokens_total", by),
        server_rate("spec_decode_num_drafts_total", by),
    )


def length_of_clients(by: Iterable[str] = (MODEL,)) -> str:
    """1 + C / R, from what clients were told."""
    return "1 + " + ratio(
        client_rate("accepted_tokens_total", by), client_rate("spec_steps_total", by)
    )


def by_server_name(clients: str) -> str:
    """A clients' series under the label that servers use for the model."""
    return f'label_replace({clients}, "model_name", "$1", "{MODEL}", "(.+)")'


def of_servers_else_of_clients(servers: str, clients: str) -> str:
    """What servers counted; for a model of which none is scraped, what clients did."""
    return f"{servers} or on (model_name) {by_server_name(clients)}"
