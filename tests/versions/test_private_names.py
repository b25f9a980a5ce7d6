"""The private names of openai that the wrapper leans on, each with what it needs.

A test that fails here says that a release moved one: see `wrapping.py` for
`_prepare_request`, `streams.py` for `__stream__`, `requests.py` for
`_default_stream_cls` and `client_view.py` for `_client`.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import httpx2
import openai
import pytest
from openai._constants import RAW_RESPONSE_HEADER
from openai._models import FinalRequestOptions

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


@pytest.mark.parametrize(
    ("kind", "stream"),
    [(openai.OpenAI, openai.Stream), (openai.AsyncOpenAI, openai.AsyncStream)],
)
def test_a_client_knows_the_class_of_its_streams(kind: Any, stream: type) -> None:
    assert kind(api_key="k")._default_stream_cls is stream


def test_a_client_keeps_the_http_client_that_it_was_given() -> None:
    http_client = answering(200)
    http_client.headers["x-own"] = "1"
    assert CountingClient(http_client=http_client)._client.headers["X-Own"] == "1"


@pytest.mark.parametrize(
    ("kind", "base", "expected"),
    [
        (openai.AsyncOpenAI, "AsyncAPIClient", True),
        (openai.OpenAI, "AsyncAPIClient", False),
        (openai.AzureOpenAI, "BaseAzureClient", True),
        (openai.AsyncAzureOpenAI, "BaseAzureClient", True),
        (openai.OpenAI, "BaseAzureClient", False),
    ],
)
def test_a_client_is_told_by_the_name_of_a_base_class(
    kind: type, base: str, *, expected: bool
) -> None:
    assert (base in {each.__name__ for each in kind.__mro__}) is expected


def test_what_is_not_given_is_told_by_the_name_of_its_class() -> None:
    names = {type(openai.NOT_GIVEN).__name__, type(openai.omit).__name__}
    assert names <= {"NotGiven", "Omit"}


def test_the_options_of_a_request_have_the_fields_that_are_read_and_edited() -> None:
    made = FinalRequestOptions.construct(method="post", url="/chat/completions")
    copied = copy.copy(made)
    copied.json_data, copied.extra_json, copied.headers = {"a": 1}, {"b": 2}, {"c": "3"}
    assert (made.json_data, made.extra_json) == (None, None)
    assert (made.method, made.url) == ("post", "/chat/completions")


def test_raw_calls_are_told_by_the_header_that_the_client_marks_them_with() -> None:
    assert RAW_RESPONSE_HEADER.lower() == "x-stainless-raw-response"


def test_raw_responses_and_streams_show_the_http_response() -> None:
    client = CountingClient(http_client=answering(200, 200))
    raw = client.chat.completions.with_raw_response.create(**ASK, stream=True)
    assert isinstance(raw.http_response, httpx2.Response)
    stream = client.chat.completions.create(**ASK, stream=True)
    assert isinstance(stream.response, httpx2.Response)
