"""Why does nothing arrive? What this process wrapped, recorded, lost and was refused.

Everything is read from what is kept anyway, when it is asked for; no request pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

from otel_specdecode.instrumentation import abandoned, captures
from otel_specdecode.instrumentation._guard import attempt, failures
from otel_specdecode.instrumentation.client_view import view_client, viewed_clients
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.diagnosis_servers import (
    ServerState,
    servers_asked,
    without_acceptance,
)
from otel_specdecode.instrumentation.diagnosis_text import render
from otel_specdecode.instrumentation.instrumentor import SpecDecodeInstrumentor
from otel_specdecode.instrumentation.options import Options
from otel_specdecode.instrumentation.other_wrappers import (
    other_instrumentors,
    other_wrappers,
)
from otel_specdecode.instrumentation.providers import ProviderState, providers_in_use
from otel_specdecode.instrumentation.recorders import meterings_in_use
from otel_specdecode.instrumentation.requests import refusals
from otel_specdecode.instrumentation.wrapping import wrapped_clients
from otel_specdecode.recording import semconv as names

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """One OpenAI client that is alive, and was wrapped or made a request.

    Attributes:
        kind: its class, such as `AsyncOpenAI`.
        base_url: where it sends requests, without credentials.
        wrapped: whether it was given to `wrap()`, or copied from such a one.
        instrumented: whether its class is hooked by `SpecDecodeInstrumentor`.
        options: those in force for it; `None` when it is not observed any more.
    """

    kind: str
    base_url: str
    wrapped: bool
    instrumented: bool
    options: Options | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedUsage:
    """A server that refused `stream_options`, and is not asked for now.

    Attributes:
        base_url: without credentials.
        model: `None` when the request named none.
        asked_again_in_s: seconds until it is asked again.
    """

    base_url: str
    model: str | None
    asked_again_in_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What the instrumentation of this process has done so far.

    `str()` of it is a page for people. Sums are those of this process, since its
    start or the fork that made it.

    Attributes:
        version: of this package.
        instrumented: whether `SpecDecodeInstrumentor` hooks the client classes.
        clients: wrapped clients, and those that made a request, still alive.
        other_wrappers: modules of others whose wrappers lie round client calls.
        other_instrumentors: OpenTelemetry instrumentors that are on beside ours.
        providers: where spans and metrics are recorded.
        requests: how many ended, by outcome.
        usage: the same by where usage came from; `forced` is what only we asked for.
        acceptance: the same by whether there was acceptance.
        servers: models of servers that answered, and how many answers had it.
        num_open: responses that came and have not ended.
        num_pending: streams that were thrown away and wait to be recorded.
        dropped: what could not be recorded, by reason.
        failures: how often a hook of ours failed, by hook.
        refused: servers that refused `stream_options`.
        unknown: parts of this value that could not be read, and are empty.
    """

    version: str
    instrumented: bool
    clients: tuple[ClientState, ...]
    other_wrappers: tuple[str, ...]
    other_instrumentors: tuple[str, ...]
    providers: tuple[ProviderState, ...]
    requests: Mapping[str, int]
    usage: Mapping[str, int]
    acceptance: Mapping[str, int]
    servers: tuple[ServerState, ...]
    num_open: int
    num_pending: int
    dropped: Mapping[str, int]
    failures: Mapping[str, int]
    refused: tuple[RefusedUsage, ...]
    unknown: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What is likely wrong, the commonest reasons first; empty when nothing is."""
        return tuple(dict.fromkeys(_problems(self)))

    def __str__(self) -> str:
        return render(self)


def diagnose() -> Diagnosis:
    """Say what the instrumentation of this process has done so far.

    It never raises, changes nothing and keeps no client alive. Not for a signal
    handler: it takes the lock that requests are counted under.

    Example:
        >>> diagnosis = diagnose()
        >>> sum(diagnosis.requests.values()) >= diagnosis.requests.get("error", 0)
        True
    """
    unknown: list[str] = []

    def part(name: str, read: Callable[[], Value], empty: Value) -> Value:
        found = attempt(f"diagnosing {name}", read)
        if found is None:
            unknown.append(name)
            return empty
        return found

    # In a tuple, since `None` is an answer here and no failure to give one.
    (options,) = part(
        "instrumented", lambda: (SpecDecodeInstrumentor().options,), (None,)
    )
    return Diagnosis(
        version=part("version", lambda: version("otel-specdecode"), "unknown"),
        instrumented=options is not None,
        clients=part("clients", lambda: _clients(options), ()),
        other_wrappers=part("other_wrappers", other_wrappers, ()),
        other_instrumentors=part("other_instrumentors", other_instrumentors, ()),
        providers=part("providers", providers_in_use, ()),
        requests=part("requests", lambda: _sums(names.REQUESTS, names.OUTCOME), {}),
        usage=part("usage", lambda: _sums(names.REQUESTS, names.USAGE), {}),
        acceptance=part(
            "acceptance", lambda: _sums(names.REQUESTS, names.ACCEPTANCE), {}
        ),
        servers=part("servers", servers_asked, ()),
        num_open=part("num_open", captures.num_open, 0),
        num_pending=part("num_pending", abandoned.num_pending, 0),
        dropped=part(
            "dropped", lambda: _sums(names.TELEMETRY_DROPPED, names.REASON), {}
        ),
        failures=part("failures", failures, {}),
        refused=part("refused", _refused, ()),
        unknown=tuple(unknown),
    )


def _clients(instrumented: Options | None) -> tuple[ClientState, ...]:
    wrapped = wrapped_clients()
    by_id = {id(client): setting.options for client, setting in wrapped}
    others = [c for c in viewed_clients() if id(c) not in by_id]
    everyone: list[Any] = [*(client for client, _ in wrapped), *others]
    return tuple(
        ClientState(
            kind=type(client).__name__,
            base_url=view_client(client).base_url,
            wrapped=id(client) in by_id,
            instrumented=instrumented is not None,
            options=by_id.get(id(client), instrumented),
        )
        for client in everyone
    )


def _sums(metric: names.Metric, attribute: str) -> dict[str, int]:
    """Add the sums of one counter over all providers, by one of its attributes."""
    found: dict[str, int] = {}
    for metering in meterings_in_use():
        for value, attributes in metering.read(metric):
            word = str(attributes.get(attribute, "other"))
            found[word] = found.get(word, 0) + value
    return found


def _refused() -> tuple[RefusedUsage, ...]:
    return tuple(
        RefusedUsage(base_url=base_url, model=model, asked_again_in_s=seconds)
        for base_url, model, seconds in refusals.remembered(monotonic_s())
    )


def _problems(found: Diagnosis) -> Iterable[str]:
    if not found.clients and not found.instrumented:
        yield (
            "No client is observed: call otel_specdecode.wrap(client), or"
            " SpecDecodeInstrumentor().instrument() before clients are made."
        )
    for provider in found.providers:
        if provider.problem is not None:
            yield provider.problem
    if (found.clients or found.instrumented) and not found.requests:
        yield "No request has ended yet that was observed."
    for refused in found.refused:
        yield (
            f"{refused.base_url} refuses stream_options for {refused.model}, so its"
            " streams carry no usage and no acceptance."
        )
    yield from _about_acceptance(found)
    if found.dropped or found.failures:
        yield (
            "Something could not be recorded; logger otel_specdecode said what, once"
            " each, as a warning."
        )


def _about_acceptance(found: Diagnosis) -> Iterable[str]:
    silent = without_acceptance(found.servers)
    if silent is not None:
        yield (
            f"No answer had acceptance from {silent}. `otel-specdecode doctor"
            " --base-url URL` says what the server lacks; logger otel_specdecode at"
            " DEBUG says why for each request."
        )
