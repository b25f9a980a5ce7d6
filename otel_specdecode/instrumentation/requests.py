"""The hook on the client's `request`, through which every resource and helper goes.

It edits a copy of the request options, passes a stream class that observes, and
reads what comes back. The sync and the async hook differ in `await` alone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

from otel_specdecode.instrumentation import abandoned, captures, context
from otel_specdecode.instrumentation._guard import attempt, attempt_or
from otel_specdecode.instrumentation.chunk_types import (
    ChunkType,
    chunk_type_of,
    default_stream_class,
    hands_on_response,
)
from otel_specdecode.instrumentation.client_view import view_client
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.neighbours import (
    is_suppressed_by_neighbour,
    neighbour_of,
)
from otel_specdecode.instrumentation.observation import Observation, Setting
from otel_specdecode.instrumentation.propagation import adds_headers, trace_headers
from otel_specdecode.instrumentation.raw_body import read_json, watch
from otel_specdecode.instrumentation.refusals import Refusals, is_refusal
from otel_specdecode.instrumentation.request_view import RequestView, view_request
from otel_specdecode.instrumentation.span_start import start_attributes, start_name
from otel_specdecode.instrumentation.streams import await_first_step, observing
from otel_specdecode.instrumentation.tags import current_tags
from otel_specdecode.instrumentation.usage_option import (
    asking,
    asking_for_token_ids,
    should_ask,
    with_headers,
    with_parser,
)
from otel_specdecode.model import Outcome, UsageOrigin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextvars import Token

    from opentelemetry.context import Context

refusals = Refusals()

_ENDING = "ending a request"
_READING = "reading a response"
_REFUSAL = "reading a refusal"


class Exchange:
    """One request on its way out and back.

    Attributes:
        observation: what is measured of it.
        request_options: what the client is given to send, edited.
        stream_cls: what the client is given to make a stream of.
        span_context: holds the request's span, or the invalid one.
    """

    span_context: Context

    def __init__(
        self,
        observation: Observation,
        request_options: Any,
        stream_cls: Any,
    ) -> None:
        self.observation = observation
        self.request_options: Any = request_options
        self.stream_cls = stream_cls
        self._callers_own = request_options, stream_cls
        self._without_usage: Any = None
        self._refused_now = False
        self._tokens: tuple[Token[Any], Token[Context]] | None = None

    @classmethod
    def begin(
        cls,
        setting: Setting,
        client: Any,
        cast_to: Any,
        request_options: Any,
        *,
        stream: bool = False,
        stream_cls: Any = None,
        **_: object,
    ) -> Exchange | None:
        """Look at a request and prepare it; `None` when it is not observed."""
        outer = context.current_observation()
        if outer is not None and outer.sent_options is request_options:
            # Wrapped and instrumented: the outer hook has it already.
            return None
        if not is_instrumentation_enabled() and not is_suppressed_by_neighbour():
            return None
        view = view_request(request_options, stream=stream)
        if view is None:
            return None
        chunk_type = ChunkType.MODEL
        if stream:
            stream_cls = stream_cls or default_stream_class(client, cast_to)
            if stream_cls is None:
                return None
            chunk_type = chunk_type_of(stream_cls, cast_to)
            if chunk_type is ChunkType.OTHER:
                return None
        abandoned.flush_if_idle()
        observation = Observation(setting, view, view_client(client), current_tags())
        observation.chunk_type = chunk_type
        observation.hands_on_response = hands_on_response(cast_to)
        self = cls(observation, request_options, stream_cls)
        here = otel_context.get_current()
        self._start_span(outer, here)
        try:
            self._edit(view, client, here)
            self._observe_stream()
        except Exception:
            observation.end_bare()
            raise
        return self

    def _start_span(self, outer: Observation | None, here: Context) -> None:
        observation = self.observation
        observation.neighbour = neighbour_of(outer, observation.view, here)
        if observation.neighbour is not None:
            observation.span = observation.neighbour.span
        recorder = observation.setting.recorder
        if observation.span is None and recorder is not None:
            observation.span = recorder.start_span(
                start_name(observation), start_attributes(observation), context=here
            )

    def _edit(self, view: RequestView, client: Any, here: Context) -> None:
        observation, options = self.observation, self.observation.setting.options
        self.span_context = trace.set_span_in_context(
            observation.span or trace.INVALID_SPAN, here
        )
        headers = trace_headers(
            self.request_options.headers,
            observation.client,
            options,
            self.span_context,
        )
        if headers and adds_headers(client):
            observation.trace_headers = headers
        elif headers:
            self.request_options = with_headers(self.request_options, headers)
        if options.token_ids and view.streaming and view.endpoint.takes_stream_options:
            self.request_options = asking_for_token_ids(self.request_options, view)
        parse = getattr(self.request_options, "post_parser", None)
        if callable(parse):
            reading = observation.reading(parse)
            self.request_options = with_parser(self.request_options, reading)
        observation.asked = self._ask_for_usage(view)

    def _ask_for_usage(self, view: RequestView) -> UsageOrigin:
        always_there = not view.streaming or not view.endpoint.takes_stream_options
        if always_there:
            return UsageOrigin.REQUESTED
        observation = self.observation
        if view.caller_wants_usage:
            if observation.setting.options.continuous_usage:
                self._add_stream_options(view)
            return UsageOrigin.REQUESTED
        if not should_ask(view, observation.setting.options):
            return UsageOrigin.ABSENT
        base_url = observation.client.base_url
        if refusals.holds(base_url, view.model, monotonic_s()):
            return UsageOrigin.REFUSED
        self._add_stream_options(view)
        return UsageOrigin.FORCED

    def _add_stream_options(self, view: RequestView) -> None:
        self._without_usage = self.request_options
        self.request_options = asking(
            self.request_options, view, self.observation.setting.options
        )

    def _observe_stream(self) -> None:
        """Choose the stream class for what is about to be sent."""
        observation, stream_cls = self.observation, self._callers_own[1]
        observation.sent_options = self.request_options
        if observation.view.streaming and stream_cls:
            hides = observation.hides_usage
            self.stream_cls = observing(stream_cls, hides=hides)

    def enter(self) -> None:
        """Make this request the current one while the client sends it."""
        span_token = otel_context.attach(self.span_context)
        try:
            self._tokens = context.enter(self.observation), span_token
        except BaseException:
            otel_context.detach(span_token)
            raise

    def leave(self) -> None:
        """Undo that."""
        tokens, self._tokens = self._tokens, None
        if tokens is None:
            return
        request_token, span_token = tokens
        try:
            context.leave(request_token)
        finally:
            otel_context.detach(span_token)

    def give_up(self) -> None:
        """Send what the caller made, unobserved: its stream would not find us."""
        self.request_options, self.stream_cls = self._callers_own
        self._without_usage = None
        self.observation.lose()

    def take_back(self, error: BaseException) -> bool:
        """Prepare the caller's own request, if ours was refused for what we added.

        Returns:
            Whether to send it.
        """
        if self._without_usage is None or not is_refusal(error):
            return False
        self.request_options = self._without_usage
        if not self.observation.view.caller_wants_usage:
            self._refused_now = True
            self.observation.asked = UsageOrigin.REFUSED
        self._observe_stream()
        self.observation.take_back_attempt()
        self._without_usage = None
        return True

    def take_back_unread(self, error: BaseException) -> bool:
        """Do the same where the error cannot be read, since we may be the cause."""
        status = getattr(error, "status_code", None)
        if self._without_usage is None or status not in range(400, 500):
            return False
        self.give_up()
        return True

    def receive(self, result: Any) -> None:
        """Read what came back."""
        observation = self.observation
        if self._refused_now:
            refusals.remember(
                observation.client.base_url, observation.view.model, monotonic_s()
            )
        if observation.read_as_stream or observation.ended:
            return
        view = observation.view
        if view.streaming and self.stream_cls and isinstance(result, self.stream_cls):
            await_first_step(result, observation)
            return
        # Asked only where it can be: the client's models raise for a name that they
        # lack, and to format that error costs as much as to read the whole answer.
        raw = view.raw_mode is not None
        http_response = getattr(result, "http_response", None) if raw else None
        if http_response is None and observation.hands_on_response:
            http_response = result
        if http_response is not None:
            captures.remember(http_response, observation)
            captures.remember(result, observation)
            self._receive_raw(http_response)
            return
        if view.streaming:
            # A stream that does not know its request.
            observation.lose()
            return
        observation.read_response(result)
        observation.end(Outcome.COMPLETED)
        captures.remember(result, observation)

    def lose_unless_observed(self) -> None:
        """End a request whose answer could not be read; streams end by themselves."""
        if not self.observation.read_as_stream:
            self.observation.lose()

    def _receive_raw(self, http_response: Any) -> None:
        observation = self.observation
        if http_response.is_closed and not observation.view.streaming:
            read_json(observation, http_response.content)
            observation.end(Outcome.COMPLETED)
        else:
            watch(http_response, observation)


def observed_request(
    setting: Setting,
    send: Callable[..., Any],
    client: Any,
    cast_to: Any,
    options: Any,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """Do the client's `request`, observed.

    Args:
        setting: what to observe with.
        send: the client's own `request`, bound.
        client: whose it is.
        cast_to: passed on; what the chunks of a stream are made of.
        options: the client's `FinalRequestOptions`; never changed in place.
        positional: passed on (openai 1 has one more argument).
        keywords: passed on, but for the class that `stream_cls` names: `stream` says
            whether the caller asked for a stream.
    """
    exchange = attempt_or(
        setting.count_lost,
        "preparing a request",
        Exchange.begin,
        setting,
        client,
        cast_to,
        options,
        **keywords,
    )
    if exchange is None:
        apart = attempt("stepping aside", context.apart_from_another, options)
        try:
            return send(cast_to, options, *positional, **keywords)
        finally:
            if apart is not None:
                attempt("leaving a request", apart.leave)
    observation, unread = exchange.observation, exchange.take_back_unread
    while True:
        try:
            try:
                attempt_or(exchange.give_up, "entering a request", exchange.enter)
                keywords["stream_cls"] = exchange.stream_cls
                edited = exchange.request_options
                result = send(cast_to, edited, *positional, **keywords)
            finally:
                attempt("leaving a request", exchange.leave)
        except BaseException as error:
            # No variable may hold the error, whose traceback holds this frame.
            if attempt_or(partial(unread, error), _REFUSAL, exchange.take_back, error):
                continue
            attempt_or(observation.lose, _ENDING, observation.end_with, error)
            raise
        attempt_or(exchange.lose_unless_observed, _READING, exchange.receive, result)
        return result


async def observed_request_async(
    setting: Setting,
    send: Callable[..., Awaitable[Any]],
    client: Any,
    cast_to: Any,
    options: Any,
    *positional: Any,
    **keywords: Any,
) -> Any:
    """Do the async client's `request`, observed; arguments as above."""
    # A coroutine may be thrown away while it waits: then the thread records it.
    attempt("starting the recording thread", abandoned.ensure_thread)
    exchange = attempt_or(
        setting.count_lost,
        "preparing a request",
        Exchange.begin,
        setting,
        client,
        cast_to,
        options,
        **keywords,
    )
    if exchange is None:
        apart = attempt("stepping aside", context.apart_from_another, options)
        if apart is None:
            return await send(cast_to, options, *positional, **keywords)
        try:
            sent = send(cast_to, options, *positional, **keywords)
            return await context.in_turns(apart, sent)
        finally:
            attempt("leaving a request", apart.leave)
    observation, unread = exchange.observation, exchange.take_back_unread
    while True:
        try:
            try:
                attempt_or(exchange.give_up, "entering a request", exchange.enter)
                keywords["stream_cls"] = exchange.stream_cls
                edited = exchange.request_options
                sent = send(cast_to, edited, *positional, **keywords)
                result = await context.in_turns(exchange, sent)
            finally:
                attempt("leaving a request", exchange.leave)
        except BaseException as error:
            # No variable may hold the error, whose traceback holds this frame.
            if attempt_or(partial(unread, error), _REFUSAL, exchange.take_back, error):
                continue
            attempt_or(observation.lose, _ENDING, observation.end_with, error)
            raise
        attempt_or(exchange.lose_unless_observed, _READING, exchange.receive, result)
        return result
