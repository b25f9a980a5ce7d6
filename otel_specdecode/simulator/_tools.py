"""What a request wants called, or said in a given form.

A simulated model calls each function once, in the order in which they are offered, so
that an agent that goes on until it gets text, or calls its last function, ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

Body = Mapping[str, Any]


def tool_to_call(body: Body) -> tuple[str | None, str | None]:
    """Return the function that must be called, and the one that may be."""
    names = [str(tool.get("name")) for tool in _functions(body)]
    choice = body.get("tool_choice", "auto")
    if not names or choice == "none":
        return None, None
    if isinstance(choice, dict):
        named = cast("Body", choice)
        return str(named.get("function", named).get("name")), None
    called = _called(body)
    following = next((name for name in names if name not in called), None)
    return (following or names[-1], None) if choice == "required" else (None, following)


def tool_schema(body: Body, name: str) -> Body | None:
    """Return the JSON schema of a function's arguments; `None` without one."""
    offered = (tool for tool in _functions(body) if tool.get("name") == name)
    return next(offered, cast("Body", {})).get("parameters")


def answer_schema(body: Body) -> Body | None:
    """Return the JSON schema that the answer must fit; `None` for free text."""
    text: Body = body.get("text") or {}
    asked: Body = body.get("response_format") or text.get("format") or {}
    if asked.get("type") == "json_object":
        return {}
    if asked.get("type") == "json_schema":
        # Named inside `json_schema` in the chat API, and beside it in Responses.
        return cast("Body", asked.get("json_schema", asked).get("schema") or {})
    return None


def _functions(body: Body) -> list[Body]:
    tools = cast("list[Body]", body.get("tools") or [])
    return [tool.get("function", tool) for tool in tools]


def _called(body: Body) -> set[str]:
    messages = cast("list[Body]", body.get("messages") or [])
    return {
        str(call.get("function", {}).get("name"))
        for message in messages
        for call in message.get("tool_calls") or ()
    }
