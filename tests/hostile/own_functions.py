"""Every function of the package between a client and OpenTelemetry, made to fail.

A function fails by its code being exchanged, so it fails wherever its name was
imported to. Functions that are defined inside of others are not among them.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import otel_specdecode.instrumentation
import otel_specdecode.model
import otel_specdecode.recording
import otel_specdecode.servers

PACKAGES = (
    otel_specdecode.instrumentation,
    otel_specdecode.recording,
    otel_specdecode.servers,
    otel_specdecode.model,
)


class OurFaultError(Exception):
    """Raised in the place of one of our own functions."""

    num_raised = 0

    def __init__(self) -> None:
        super().__init__("the prompt was: count")
        OurFaultError.num_raised += 1


def _raise(*_: Any, **__: Any) -> Any:
    raise "exception"  # type: ignore[misc] # noqa: B016 # pyright: ignore[reportGeneralTypeIssues] (exchanged below)


def _failing(code: CodeType) -> CodeType:
    """The code that raises, in the place of some other code."""
    consts = tuple(
        OurFaultError if const == "exception" else const
        for const in _raise.__code__.co_consts
    )
    return _raise.__code__.replace(co_consts=consts, co_freevars=code.co_freevars)


@dataclass(frozen=True, slots=True)
class OwnFunction:
    """One function, method or property.

    Attributes:
        name: as `module.Class.method`, the package left out.
        function: what runs.
        forget: drops what is cached of it.
    """

    name: str
    function: FunctionType
    forget: Callable[[], None]

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Raise from it while the block runs."""
        code = self.function.__code__
        self.forget()
        self.function.__code__ = _failing(code)
        try:
            yield
        finally:
            self.function.__code__ = code
            self.forget()


def own_modules() -> list[ModuleType]:
    """Every module that a call passes through, or may."""
    return [
        importlib.import_module(found.name)
        for package in PACKAGES
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]


def functions_of(module: ModuleType) -> list[OwnFunction]:
    """What a module defines, in the order of its lines."""
    owners: list[tuple[str, Any]] = [("", module)]
    owners += [
        (f"{name}.", value)
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    found: dict[CodeType, OwnFunction] = {}
    for prefix, owner in owners:
        for name, value in list(vars(owner).items()):
            function = _function_in(value)
            if function and function.__code__.co_filename == module.__file__:
                short = f"{module.__name__.removeprefix('otel_specdecode.')}.{prefix}"
                forget = getattr(value, "cache_clear", lambda: None)
                own = OwnFunction(short + name, function, forget)
                found.setdefault(function.__code__, own)
    return list(found.values())


def _function_in(value: Any) -> FunctionType | None:
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    elif isinstance(value, functools.cached_property):
        value = value.func
    inner = inspect.unwrap(value) if callable(value) else None
    return inner if isinstance(inner, FunctionType) else None


@contextmanager
def calls_noted() -> Iterator[set[CodeType]]:
    """Collect the code of every function that is called meanwhile, in any thread."""
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
