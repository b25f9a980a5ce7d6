"""A bare and a wrapped client before the same server, and what each caller sees."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from callers import END, Caller
from pydantic import BaseModel
from scripted_wire import Reply, Wire, wants_usage
from telemetry import Telemetry

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_specdecode import RequestRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server sends to a request with `include_usage`, and without.

    Attributes:
        asked: the body's parts where usage is asked for.
        unasked: the body's parts where it is not; `None` for the same.
    """

    asked: Sequence[bytes | BaseException]
    unasked: Sequence[bytes | BaseException] | None = None
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, body: dict[str, Any]) -> Reply:
        parts = self.asked
        if self.unasked is not None and not wants_usage(body):
            parts = self.unasked
        return Reply(list(parts), self.status, self.content_type, self.headers)


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a caller can tell: items in order, then perhaps an exception."""

    items: tuple[Any, ...]
    error: tuple[Any, ...] | None


class TwoClients:
    """A bare client and a wrapped one of the same kind, before one server."""

    def __init__(self, mode: str, endpoint: str = "chat", **options: Any) -> None:
        self.caller = Caller(mode, endpoint)
        # Looked up at each request, since every test sets another answer.
        self.wire = Wire(lambda body: self._answer(body))  # noqa: PLW0108
        self.telemetry = Telemetry()
        self.bare = self.caller.bare(self.wire)
        self.wrapped = self.caller.wrapped(self.wire, self.telemetry, **options)
        self._answer: Callable[[dict[str, Any]], Any] = lambda body: None

    def see(self, answer: Answer, action: Any) -> tuple[Seen, Seen]:
        """What the callers of the bare and of the wrapped client see of an answer."""
        self._answer = answer
        self.wire.log.clear()
        self.wire.bodies.clear()
        bare = asyncio.run(self._seen(self.bare, action))
        return bare, asyncio.run(self._seen(self.wrapped, action))

    def hold(self, answer: Answer, action: Any) -> Seen:
        """Hold the wrapped client to what the bare one shows, and return that."""
        bare, wrapped = self.see(answer, action)
        assert wrapped == bare
        return bare

    def record(self, answer: Answer, action: Any) -> RequestRecord:
        """The record of one request of the wrapped client."""
        self._answer = answer
        # A stream that an earlier test left behind may be collected meanwhile.
        mark = str(uuid.uuid4())
        with otel_specdecode.capture() as requests, otel_specdecode.tag(mark=mark):
            asyncio.run(self._seen(self.wrapped, action))
        (request,) = (one for one in requests if one.tags.get("mark") == mark)
        return replace(request, tags={})

    async def _seen(self, client: Any, action: Any) -> Seen:
        items: list[Any] = []
        try:
            async for item in action(self.caller, client):
                # One by one, since what came before an exception counts.
                items.append(shown(item))  # noqa: PERF401
        except Exception as error:  # noqa: BLE001 (whatever it is, it is compared)
            return Seen(tuple(items), error_shown(error))
        return Seen(tuple(items), None)


def shown(item: Any) -> Any:
    """Type, value, unknown fields and set fields of an item, nested ones included."""
    if not isinstance(item, BaseModel):
        return f"{type(item).__qualname__} {item!r}"
    return (
        f"{type(item).__module__}.{type(item).__qualname__}",
        repr(item),
        repr(item.model_dump(warnings="none")),
        repr(item.model_extra),
        sorted(item.model_fields_set),
        # Values that are not equal to themselves, as nan, are in the repr alone.
        sorted(vars(item)),
    )


def error_shown(error: BaseException) -> tuple[Any, ...]:
    """Type, text, data and cause of an exception."""
    data = {
        name: repr(value)
        for name, value in vars(error).items()
        if name not in {"request", "response"}
    }
    cause = error.__cause__
    return (
        f"{type(error).__module__}.{type(error).__qualname__}",
        str(error),
        data,
        None if cause is None else error_shown(cause),
        error.__suppress_context__,
    )


class EndlessStreamError(AssertionError):
    """A stream went on for longer than any answer in these tests."""


async def items_of(caller: Caller, stream: Any) -> Any:
    """Every item of a stream of either kind."""
    iterator = caller.iterate(stream)
    for _ in range(100_000):
        item = await caller.step(iterator)
        if item is END:
            return
        yield item
    raise EndlessStreamError


def iterating(**more: Any) -> Any:
    """Read a stream to its end, then look at the stream itself."""

    async def read(caller: Caller, client: Any) -> Any:
        stream = await caller.stream(client, **more)
        yield f"stream {type(stream).__qualname__} {type(stream).__mro__[-3:]}"
        async for item in items_of(caller, stream):
            yield item
        yield stream.response.status_code
        yield stream.response.is_closed
        # A stream that has ended goes on being at its end.
        async for item in items_of(caller, stream):
            yield item

    return read


async def helper_events(caller: Caller, client: Any) -> Any:
    """Read the events of the `.stream()` helper, and the completion at the end."""
    manager = caller.resource(client).stream(**caller.request())
    stream = await caller.enter(manager)
    async for event in items_of(caller, stream):
        yield event
    yield await caller.done(stream.get_final_completion())
    await caller.leave(manager)


async def raw_response(caller: Caller, client: Any) -> Any:
    """Read a stream that was asked for with `with_raw_response`."""
    create = caller.resource(client).with_raw_response.create
    raw = await caller.done(create(**caller.request(stream=True)))
    yield type(raw).__qualname__
    yield raw.status_code
    yield dict(raw.headers)
    async for item in items_of(caller, raw.parse()):
        yield item


async def streaming_response_bytes(caller: Caller, client: Any) -> Any:
    """Read the bytes of a response with `with_streaming_response`."""
    async for block in _streaming_response(caller, client, "iter_bytes"):
        yield block


async def streaming_response_lines(caller: Caller, client: Any) -> Any:
    """Read the lines of a response with `with_streaming_response`."""
    async for line in _streaming_response(caller, client, "iter_lines"):
        yield line


async def _streaming_response(caller: Caller, client: Any, method: str) -> Any:
    create = caller.resource(client).with_streaming_response.create
    # Here nothing is asked for by us, so the caller asks.
    options = {"include_usage": True}
    manager = create(**caller.request(stream=True, stream_options=options))
    raw = await caller.enter(manager)
    async for item in items_of(caller, getattr(raw, method)()):
        yield item
    await caller.leave(manager)


async def whole(caller: Caller, client: Any) -> Any:
    """Ask for an answer that is no stream."""
    yield await caller.create(client)


async def whole_raw(caller: Caller, client: Any) -> Any:
    """Ask for an answer that is no stream, with `with_raw_response`."""
    create = caller.resource(client).with_raw_response.create
    raw = await caller.done(create(**caller.request()))
    yield type(raw).__qualname__
    yield raw.status_code
    yield raw.text
    yield raw.parse()
