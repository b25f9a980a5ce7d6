"""Streams from a server twice told: by a chunk counter, and by this package."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import openai
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

import otel_specdecode
from otel_specdecode.cli._demo_servers import Target
from otel_specdecode.errors import SpecDecodeError
from otel_specdecode.model import RequestRecord

# Code that repeats itself: what copying methods such as n-gram live on.
PROMPT = """Rename the function `add` to `total` and change nothing else. Answer with
the whole file and no explanation.

def add(first, second):
    return first + second


def average(first, second):
    return add(first, second) / 2
"""

_TIMEOUT_S = 120.0
_WARM_UP_TOKENS = 2


class DemoError(SpecDecodeError):
    """The demo cannot go on; the message is one line for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCount:
    """What a program sees that takes a chunk for a token.

    Attributes:
        num_chunks: chunks with text that reached the program.
        elapsed_s: seconds from the call to the end of the stream.
    """

    num_chunks: int
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One server's streams.

    Attributes:
        target: the server.
        model: the model that was asked for.
        chunk_counts: the chunk counter's readings, one a stream.
        records: ours of the same streams, in the same order.
    """

    target: Target
    model: str
    chunk_counts: tuple[ChunkCount, ...]
    records: tuple[RequestRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """Where spans and metrics go; `None` for the process's global providers."""

    tracer_provider: TracerProvider | None
    meter_provider: MeterProvider | None


def measure(
    target: Target, providers: Providers, *, num_requests: int, max_tokens: int
) -> Measured:
    """Ask a server for streams, one after the other.

    Args:
        target: the server.
        providers: where spans and metrics go.
        num_requests: how many streams.
        max_tokens: limit of each answer.

    Raises:
        DemoError: the server cannot be reached, or refuses.
    """
    with _client(target) as client:
        try:
            model = target.model or _only_model(client, target)
            # The first stream shall not pay for imports and the connection.
            _count_chunks(client, model, _WARM_UP_TOKENS)
            _observe(client, providers)
            with (
                otel_specdecode.tag(server=target.name),
                otel_specdecode.capture() as records,
            ):
                counts = [
                    _count_chunks(client, model, max_tokens)
                    for _ in range(num_requests)
                ]
        except openai.OpenAIError as error:
            raise DemoError(_explain(error, client, target)) from error
        except json.JSONDecodeError as error:
            raise DemoError(f"{target.address.shown} sent what is no JSON") from error
    return Measured(
        target=target,
        model=model,
        chunk_counts=tuple(counts),
        records=tuple(records),
    )


def _observe(client: openai.OpenAI, providers: Providers) -> None:
    otel_specdecode.wrap(
        client,
        tracer_provider=providers.tracer_provider,
        meter_provider=providers.meter_provider,
        # The chunk counter below is the exhibit, not a mistake to report.
        chunk_count_check=False,
    )


def _client(target: Target) -> openai.OpenAI:
    # A proxy of the environment has no way to our loopback port.
    http_client = openai.DefaultHttpxClient(trust_env=not target.simulated)
    return openai.OpenAI(
        base_url=target.base_url,
        api_key=target.api_key,
        http_client=http_client,
        timeout=_TIMEOUT_S,
        max_retries=0,
    )


def _count_chunks(client: openai.OpenAI, model: str, max_tokens: int) -> ChunkCount:
    """Do what the program of the story did: count chunks, and look at the clock."""
    num_chunks = 0
    started_at = time.perf_counter()
    stream = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": PROMPT}],
        max_tokens=max_tokens,
        temperature=0,
        stream=True,
    )
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            num_chunks += 1
    return ChunkCount(num_chunks=num_chunks, elapsed_s=time.perf_counter() - started_at)


def _only_model(client: openai.OpenAI, target: Target) -> str:
    served = _served_models(client)
    if len(served) == 1:
        return served[0]
    if not served:
        raise DemoError(f"{target.address.shown} lists no model; name one with --model")
    raise DemoError(
        f"{target.address.shown} serves {len(served)} models; name one with --model:"
        f" {_listed(served)}"
    )


def _served_models(client: openai.OpenAI) -> list[str]:
    try:
        return [model.id for model in client.models.list().data]
    except (AttributeError, TypeError, ValueError):
        # What the client makes of a success that is no OpenAI API's.
        return []


def _explain(error: openai.OpenAIError, client: openai.OpenAI, target: Target) -> str:
    url, blot = target.address.shown, target.address.blot
    match error:
        case openai.APITimeoutError():
            return f"{url} did not answer within {_TIMEOUT_S:.0f} seconds"
        case openai.APIConnectionError():
            return f"cannot reach {url}: {blot(_text(error.__cause__ or error))}"
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return f"{url} refuses the key; pass one with --api-key or OPENAI_API_KEY"
        case openai.NotFoundError():
            return _explain_not_found(client, target)
        case openai.APIStatusError():
            return f"{url} answered {error.status_code}: {blot(_text(error))}"
        case _:
            return f"{url} failed: {blot(_text(error))}"


def _explain_not_found(client: openai.OpenAI, target: Target) -> str:
    try:
        served = _served_models(client)
    except openai.OpenAIError:
        served = []
    if served:
        return (
            f"{target.address.shown} does not serve the model {target.model!r};"
            f" it serves {_listed(served)}"
        )
    return f"{target.address.shown} is no OpenAI API; is /v1 missing at its end?"


def _listed(models: list[str]) -> str:
    shown = ", ".join(models[:5])
    return f"{shown} and {len(models) - 5} more" if len(models) > 5 else shown


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
