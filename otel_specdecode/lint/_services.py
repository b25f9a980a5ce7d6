"""Streams of a program's own clients, told by what the call is named.

Most programs wrap the SDK in a class of their own, often in another file:
`async for token in self.provider.stream_chat(prompt)`. What it yields is a guess, so a
rate over it is reported only where its author calls it tokens.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from otel_specdecode.lint._naming import dotted
from otel_specdecode.lint.words import words_of

if TYPE_CHECKING:
    from otel_specdecode.lint._modules import Module

_STREAMS = ("stream", "astream")
_WHO_ANSWERS = frozenset(
    "agent api assistant backend bot client copilot gateway llm provider "
    "service".split()
)
_WHAT_IS_ASKED = frozenset(
    "answer ask chat complete completion completions llm message messages prompt query "
    "reply respond response".split()
)
_OTHER_STREAMS = frozenset(
    "audio blob download engine file files frames http image kafka lexer llama log "
    "logs ollama parser redis requests s3 speech stt synthesize tokenizer transcribe "
    "transcription tts upload video".split()
)
"""Of other things than answers, or of an engine in this process: a token a turn."""
_RUNS_THE_MODEL = re.compile(
    r"^\s*(?:from|import)\s+(?:torch|mlx|mlx_lm|mlx_vlm|transformers|llama_cpp|vllm"
    r"|sglang|ollama|exllamav\d|ctransformers|onnxruntime\w*|tensorrt_llm|jax|tinygrad"
    r"|ctranslate2|lmdeploy|gpt4all)\b",
    re.MULTILINE,
)
_LAST_PARTS = 3


def is_stream_of_a_service(module: Module, path: str) -> bool:
    """Whether a call's dotted name says that it streams a model's answer.

    Not in a file that runs models itself: there a turn usually is a token.
    """
    return _says_so(path) and not module.mentions(_RUNS_THE_MODEL)


def calls_a_service(module: Module, function: ast.expr) -> bool:
    """Whether calling this streams a model's answer, as far as its name says."""
    return is_named_like_one(function) and not module.mentions(_RUNS_THE_MODEL)


def is_named_like_one(function: ast.expr) -> bool:
    """Whether a function is called as those that stream an answer are."""
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name) if "stream" in name:
            return _says_so(f"{dotted(function)}()")
        case _:
            return False


@lru_cache(maxsize=4096)
def _says_so(path: str) -> bool:
    if not path.endswith("()"):
        return False
    parts = path.split(".")[-_LAST_PARTS:]
    called = words_of(parts[-1])
    if not any(word.startswith(_STREAMS) for word in called):
        return False
    words = {word for part in parts for word in words_of(part)}
    return words.isdisjoint(_OTHER_STREAMS) and not (
        words.isdisjoint(_WHO_ANSWERS) and words.isdisjoint(_WHAT_IS_ASKED)
    )
