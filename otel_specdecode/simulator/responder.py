"""The simulated server without a network: a request in, timed bytes out.

A `Responder` owns what requests share (ledger, counters, how busy each engine is)
and reads no clock but the one it is given for `created`. Whoever plays the events,
over a socket or a mock transport, decides what a second is.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_specdecode.errors import SimulatorError
from otel_specdecode.simulator import _refusals, _side_routes
from otel_specdecode.simulator._answer import Answer, to_json, usage_plan
from otel_specdecode.simulator._chat import ChatWire
from otel_specdecode.simulator._completions import CompletionWire
from otel_specdecode.simulator._compose import answer_key, compose
from otel_specdecode.simulator._engine import EngineState, Pace, generate
from otel_specdecode.simulator._exposition import Exposition
from otel_specdecode.simulator._faults import (
    ConnectionDropped,
    TimedBytes,
    with_stream_faults,
    with_whole_faults,
)
from otel_specdecode.simulator._request import (
    Endpoint,
    GenerationRequest,
    Refused,
    parse_request,
)
from otel_specdecode.simulator._responses import ResponsesWire
from otel_specdecode.simulator._running import Running
from otel_specdecode.simulator._stream import Lagging, stream_bytes, whole_bytes
from otel_specdecode.simulator.directives import Directives, parse_directives
from otel_specdecode.simulator.ledger import Ledger, Tally, Totals
from otel_specdecode.simulator.profile import Profile

if TYPE_CHECKING:
    from otel_specdecode.simulator._chunks import Wire

_JSON = ("content-type", "application/json")
_SSE = ("content-type", "text/event-stream; charset=utf-8")
_WIRES: Mapping[Endpoint, Callable[[Answer], Wire]] = {
    Endpoint.CHAT: ChatWire,
    Endpoint.COMPLETIONS: CompletionWire,
    Endpoint.RESPONSES: ResponsesWire,
}
_ID_PREFIXES = {
    Endpoint.CHAT: "chatcmpl-",
    Endpoint.COMPLETIONS: "cmpl-",
    Endpoint.RESPONSES: "resp_",
}
_PATHS = {endpoint.value: endpoint for endpoint in Endpoint}
_AZURE = "/openai/deployments/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An HTTP answer that has not been played yet.

    Attributes:
        status: HTTP status.
        headers: names in lower case, with their values.
        events: seconds since the request, and bytes. Empty bytes mean that time
            passes and nothing is sent. Closing it early is a client that left. It
            raises `ConnectionDropped` where the server drops the connection.
        streamed: whether bytes are to go out as they come.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    events: Iterator[TimedBytes]
    streamed: bool = False


class Responder:
    """One simulated server, fed by hand.

    Attributes:
        profile: what it simulates.
        ledger: the truth about everything it generated.
    """

    def __init__(
        self,
        profile: Profile | None = None,
        *,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.profile = profile or Profile()
        self._directives = parse_directives(self.profile.simulate)
        speculation = self.profile.speculation
        self._k = speculation.num_spec_tokens if speculation else None
        self.ledger = Ledger(self.profile.model, self.profile.num_engines)
        self._exposition = Exposition(self.ledger, self._k, wall_clock)
        self._engines = [EngineState() for _ in range(self.profile.num_engines)]
        self._turns = itertools.count()
        self._numbers = itertools.count(1)
        self._instance = secrets.token_hex(6)
        self._clock = wall_clock

    def metrics_text(self) -> str:
        """What `/metrics` answers: Prometheus text format."""
        running = [engine.num_active for engine in self._engines]
        return self._exposition.text(running)

    def reset_counters(self) -> None:
        """Restart `/metrics` at zero, as a restarted server does; the ledger stays."""
        self._exposition.reset()

    def add_foreign_traffic(self, totals: Totals, *, engine: int = 0) -> None:
        """Count other clients' traffic on `/metrics`, and not in the ledger."""
        self._exposition.add_foreign(totals, engine)

    def respond(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        lagging: Lagging | None = None,
    ) -> Response:
        """Answer one request.

        Args:
            method: HTTP method.
            path: path; a query is ignored.
            headers: any letter case.
            body: the whole body.
            lagging: says, step by step, whether the consumer is behind, so that
                deltas merge as vLLM's do under back-pressure.

        Raises:
            ConnectionDropped: `x-simulate: hang-up`.
        """
        path = path.partition("?")[0]
        names = {name.lower(): value for name, value in headers.items()}
        endpoint = _endpoint(path)
        try:
            if endpoint is not None and method == "POST":
                return self._generate(endpoint, names, body, lagging)
            return self._plain_route(method, path, body)
        except Refused as refused:
            return _answered(refused.status, _refusals.refused_body(refused))

    def _plain_route(self, method: str, path: str, body: bytes) -> Response:
        match method, path:
            case "GET", "/metrics":
                kind = "text/plain; version=0.0.4; charset=utf-8"
                return _answered(
                    200, self.metrics_text().encode(), ("content-type", kind)
                )
            case "GET", "/health":
                return _answered(200, b"")
            case "GET", "/v1/models":
                models = _side_routes.models(self.profile, int(self._clock()))
                return _answered(200, to_json(models))
            case "GET", "/version":
                return _answered(200, to_json({"version": "0.32.0"}))
            case "POST", "/simulator/reset-counters":
                self.reset_counters()
            case "POST", "/simulator/foreign-traffic":
                engine, totals = _side_routes.foreign_traffic(body, len(self._engines))
                self.add_foreign_traffic(totals, engine=engine)
            case "GET", "/simulator/ledger":
                return _answered(200, to_json(_side_routes.ledger(self.ledger)))
            case _:
                raise _side_routes.no_route(known=path in _PATHS)
        return _answered(200, b"{}")

    def _generate(
        self,
        endpoint: Endpoint,
        headers: Mapping[str, str],
        body: bytes,
        lagging: Lagging | None,
    ) -> Response:
        directives = self._asked(headers)
        if (early := _answer_instead(directives, headers)) is not None:
            return early
        request = parse_request(endpoint, body, self.profile.model)
        if directives.refuse is not None:
            refused = _refusals.refusal(directives.refuse, request.body)
            if refused is not None:
                return _answered(*refused)
        return self._begin(
            request, directives, self._pick(headers, directives), lagging
        )

    def _asked(self, headers: Mapping[str, str]) -> Directives:
        text = headers.get("x-simulate")
        if not text:
            return self._directives
        try:
            return parse_directives(text, over=self._directives)
        except SimulatorError as error:
            raise Refused(str(error), param="x-simulate") from error

    def _pick(self, headers: Mapping[str, str], directives: Directives) -> int:
        """The engine that serves a request: asked for, or the next in turn."""
        asked = directives.engine
        if asked is None:
            rank = headers.get("x-data-parallel-rank", "")
            asked = int(rank) if rank.isdigit() else next(self._turns)
        return asked % len(self._engines)

    def _begin(
        self,
        request: GenerationRequest,
        directives: Directives,
        engine: int,
        lagging: Lagging | None,
    ) -> Response:
        answer = self._new_answer(request, directives, engine)
        events = self._run(answer, engine, lagging)
        if directives.breaks_stream:
            tamper = with_stream_faults if request.stream else with_whole_faults
            events = tamper(events, directives)
        return Response(
            status=200,
            headers=(_SSE if request.stream else _JSON,),
            events=events,
            streamed=request.stream,
        )

    def _new_answer(
        self, request: GenerationRequest, directives: Directives, engine: int
    ) -> Answer:
        key = answer_key(self.profile, directives, request.key)
        each, last = usage_plan(directives.usage or self.profile.usage, request)
        return Answer(
            profile=self.profile,
            directives=directives,
            request=request,
            key=key,
            response_id=self._new_id(request.endpoint),
            created=int(self._clock()),
            choices=compose(self.profile, directives, request, key),
            num_spec_tokens=self._k,
            each=each,
            last=last,
            tally=Tally(
                engine=engine,
                histogram=[0] * ((self._k or 0) + 1),
                num_prompt_tokens=sum(request.num_prompt_tokens),
            ),
        )

    def _new_id(self, endpoint: Endpoint) -> str:
        number = next(self._numbers)
        return f"{_ID_PREFIXES[endpoint]}{self._instance}{number:08x}"

    def _run(
        self, answer: Answer, engine: int, lagging: Lagging | None
    ) -> Iterator[TimedBytes]:
        """Generate, with the engine knowing that this request is in its batch."""
        state = self._engines[engine]
        pace = Pace(
            self.profile.step_time,
            state,
            time_scale=self.profile.time_scale,
            jitter_seed=f"jitter|{answer.key}",
        )
        wire = _WIRES[answer.request.endpoint](answer)
        running = Running(answer, state, self.ledger, self._exposition)
        steps = generate(answer.choices, answer.num_prompt_tokens, pace, answer.tally)
        try:
            if answer.request.stream:
                yield from stream_bytes(answer, wire, steps, running.end, lagging)
            else:
                yield from whole_bytes(answer, wire, steps, running.end)
        finally:
            running.end()


def respond(
    profile: Profile,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes,
) -> Response:
    """Answer one request as a server of this profile that has just started.

    Raises:
        ConnectionDropped: `x-simulate: hang-up`.
    """
    return Responder(profile).respond(method, path, headers, body)


def _endpoint(path: str) -> Endpoint | None:
    """The endpoint of a path; Azure's clients name the deployment in it."""
    if path.startswith(_AZURE):
        path = "/v1/" + path.removeprefix(_AZURE).partition("/")[2]
    return _PATHS.get(path)


def _answered(status: int, body: bytes, *headers: tuple[str, str]) -> Response:
    return Response(
        status=status, headers=headers or (_JSON,), events=iter([(0.0, body)])
    )


def _answer_instead(
    directives: Directives, headers: Mapping[str, str]
) -> Response | None:
    """The answer of a server that does not get as far as generating."""
    retry_count = headers.get("x-stainless-retry-count", "0")
    if not directives.applies_to_try(int(retry_count) if retry_count.isdigit() else 0):
        return None
    if directives.hang_up:
        raise ConnectionDropped
    if directives.status is None:
        return None
    extra: tuple[tuple[str, str], ...] = ()
    if directives.retry_after_s is not None:
        extra = (("retry-after", f"{directives.retry_after_s:g}"),)
    body = _refusals.status_body(directives.status)
    return _answered(directives.status, body, _JSON, *extra)
