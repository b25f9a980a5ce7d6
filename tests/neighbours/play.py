"""Plays every scene with a neighbour and us switched on in some order; writes a report.

    python play.py NEIGHBOUR PLAN REPORT

Run inside the neighbour's environment. PLAN is JSON: `on` and `off` are orders of
`ours`, `theirs` and `http`; `sampled` and `traced` say what becomes of spans.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import warnings
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import neighbours_on
import openai
import scenes
from opentelemetry import trace
from served import Served, served
from telemetry_kept import Kept

from otel_specdecode import SpecDecodeInstrumentor

HOOKED = ("request", "_prepare_request", "post", "__init__")
STREAMS = ("__iter__", "__next__", "__aiter__", "__anext__", "__stream__", "close")
METHODS = ("create", "parse", "stream")


def surface() -> dict[str, Any]:
    """Return what instrumentations replace, by name."""
    from openai.resources import completions, responses
    from openai.resources.chat import completions as chat

    kinds = {
        "OpenAI": (openai.OpenAI, HOOKED),
        "AsyncOpenAI": (openai.AsyncOpenAI, HOOKED),
        "Stream": (openai.Stream, STREAMS),
        "AsyncStream": (openai.AsyncStream, STREAMS),
        "chat.Completions": (chat.Completions, METHODS),
        "chat.AsyncCompletions": (chat.AsyncCompletions, METHODS),
        "Completions": (completions.Completions, METHODS),
        "AsyncCompletions": (completions.AsyncCompletions, METHODS),
        "Responses": (responses.Responses, METHODS),
        "AsyncResponses": (responses.AsyncResponses, METHODS),
    }
    return {
        f"{name}.{attribute}": getattr(kind, attribute, None)
        for name, (kind, attributes) in kinds.items()
        for attribute in attributes
    }


class Play:
    """A run, and its report so far."""

    def __init__(self, neighbour: str, plan: dict[str, Any]) -> None:
        self._neighbour, self._plan = neighbour, plan
        self._kept = Kept(sampled=plan.get("sampled", True))
        self._offs: dict[str, neighbours_on.Off] = {}
        self.report: dict[str, Any] = {"calls": [], "after": [], "logs": []}

    def run(self) -> None:
        kept, switch = self._kept, neighbours_on.NEIGHBOURS[self._neighbour]
        if switch.sets_providers is not None:
            switch.sets_providers(kept)
        else:
            kept.set_providers(traced=self._plan.get("traced", True))
        before = surface()
        for name in self._plan["on"]:
            self._offs[name] = self._switch(name)(kept)
        only = self._plan.get("scenes") or list(scenes.SCENES)
        with served() as server:
            clients = self._clients(server)
            self.report["calls"] = self._play(server, clients, only)
            for name in self._plan.get("off", ()):
                self._offs[name]()
                now = surface()
                again = ["chat_whole", "chat_drained", "completion_drained"]
                played = self._play(server, self._clients(server), again)
                later = surface()
                self.report["after"].append(
                    {
                        "off": name,
                        "changed": [k for k in before if now[k] is not before[k]],
                        "changed after a call": [
                            k for k in before if later[k] is not before[k]
                        ],
                        "calls": played,
                    }
                )
        # A neighbour hands its spans over in batches, in its own time.
        flush: Any = getattr(trace.get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush()
        self.report["theirs"] = [span.name for span in kept.theirs.get_finished_spans()]
        self.report["datadog"] = kept.datadog

    def _switch(self, name: str) -> Any:
        if name == "ours":
            return _ours
        which = "httpx2" if name == "http" else self._neighbour
        return neighbours_on.NEIGHBOURS[which].on

    @staticmethod
    def _clients(server: Served) -> dict[str, Any]:
        # One made by the module's name and one by the class, as applications do.
        return {
            "sync": openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0),
            "async": openai.AsyncOpenAI(
                base_url=server.base_url, api_key="k", max_retries=0
            ),
        }

    def _play(
        self, server: Served, clients: dict[str, Any], names: list[str]
    ) -> list[dict[str, Any]]:
        async def play() -> list[dict[str, Any]]:
            return [
                await self._call(server, mode, clients[mode], name)
                for name in names
                for mode in ("sync", "async")
            ]

        return asyncio.run(play())

    async def _call(
        self, server: Served, mode: str, client: Any, name: str
    ) -> dict[str, Any]:
        tracer = trace.get_tracer("app")
        seen: Any = None
        failure = None
        with tracer.start_as_current_span("app") as app:
            try:
                seen = await scenes.SCENES[name](client)
            except Exception as error:  # noqa: BLE001 (it is what the caller saw)
                failure = f"{type(error).__module__}.{type(error).__name__}"
            still_current = trace.get_current_span() is app
        if "left" in name:
            await _collected()
        return {
            "name": name,
            "mode": mode,
            "seen": seen,
            "failure": failure,
            "app still current": still_current,
            "app": f"{app.get_span_context().span_id:016x}",
            "traceparents": server.take(),
            "spans": self._kept.new_spans(),
            "points": self._kept.new_points(),
        }


async def _collected() -> None:
    """Collect what was left; the loop closes it, and what it held, in own turns."""
    for _ in range(10):
        gc.collect()
        await asyncio.sleep(0)


def _ours(kept: Kept) -> neighbours_on.Off:
    SpecDecodeInstrumentor().instrument()
    return SpecDecodeInstrumentor().uninstrument


class _Noting(logging.Handler):
    def __init__(self, notes: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._notes = notes

    def emit(self, record: logging.LogRecord) -> None:
        self._notes.append(f"{record.name}: {record.getMessage()}")


def main() -> None:
    neighbour, plan, report = sys.argv[1:]
    # A collection that some other thread is at makes one that is asked for do nothing.
    gc.disable()
    play = Play(neighbour, json.loads(plan))
    logging.getLogger().addHandler(_Noting(play.report["logs"]))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        play.run()
    play.report["warnings"] = [f"{w.category.__name__}: {w.message}" for w in warned]
    play.report["versions"] = {
        each.metadata["Name"].lower(): each.version for each in distributions()
    }
    Path(report).write_text(json.dumps(play.report))


if __name__ == "__main__":
    main()
