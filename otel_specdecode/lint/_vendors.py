"""Services that report usage in a stream without being asked."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from otel_specdecode.lint._modules import Module

_NAME = re.compile(
    r"(?:async|chat|stream)*(?:mistral|groq|cerebras|together|fireworks|cohere|perplexity"
    r"|openrouter|zhipu|xai|grok|sambanova|minimax|moonshot|deepseek)"
    r"(?:ai|async|chat|completions?|provider|client|adapter|backend|service|llm|api"
    r"|model|handler|engine|driver|connector|stream)*"
)
"""`groq_provider`, `OpenRouterClient`, not `bench_mistral`, a model of that name."""
HOST = re.compile(
    r"mistral\.ai|groq\.com|cerebras\.ai|together\.(?:ai|xyz)|fireworks\.ai"
    r"|cohere\.(?:ai|com)|perplexity\.ai|openrouter\.ai|bigmodel\.cn|\bz\.ai\b"
    r"|\bx\.ai\b|sambanova\.ai|minimax\w*\.\w+|moonshot\.(?:ai|cn)"
    r"|deepseek\.com|anthropic\.com"
)
"""In an address of theirs."""
_ADDRESS = re.compile(r"""["'](https?://(?:[^"'\s]*/v\d|api\.)[^"'\s]*)["']""")


def is_vendors(
    module: Module, node: ast.AST, parent: Callable[[ast.AST], ast.AST | None]
) -> bool:
    """Whether a request goes to such a service, as names and addresses tell.

    The file or the function or class around the request is named after one
    (`providers/mistral.py`, `GroqClient`), or every address of an API in the file is
    one's.
    """
    names = [PurePath(module.path).stem]
    outer: ast.AST | None = node
    while outer is not None:
        names.append(str(getattr(outer, "name", "")))
        outer = parent(outer)
    if any(_NAME.fullmatch(name.replace("_", "").lower()) for name in names):
        return True
    if not module.mentions(HOST):
        return False
    addresses = _ADDRESS.findall(module.text)
    return bool(addresses) and all(map(HOST.search, addresses))
