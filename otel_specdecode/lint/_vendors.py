"""Services that report usage in a stream without being asked, and their clients."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from otel_specdecode.lint._fields import default_of, field_name
from otel_specdecode.lint._naming import names_in
from otel_specdecode.lint._tree import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_specdecode.lint.facts import Request

_NAME = re.compile(
    r"(?:a?sync|chat|stream|call|query|invoke|request|send|get|post|complete|default)*"
    r"(?:mistral|groq|cerebras|together|fireworks|cohere|perplexity|pplx"
    r"|openrouter|zhipu|glm|xai|grok|sambanova|minimax|moonshot|deepseek|gigachat)"
    r"(?:ai|a?sync|chat|completions?|provider|client|adapter|backend|service|llm|api"
    r"|model|handler|engine|driver|connector|stream|streaming|response|request|call"
    r"|gateway|base|url|uri|endpoint|host)*"
)
"""`groq_provider`, `OpenRouterClient`, not `bench_mistral`, a model of that name."""
HOST = re.compile(
    r"mistral\.ai|groq\.com|cerebras\.ai|together\.(?:ai|xyz)|fireworks\.ai"
    r"|cohere\.(?:ai|com)|perplexity\.ai|openrouter\.ai|bigmodel\.cn|\bz\.ai\b"
    r"|\bx\.ai\b|sambanova\.ai|minimax\w*\.\w+|moonshot\.(?:ai|cn)"
    r"|deepseek\.com|anthropic\.com|\bgigachat\."
)
"""In an address of theirs."""
_ADDRESS = re.compile(
    r"""["'](https?://(?:[^"'\s]*/v\d|api\.|localhost|127\.0\.0\.1)[^"'\s]*)["']"""
)
_URL = re.compile(r"""["'](https?://[^"'\s]+)["']""")
_SDKS = (
    r"groq|cerebras|together|llama_api_client|mistralai|cohere|zhipuai"
    r"|huggingface_hub|sambanova|friendli|fireworks|premai|writerai|anthropic"
    r"|ai21|dashscope|qianfan|reka"
)
_IMPORTS_SDK = re.compile(
    rf"^\s*(?:from|import)\s+(?:[\w.]*\.)?(?:{_SDKS})\b", re.MULTILINE
)
"""SDKs of the same shape whose streams end with usage unasked.

Or a module named after one, which wraps it: the client is made there.
"""
_IMPORTS_OPENAI = re.compile(
    r"^\s*(?:from|import)\s+(?:openai|litellm)\b", re.MULTILINE
)
CLIENT = "vendors.Client()"
"""Path of an OpenAI or HTTP client that is given the address of such a service."""
_OF_VENDOR = re.compile(rf"(?:{_SDKS}|ollama|vendors)\.")
_OF_ANOTHER_CLASS = re.compile(
    r"((?:\w+\.)+[A-Z]\w*\(\))\.(?:beta\.)?(?:chat\.)?completions\."
)
_OPENAI_SHAPED = re.compile(r"openai|litellm|specdecode", re.IGNORECASE)
_OF_LEGACY_API = re.compile(r"(?:^|\.)(?:ChatCompletion|Completion)\.")
_KEYWORDS = frozenset(
    "audio best_of echo extra_body extra_headers extra_query frequency_penalty "
    "function_call functions logit_bias logprobs max_completion_tokens max_tokens "
    "messages metadata modalities model moderation n parallel_tool_calls prediction "
    "presence_penalty prompt prompt_cache_key prompt_cache_options "
    "prompt_cache_retention reasoning_effort response_format safety_identifier seed "
    "service_tier stop store stream stream_options suffix temperature timeout "
    "tool_choice tools top_logprobs top_p user verbosity web_search_options".split()
)
"""All that `create()` of openai 3.57 takes; the SDK raises on others."""
_KEYWORDS_OF_WRAPPERS = frozenset(
    "response_model max_retries context strict validation_context hooks name "
    "session_id user_id tags trace_id parent_observation_id langfuse_prompt".split()
)
"""What instructor and Langfuse add to it."""


def is_vendors_client(address: frozenset[str], node: ast.expr) -> bool:
    """Whether a client that is given this address talks to such a service.

    Args:
        address: texts that the address may be.
        node: the expression: a constant may be defined in a file that is not read.
    """
    known = [text for text in address if "//" in text]
    if known:
        return _is_settled(node) and all(map(HOST.search, known))
    return any(map(_is_vendors_name, names_in(node)))


def _is_settled(node: ast.expr) -> bool:
    """Whether an address is one of the texts known of it, and never `None`.

    A variable may hold what a function returned, OpenAI's own address among that.
    """
    match node:
        case ast.Constant() | ast.JoinedStr():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
        case ast.BoolOp(values=[*_, last]):
            return _is_settled(last)
        case ast.Call():
            return default_of(node) is not None or field_name(node.func) == "getenv"
        case _:
            return False


def is_another_sdk(path: str, keywords: set[str]) -> bool:
    """Whether a call of OpenAI's shape is one of another client.

    That is a class of another package with `chat.completions` of its own, or it is
    given keywords that OpenAI's SDK refuses.

    Args:
        path: dotted name of what is called.
        keywords: what it is given, as far as known.
    """
    made = _OF_ANOTHER_CLASS.match(path)
    if made is not None and not _OPENAI_SHAPED.search(made[1]):
        return not path.startswith(CLIENT)
    if _OF_LEGACY_API.search(path):
        return False  # took any
    others = keywords - _KEYWORDS - _KEYWORDS_OF_WRAPPERS
    return any(not other.startswith("posthog_") for other in others)


def is_vendors(request: Request) -> bool:
    """Whether a request goes to such a service, as names and addresses tell.

    The client is one of theirs, or the file, or the function, class or branch around
    the request is named after one (`providers/mistral.py`, `GroqClient`, `if provider
    == "groq"`), or every address of an API in the file, class or function is one's.
    """
    module = request.module
    if _OF_VENDOR.match(request.client) or HOST.search(request.address):
        return True
    if any(map(_is_vendors_name, _names_around(request))):
        return True
    if module.mentions(HOST, "http") and any(
        map(_are_theirs, _addresses_around(request))
    ):
        return True
    return (
        not request.is_raw
        and module.mentions(_IMPORTS_SDK)
        and not module.mentions(_IMPORTS_OPENAI)
    )


def _are_theirs(addresses: list[str]) -> bool:
    return bool(addresses) and all(map(HOST.search, addresses))


def _addresses_around(request: Request) -> Iterator[list[str]]:
    """The addresses of the file's APIs, and those of each function or class around."""
    module = request.module
    yield _ADDRESS.findall(module.text) or _URL.findall(module.text)
    outer = module.parents.get(request.node)
    while outer is not None:
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield [text for text in _texts(outer) if text.startswith("http")]
        outer = module.parents.get(outer)


@lru_cache(maxsize=4096)
def _is_vendors_name(name: str) -> bool:
    return _NAME.fullmatch(name.replace("_", "").lower()) is not None


def _names_around(request: Request) -> Iterator[str]:
    module, node = request.module, request.node
    yield module.name if module.is_package else PurePath(module.path).stem
    yield from names_in(node.func)
    if request.is_raw:
        for given in (
            *node.args[:2],
            *(k.value for k in node.keywords if k.arg == "url"),
        ):
            yield from names_in(given)
    child: ast.AST = node
    outer: ast.AST | None = module.parents.get(node)
    while outer is not None:
        yield str(getattr(outer, "name", ""))
        if isinstance(outer, ast.If) and any(child is each for each in outer.body):
            yield from _compared_with(outer.test)
        elif isinstance(outer, ast.match_case):
            yield from _name_of_all(outer.pattern)
        child, outer = outer, module.parents.get(outer)


def _compared_with(test: ast.expr) -> Iterator[str]:
    """What `provider == "groq"` compares with."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.In):
        yield from _name_of_all(test.comparators[0])


def _name_of_all(node: ast.AST) -> Iterator[str]:
    """One of several texts, if all of them name such a service."""
    texts = list(_texts(node))
    if texts and all(map(_is_vendors_name, texts)):
        yield texts[0]


def _texts(node: ast.AST) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
