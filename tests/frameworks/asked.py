"""What the programs of every framework ask for: a question, an answer, a tool."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

QUESTION = "def area(width, height): what does it return?"
MAX_TOKENS = 64


class Answer(BaseModel):
    """What is asked for."""

    # Bounds that a model of random weights needs to come to an end.
    query: Annotated[str, Field(max_length=24)]
    limit: Annotated[int, Field(ge=1, le=9)]


def look_up(query: str, limit: int) -> str:
    """Look something up.

    Args:
        query: what to look for.
        limit: how many to find.
    """
    return f"{limit} of {query}"


PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query", "limit"],
}
CALL: dict[str, Any] = {
    "tools": [
        {
            "type": "function",
            "function": {"name": look_up.__name__, "parameters": PARAMETERS},
        }
    ],
    "tool_choice": "required",
}
"""What an openai client is given, and those that take its arguments."""
