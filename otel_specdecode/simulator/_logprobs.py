"""Log probabilities of the tokens said: made up, but on vLLM's wire.

Source: vLLM 0.32, `ChatCompletionLogProbs` and `CompletionLogProbs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_specdecode.simulator._script import Script


def chat_logprobs(
    script: Script, first: int, last: int, *, num_top: int
) -> dict[str, Any]:
    """What `choices[].logprobs` holds in a chat."""
    return {
        "content": [
            _entry(token, token_id) | {"top_logprobs": _top(token, token_id, num_top)}
            for token, token_id in _tokens(script, first, last)
        ]
    }


def completion_logprobs(
    script: Script, first: int, last: int, *, num_top: int, text_offset: int
) -> dict[str, Any]:
    """The same in a completion, where texts have offsets."""
    found: dict[str, list[Any]] = {
        "text_offset": [],
        "token_logprobs": [],
        "tokens": [],
        "top_logprobs": [],
    }
    for token, token_id in _tokens(script, first, last):
        found["text_offset"].append(text_offset)
        found["token_logprobs"].append(_logprob(token_id))
        found["tokens"].append(token)
        # The token itself comes first, and beside `num_top` others.
        others = _top(token, token_id, num_top + 1)
        found["top_logprobs"].append(
            {each["token"]: each["logprob"] for each in others}
        )
        text_offset += len(token)
    return found


def _tokens(script: Script, first: int, last: int) -> list[tuple[str, int]]:
    texts = script.token_texts(first, last)
    # A token that is part of a character decodes to the replacement character.
    shown = (text or "\N{REPLACEMENT CHARACTER}" for text in texts)
    return list(zip(shown, script.token_ids(first, last), strict=True))


def _logprob(token_id: int, rank: int = 0) -> float:
    return -0.01 - (token_id * 37 % 100) / 100 - rank


def _entry(token: str, token_id: int, rank: int = 0) -> dict[str, Any]:
    return {
        "token": token,
        "logprob": _logprob(token_id, rank),
        "bytes": list(token.encode()),
    }


def _top(token: str, token_id: int, num_top: int) -> list[dict[str, Any]]:
    return [
        _entry(token if rank == 0 else f"{token}~{rank}", token_id, rank)
        for rank in range(num_top)
    ]
