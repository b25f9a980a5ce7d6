"""The private names of openai that the wrapper leans on, each with what it needs.

A test that fails here says that a release moved one: see `wrapping.py` for
`_prepare_request` and `streams.py` for `__stream__`.
"""

from __future__ import annotations

import inspect
from typing import Any

import httpx2
import openai
import pytest

BASE_URL = "http://model.test/v1"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
EVENTS = b'data: {"choices":[]}\n\ndata: {"choices":[]}\n\ndata: [DONE]\n\n'


class CountingClient(openai.OpenAI):
    """Notes what the client tells its callback."""

    def __init__(self, **settings: Any) -> None:
        self.prepared: list[str] = []
        super().__init__(api_key="k", base_url=BASE_URL, **settings)

    def _prepare_request(self, request: Any) -> None:
        self.prepared.append(request.method)


def answering(*statuses: int) -> Any:
    left = list(statuses)

    def answer(request: Any) -> Any:
        headers = {"retry-after-ms": "1", "content-type": "text/event-stream"}
        return httpx2.Response(left.pop(0), headers=headers, content=EVENTS)

    return httpx2.Client(transport=httpx2.MockTransport(answer))


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_the_client_has_a_callback_before_each_attempt(kind: type) -> None:
    parameters = inspect.signature(kind._prepare_request).parameters
    assert list(parameters) == ["self", "request"]
    awaited = inspect.iscoroutinefunction(kind._prepare_request)
    assert awaited is (kind is openai.AsyncOpenAI)


def test_the_callback_is_called_once_for_each_attempt() -> None:
    client = CountingClient(http_client=answering(500, 500, 200))
    client.chat.completions.create(**ASK, stream=True)
    assert client.prepared == ["POST"] * 3


@pytest.mark.parametrize("kind", [openai.Stream, openai.AsyncStream])
def test_a_stream_makes_its_iterator_by_a_method_without_arguments(kind: type) -> None:
    assert list(inspect.signature(kind.__stream__).parameters) == ["self"]
    assert inspect.isasyncgenfunction(kind.__stream__) or (
        inspect.isgeneratorfunction(kind.__stream__)
    )


def test_every_chunk_passes_the_iterator_that_a_stream_makes() -> None:
    passed: list[Any] = []

    class Watched(openai.Stream[Any]):
        def __stream__(self) -> Any:
            for chunk in super().__stream__():
                passed.append(chunk)
                yield chunk

    client = CountingClient(http_client=answering(200))
    read = list(
        client.post(
            "/chat/completions",
            cast_to=object,
            body=ASK,
            stream=True,
            stream_cls=Watched,
        )
    )
    assert passed == read
    assert len(read) == 2


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_every_call_goes_through_request_with_its_options_second(kind: type) -> None:
    parameters = list(inspect.signature(kind.request).parameters)
    assert parameters[:3] == ["self", "cast_to", "options"]
    assert {"stream", "stream_cls"} < set(parameters)
