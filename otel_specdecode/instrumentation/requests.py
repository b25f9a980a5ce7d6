"""The hook on the client's `request`, through which every resource and helper goes.

It edits a copy of the request options, passes a stream class that observes, and
reads what comes back. The sync and the async hook differ in `await` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

from otel_specdecode.instrumentation import abandoned, captures, context
from otel_specdecode.instrumentation._guard import attempt
from otel_specdecode.instrumentation.client_view import view_client
from otel_specdecode.instrumentation.clock import monotonic_s
from otel_specdecode.instrumentation.neighbours import neighbour_of
from otel_specdecode.instrumentation.observation import Observation, Setting
from otel_specdecode.instrumentation.propagation import trace_headers
from otel_specdecode.instrumentation.raw_body import read_json, watch
from otel_specdecode.instrumentation.refusals import Refusals, is_refusal
from otel_specdecode.instrumentation.request_view import RequestView, view_request
from otel_specdecode.instrumentation.span_start import start_attributes, start_name
from otel_specdecode.instrumentation.streams import observing
from otel_specdecode.instrumentation.tags import current_tags
from otel_specdecode.instrumentation.usage_option import (
    asking,
    asking_for_token_ids,
    should_ask,
    with_headers,
)
from otel_specdecode.model import Outcome, UsageOrigin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

refusals = Refusals()


class Exchange:
    """One request on its way out and back.

    Attributes:
        observation: what is measured of it.
        request_options: what the client is given to send, edited.
        stream_cls: what the client is given to make a stream of.
    """

    def __init__(
        self,
        observation: Observation,
        request_options: Any,
        stream_cls: Any,
    ) -> None:
        self.observation = observation
        self.request_options: Any = request_options
        self.stream_cls = stream_cls
        self._without_usage: Any = None
        self._refused_now = False

    @classmethod
    def begin(
        cls,
        setting: Setting,
        client: Any,
        request_options: Any,
        *,
        stream: bool,
        stream_cls: Any,
    ) -> Exchange | None:
        """Look at a request and prepare it; `None` when it is not observed."""
        outer = context.current_observation()
        if outer is not None and outer.sent_options is request_options:
            # Wrapped and instrumented: the outer hook has it already.
            return None
        if not is_instrumentation_enabled():
            return None
        view = view_request(request_options, stream=stream)
        if view is None:
            return None
        abandoned.flush_if_idle()
        observation = Observation(setting, view, view_client(client), current_tags())
        observed_cls = stream_cls and observing(stream_cls)
        self = cls(observation, request_options, observed_cls)
        self._start_span(outer)
        self._edit(view)
        observation.sent_options = self.request_options
        return self

    def _start_span(self, outer: Observation | None) -> None:
        observation = self.observation
        observation.neighbour = neighbour_of(outer)
        if observation.neighbour is not None:
            observation.span = observation.neighbour.span
        recorder = observation.setting.recorder
        if observation.span is None and recorder is not None:
            observation.span = recorder.start_span(
                start_name(observation), start_attributes(observation)
            )

    def _edit(self, view: RequestView) -> None:
        observation, options = self.observation, self.observation.setting.options
        span_context = trace.set_span_in_context(observation.span or trace.INVALID_SPAN)
        headers = trace_headers(
            self.request_options.headers,
            observation.client,
            options,
            span_context,
        )
        if headers:
            self.request_options = with_headers(self.request_options, headers)
        if options.token_ids and view.streaming and view.endpoint.takes_stream_options:
            self.request_options = asking_for_token_ids(self.request_options, view)
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

    def take_back(self, error: BaseException) -> bool:
        """Prepare the caller's own request, if ours was refused for what we added.

        Returns:
            Whether to send it.
        """
        if self._without_usage is None or not is_refusal(error):
            return False
        self.request_options, self._without_usage = self._without_usage, None
        if not self.observation.view.caller_wants_usage:
            self._refused_now = True
            self.observation.asked = UsageOrigin.REFUSED
        self.observation.sent_options = self.request_options
        self.observation.take_back_attempt()
        return True

    def receive(self, result: Any) -> None:
        """Read what came back."""
        observation = self.observation
        if self._refused_now:
            refusals.remember(
                observation.client.base_url, observation.view.model, monotonic_s()
            )
        if observation.parsed:
            return
        http_response = getattr(result, "http_response", None)
        if http_response is not None:
            captures.remember(http_response, observation)
            captures.remember(result, observation)
            self._receive_raw(http_response)
            return
        try:
            observation.read_response(result)
        finally:
            observation.end(Outcome.COMPLETED)
        captures.remember(result, observation)

    def _receive_raw(self, http_response: Any) -> None:
        observation = self.observation
        if http_response.is_closed and not observation.view.streaming:
            try:
                read_json(observation, http_response.content)
            finally:
                observation.end(Outcome.COMPLETED)
        else:
            watch(http_response, observation)


class _Entered:
    """Makes a request the current one while the client sends it."""

    __slots__ = ("_context_token", "_span_token")

    def __init__(self, observation: Observation) -> None:
        self._context_token = context.enter(observation)
        span = observation.span or trace.INVALID_SPAN
        self._span_token = otel_context.attach(trace.set_span_in_context(span))

    def leave(self) -> None:
        # A coroutine that is thrown away may be closed in another context, where
        # there is nothing to undo.
        if context.leave(self._context_token):
            otel_context.detach(self._span_token)


def observed_request(
    setting: Setting,
    send: Callable[..., Any],
    client: Any,
    cast_to: Any,
    options: Any,
    *positional: Any,
    stream: bool = False,
    stream_cls: Any = None,
    **more: Any,
) -> Any:
    """Do the client's `request`, observed.

    Args:
        setting: what to observe with.
        send: the client's own `request`, bound.
        client: whose it is.
        cast_to: passed on.
        options: the client's `FinalRequestOptions`; never changed in place.
        positional: passed on (openai 1 has one more argument).
        stream: whether the caller asked for a stream.
        stream_cls: the client's stream class.
        more: passed on.
    """
    exchange = attempt(
        "preparing a request",
        Exchange.begin,
        setting,
        client,
        options,
        stream=stream,
        stream_cls=stream_cls,
    )
    if exchange is None:
        return send(
            cast_to,
            options,
            *positional,
            stream=stream,
            stream_cls=stream_cls,
            **more,
        )

    def send_once() -> Any:
        entered = attempt("entering a request", _Entered, exchange.observation)
        if entered is None:
            # Nobody would observe the stream, nor hide what it was asked for.
            return send(
                cast_to,
                options,
                *positional,
                stream=stream,
                stream_cls=stream_cls,
                **more,
            )
        try:
            result = send(
                cast_to,
                exchange.request_options,
                *positional,
                stream=stream,
                stream_cls=exchange.stream_cls,
                **more,
            )
        finally:
            attempt("leaving a request", entered.leave)
        attempt("reading a response", exchange.receive, result)
        return result

    try:
        return send_once()
    except BaseException as error:
        if not attempt("reading a refusal", exchange.take_back, error):
            attempt("ending a request", exchange.observation.end_with, error)
            raise
    try:
        return send_once()
    except BaseException as error:
        attempt("ending a request", exchange.observation.end_with, error)
        raise


async def observed_request_async(
    setting: Setting,
    send: Callable[..., Awaitable[Any]],
    client: Any,
    cast_to: Any,
    options: Any,
    *positional: Any,
    stream: bool = False,
    stream_cls: Any = None,
    **more: Any,
) -> Any:
    """Do the async client's `request`, observed; arguments as above."""
    # A coroutine may be thrown away while it waits: then the thread records it.
    attempt("starting the recording thread", abandoned.ensure_thread)
    exchange = attempt(
        "preparing a request",
        Exchange.begin,
        setting,
        client,
        options,
        stream=stream,
        stream_cls=stream_cls,
    )
    if exchange is None:
        return await send(
            cast_to,
            options,
            *positional,
            stream=stream,
            stream_cls=stream_cls,
            **more,
        )

    async def send_once() -> Any:
        entered = attempt("entering a request", _Entered, exchange.observation)
        if entered is None:
            # Nobody would observe the stream, nor hide what it was asked for.
            return await send(
                cast_to,
                options,
                *positional,
                stream=stream,
                stream_cls=stream_cls,
                **more,
            )
        try:
            result = await send(
                cast_to,
                exchange.request_options,
                *positional,
                stream=stream,
                stream_cls=exchange.stream_cls,
                **more,
            )
        finally:
            attempt("leaving a request", entered.leave)
        attempt("reading a response", exchange.receive, result)
        return result

    try:
        return await send_once()
    except BaseException as error:
        if not attempt("reading a refusal", exchange.take_back, error):
            attempt("ending a request", exchange.observation.end_with, error)
            raise
    try:
        return await send_once()
    except BaseException as error:
        attempt("ending a request", exchange.observation.end_with, error)
        raise
