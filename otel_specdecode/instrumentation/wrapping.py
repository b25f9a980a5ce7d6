"""Where the hooks are put: on one client, or on the client classes."""

from __future__ import annotations

import functools
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from otel_specdecode.errors import ConfigError
from otel_specdecode.instrumentation._guard import attempt, attempt_or
from otel_specdecode.instrumentation.context import current_observation
from otel_specdecode.instrumentation.observation import Setting
from otel_specdecode.instrumentation.options import Options
from otel_specdecode.instrumentation.propagation import ADDS_HEADERS, PREPARE_REQUEST
from otel_specdecode.instrumentation.recorders import recorder_for
from otel_specdecode.instrumentation.requests import (
    observed_request,
    observed_request_async,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

Client = TypeVar("Client")
Hook = TypeVar("Hook", bound="Callable[..., Any]")

REQUEST = "request"
COPIES = ("copy", "with_options")
STATE = "__getstate__"
HOOKS = frozenset({REQUEST, PREPARE_REQUEST, *COPIES, STATE})
"""What `wrap` sets on a client."""

_MARK = "__otel_specdecode__"

# By identity: a subclass may compare by value, and then has no hash.
_wrapped: dict[int, tuple[weakref.ref[Any], Setting]] = {}


def wrap(
    client: Client,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    **options: object,
) -> Client:
    """Observe one OpenAI client.

    The same object comes back, and clients made from it by `with_options()` or
    `copy()` are observed as well. Wrapping twice does nothing more.

    Args:
        client: `OpenAI`, `AsyncOpenAI`, an Azure client or a subclass.
        tracer_provider: `None` for the global one.
        meter_provider: `None` for the global one.
        options: fields of `Options`; those not given come from
            `OTEL_SPECDECODE_*` variables.

    Raises:
        ConfigError: `client` is no OpenAI client, or an option is not known.
    """
    if isinstance(client, type):
        raise ConfigError(
            f"client: expected an OpenAI client, got the class {client.__name__};"
            " SpecDecodeInstrumentor().instrument() takes all clients"
        )
    missing = [n for n in (REQUEST, "base_url", *COPIES) if not hasattr(client, n)]
    if missing:
        raise ConfigError(
            f"client: expected an OpenAI client, got {type(client).__name__}"
            f" without {', '.join(missing)}"
        )
    chosen = Options.of(options)
    recorder = recorder_for(tracer_provider, meter_provider, chosen.genai_names)
    given = tracer_provider, meter_provider
    setting = Setting(recorder=recorder, options=chosen, providers=given)
    hook_client(client, setting)
    return client


def is_wrapped(client: object) -> bool:
    """Say whether this very client was given to `wrap`, or made from such a one."""
    return getattr(vars(client).get(REQUEST), _MARK, False)


def wrapped_clients() -> list[tuple[Any, Setting]]:
    """Return every wrapped client that is alive, and what it is observed with."""
    found = ((reference(), setting) for reference, setting in list(_wrapped.values()))
    return [(client, setting) for client, setting in found if client is not None]


def hook_client(client: Any, setting: Setting) -> None:
    """Put the hooks on one client, unless they are there."""
    if is_wrapped(client):
        return
    key = id(client)
    _wrapped[key] = (weakref.ref(client, lambda _: _wrapped.pop(key, None)), setting)
    fields = cast("dict[str, Any]", vars(client))
    fields[REQUEST] = request_hook(client.request, client, setting)
    prepare = getattr(client, PREPARE_REQUEST, None)
    if prepare is not None:
        fields[PREPARE_REQUEST] = attempt_hook(prepare)
    for name in COPIES:
        fields[name] = _copy_hook(getattr(client, name), setting)
    fields[STATE] = functools.partial(_bare_state, weakref.ref(client))


def _bare_state(client: weakref.ref[Any]) -> Any:
    """Return what `copy.copy` takes over: no hook, which would call this client."""
    own: Any = client()
    kind: Any = own.__class__
    state: object = kind.__getstate__(own)
    if not isinstance(state, dict):
        return state  # pyright: ignore[reportUnknownVariableType]
    fields = cast("dict[str, object]", state)
    return {name: value for name, value in fields.items() if name not in HOOKS}


def request_hook(
    send: Callable[..., Any], client: Any, setting: Setting
) -> Callable[..., Any]:
    """Return an observed form of a client's bound `request`."""
    asynchronous = is_async(client.__class__)
    observed = observed_request_async if asynchronous else observed_request
    hook = named_as(functools.partial(observed, setting, send, client), send)
    setattr(hook, _MARK, True)
    return hook


def attempt_hook(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """Return a form of the client's callback that also notes the attempt.

    The async client awaits what it returns, and gets its own coroutine to await.
    """

    def noting(*args: Any, **kwargs: Any) -> Any:
        attempt("noting an attempt", _note_attempt, *args, *kwargs.values())
        return prepare(*args, **kwargs)

    hook = named_as(noting, prepare)
    setattr(hook, ADDS_HEADERS, True)
    return hook


def named_as(hook: Hook, original: object) -> Hook:
    """Let a hook look like what it calls; names of a mock's methods are no strings."""
    with suppress(TypeError):
        functools.update_wrapper(hook, original)  # pyright: ignore[reportArgumentType] (whatever is there)
    return hook


def _note_attempt(*sent: object) -> None:
    observation = current_observation()
    if observation is not None:
        observation.note_attempt(sent[-1])


def is_async(client_class: type) -> bool:
    """Say whether the `request` of a class of clients is to be awaited."""
    return any(kind.__name__ == "AsyncAPIClient" for kind in client_class.__mro__)


def _copy_hook(copy: Callable[..., Any], setting: Setting) -> Callable[..., Any]:
    def copy_observed(*args: Any, **kwargs: Any) -> Any:
        made = copy(*args, **kwargs)
        lost = setting.count_lost
        attempt_or(lost, "wrapping a copied client", hook_client, made, setting)
        return made

    return named_as(copy_observed, copy)
