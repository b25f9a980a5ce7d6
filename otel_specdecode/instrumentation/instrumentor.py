"""The instrumentor: every OpenAI client of the process, also without a line of code."""

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from otel_specdecode.errors import ConfigError
from otel_specdecode.instrumentation._guard import attempt, warn
from otel_specdecode.instrumentation.observation import Setting
from otel_specdecode.instrumentation.options import Options
from otel_specdecode.instrumentation.recorders import recorder_for
from otel_specdecode.instrumentation.requests import (
    observed_request,
    observed_request_async,
)
from otel_specdecode.instrumentation.wrapping import (
    PREPARE_REQUEST,
    REQUEST,
    attempt_hook,
    is_async,
    is_wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

CLIENT_CLASSES = ("OpenAI", "AsyncOpenAI")
"""Classes of `openai` that are hooked; the Azure clients inherit from them."""

_PROVIDERS = ("tracer_provider", "meter_provider")
# What the zero-code loader passes, and nobody else does.
_ZERO_CODE = ("skip_dep_check", "raise_exception_on_conflict")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hooked:
    """One attribute of a client class that our hook stands in for.

    Attributes:
        kind: the class.
        attribute: the name.
        own: what the class itself had there; `None` where it inherited.
        hook: ours.
    """

    kind: type
    attribute: str
    own: Any
    hook: Any

    def put_back(self) -> bool:
        """Restore what was there; False where somebody has wrapped our hook since."""
        if vars(self.kind).get(self.attribute) is not self.hook:
            return False
        if self.own is None:
            # Another thread's call may have been faster.
            with suppress(AttributeError):
                delattr(self.kind, self.attribute)
        else:
            setattr(self.kind, self.attribute, self.own)
        return True


class SpecDecodeInstrumentor(BaseInstrumentor):
    """Observes every OpenAI client of the process, old and new.

    `SpecDecodeInstrumentor().instrument(**options)` takes `tracer_provider`,
    `meter_provider` and the fields of `Options`. Under `opentelemetry-instrument`
    it runs by itself and takes `OTEL_SPECDECODE_*` variables; there a wrong value
    is logged, and the program runs without our telemetry.
    """

    _hooked: tuple[_Hooked, ...] = ()
    _setting: Setting | None = None

    @property
    def options(self) -> Options | None:
        """The options in force; `None` while no class is hooked by this."""
        return None if self._setting is None else self._setting.options

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return what must be installed for this to do anything."""
        return ("openai >= 1.40, < 4",)

    def instrument(self, **kwargs: Any) -> None:
        """Put the hooks on the client classes.

        Args:
            kwargs: `tracer_provider`, `meter_provider`, and fields of `Options`.

        Raises:
            ConfigError: an option is not known or has an unusable value; under
                zero-code start-up that is logged instead.
        """
        try:
            super().instrument(**kwargs)
        except ConfigError as error:
            if not any(name in kwargs for name in _ZERO_CODE):
                raise
            warn("otel-specdecode is off: %s", error)

    def _instrument(self, **kwargs: Any) -> None:
        providers = {name: kwargs.pop(name, None) for name in _PROVIDERS}
        # Not every release of the base class takes out what the loader passes.
        options = Options.of({k: v for k, v in kwargs.items() if k not in _ZERO_CODE})
        recorder = recorder_for(
            providers["tracer_provider"],
            providers["meter_provider"],
            options.genai_names,
        )
        given = tuple(providers.values())
        self._setting = Setting(recorder=recorder, options=options, providers=given)
        self._hook_classes()

    def _hook_classes(self) -> None:
        import openai  # noqa: PLC0415 (importing this package must not import openai)

        self._take_out()
        hooked = list(self._hooked)
        for name in CLIENT_CLASSES:
            kind: type = getattr(openai, name)
            for attribute, hook in self._hooks(kind).items():
                own = vars(kind).get(attribute)
                setattr(kind, attribute, hook)
                hooked.append(
                    _Hooked(kind=kind, attribute=attribute, own=own, hook=hook)
                )
        self._hooked = tuple(hooked)

    def _hooks(self, kind: type) -> dict[str, Any]:
        hooks = {REQUEST: self._request_hook(kind, getattr(kind, REQUEST))}
        prepare = getattr(kind, PREPARE_REQUEST, None)
        if prepare is not None:
            hooks[PREPARE_REQUEST] = attempt_hook(prepare)
        return hooks

    def _request_hook(self, kind: type, send: Callable[..., Any]) -> Callable[..., Any]:
        def pass_on(bound: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            attempt("taking out a hook", self._take_out)
            return bound(*args, **kwargs)

        # By the class: another wrapper's function may not look like a coroutine's.
        if is_async(kind):

            @functools.wraps(send)
            async def request_async(client: Any, *args: Any, **kwargs: Any) -> Any:
                setting = self._setting
                bound = functools.partial(send, client)
                if setting is None:
                    return await pass_on(bound, *args, **kwargs)
                if is_wrapped(client):
                    # Its own hook has seen the request, and perhaps a copy of it by
                    # a `request` of the caller's.
                    return await bound(*args, **kwargs)
                return await observed_request_async(
                    setting, bound, client, *args, **kwargs
                )

            return request_async

        @functools.wraps(send)
        def request(client: Any, *args: Any, **kwargs: Any) -> Any:
            setting = self._setting
            bound = functools.partial(send, client)
            if setting is None:
                return pass_on(bound, *args, **kwargs)
            if is_wrapped(client):
                return bound(*args, **kwargs)
            return observed_request(setting, bound, client, *args, **kwargs)

        return request

    def _uninstrument(self, **kwargs: Any) -> None:  # noqa: ARG002 (the base's form)
        self._setting = None
        self._take_out()

    def _take_out(self) -> None:
        """Put back what our hooks replaced.

        A hook that somebody has wrapped since can only be silenced. It passes calls
        on, and takes itself out at the first one after it has come to the surface.
        """
        # The last first: of two hooks on one attribute the later lies outside.
        left = [one for one in reversed(self._hooked) if not one.put_back()]
        self._hooked = tuple(reversed(left))
