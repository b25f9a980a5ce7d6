"""Where streams of chunks come from: SDK calls and raw HTTP requests."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint import _vendors as vendors
from otel_specdecode.lint._requests import (
    field_of,
    is_true,
    note_raw_request,
    note_sdk_request,
)
from otel_specdecode.lint._values import UNKNOWN, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_specdecode.lint._frames import Call
    from otel_specdecode.lint._machine import Machine
    from otel_specdecode.lint.facts import Request

_COMPLETIONS = re.compile(
    r"(?:^|\.)(?:completions|ChatCompletion|Completion)"
    r"(?:\.with_(?:raw|streaming)_response)?\.a?(?:create|parse)$"
)
_COMPLETIONS_HELPER = re.compile(r"(?:^|\.)completions\.stream$")
_OTHER_SDK = re.compile(
    r"(?:^|\.)(?:responses(?:\.with_\w+_response)?\.(?:create|stream)"
    r"|messages\.(?:create|stream)"
    r"|(?:generate_content|text_generation|chat_completion|chat_stream|chat\.stream"
    r"|generate_content_stream|generate_content_async|send_message|send_message_stream"
    r"|converse_stream|invoke_model_with_response_stream|stream_generate_content"
    r"|complete|fim\.stream|stream_async|chat\.complete))$"
)
_ALWAYS_STREAMS = re.compile(
    r"(?:stream|chat_stream|converse_stream|generate_content_stream|stream_async"
    r"|send_message_stream|invoke_model_with_response_stream|stream_generate_content)$"
)
_CLIENTS = frozenset(
    {"OpenAI", "AsyncOpenAI", "Client", "AsyncClient", "ClientSession"}
)
_LITELLM = re.compile(r"(?:^|\.)litellm\.(?:\w+\.)*a?(?:text_)?completion$")
_LITELLM_ROUTER = re.compile(r"litellm\.(?:\w+\.)*Router\(\)\.a?(?:text_)?completion$")
FRAMEWORK_STREAM = frozenset(
    "stream astream stream_chat astream_chat stream_complete astream_complete "
    "astream_events stream_log astream_log create_stream stream_text stream_events "
    "run_streamed".split()
)
_FRAMEWORK = re.compile(
    r"^\s*(?:from|import)\s+(?:langchain|llama_index)", re.MULTILINE
)
_MODEL_EVENTS = re.compile(r"\bon_(?:chat_model|llm)_stream\b")
"""Names of the events in which LangChain's and LangGraph's models hand on chunks."""
_DELTAS = {
    "create_stream": re.compile(r"^\s*(?:from|import)\s+autogen", re.MULTILINE),
    "stream_text": re.compile(r"^\s*(?:from|import)\s+pydantic_ai", re.MULTILINE),
}
"""Methods by whose names alone a framework's stream of texts is known."""
_MODEL_NAMES = frozenset(
    "llm model chat chain client_llm chat_model runnable bot".split()
)
_FRAMEWORK_MODEL = re.compile(r"(?:langchain|llama_index)[\w.]*\.\w+")

STREAMING_CALLS = frozenset(
    "create acreate parse aparse stream completion acompletion text_completion "
    "atext_completion generate_content text_generation chat_completion chat_stream "
    "generate_content_stream generate_content_async send_message send_message_stream "
    "converse_stream invoke_model_with_response_stream stream_generate_content "
    "complete stream_async".split()
)
"""Last names of all that the expressions above can match."""
HTTP_CALLS = frozenset(
    "post request stream urlopen Request connect_sse aconnect_sse build_request fetch "
    "urlopen send_request put EventSource".split()
)
SOCKET_CALL = "sendall"
_RESPONSES_API = re.compile(r"/responses\b|/messages\b|streamGenerateContent|/converse")
_NATIVE_API = re.compile(
    r"/api/(?:chat|generate)|/generate|/infer|/invocations|11434/api|/completion\b(?!s)"
)
_WRITTEN = re.compile(r"POST \S*/completions HTTP/1")
_STREAM_KEY = re.compile(r"\bstream[\"']?\s*[:=]\s*[Tt]rue")
_BASE = re.compile(r"(?:v\d[\w.]*|api|openai)/*$")
_VERB = re.compile(r"[A-Z]+")
_ANTHROPIC = re.compile(r"anthropic-version|/v1/messages\b")
_COHERE = re.compile(r"/v\d/chat\b(?!/)")
_OLLAMA = re.compile(r"/api/(?:chat|generate)\b")
_ITERATE_BODY = frozenset(
    "iter_lines aiter_lines iter_content aiter_bytes iter_bytes aiter_text iter_text "
    "iter_raw aiter_raw iter_any iter_chunked iter_chunks events iter_sse aiter_sse "
    "aiter_content stream readlines iter_events aiter_events".split()
)
READ_ONE = frozenset(
    "readline read readuntil readany readchunk receive recv read1 readinto "
    "read_chunked".split()
)


def sdk_stream(machine: Machine, call: Call) -> Value | None:
    """The stream that an SDK call returns; `None` if this is no such call."""
    path = call.path
    if path == "dspy.streamify()":  # what that made is called
        return _stream(machine, call, None)
    if path.rpartition(".")[2] not in STREAMING_CALLS and call.name not in (
        FRAMEWORK_STREAM
    ):
        return None  # nearly every call, before the expressions are tried
    is_completions = bool(_COMPLETIONS.search(path))
    is_helper = bool(_COMPLETIONS_HELPER.search(path))
    is_litellm = bool(_LITELLM.search(path) or _LITELLM_ROUTER.search(path))
    if is_completions or is_helper or is_litellm:
        if not is_helper and not is_true(call.kwargs.get("stream")):
            return None
        request = None
        if is_litellm or not vendors.is_another_sdk(path, set(call.kwargs)):
            request = note_sdk_request(machine, call)
        return _stream(machine, call, request)
    if _OTHER_SDK.search(path):
        if path.startswith("ollama."):
            return None
        named = bool(_ALWAYS_STREAMS.search(path)) and "?" not in path.split(".")[-2:-1]
        if named or is_true(call.kwargs.get("stream")):
            return _stream(machine, call, None)
    if call.name in FRAMEWORK_STREAM and call.receiver is not None:
        return _framework_stream(machine, call)
    return None


def client(call: Call) -> Value | None:
    """A client of a service that reports usage unasked; `None` for other calls."""
    if call.name not in _CLIENTS:
        return None
    address = call.kwargs.get("base_url")
    given = next((k.value for k in call.node.keywords if k.arg == "base_url"), None)
    if address is None or given is None or address.tags & t.NONE:
        return None  # or OpenAI's own
    is_theirs = vendors.is_vendors_client(address.texts, given)
    return Value(path=vendors.CLIENT) if is_theirs else None


def _framework_stream(machine: Machine, call: Call) -> Value | None:
    receiver = call.receiver
    if receiver is None or receiver.things:
        return None
    if call.name == "astream_events" and call.frame.module.mentions(_MODEL_EVENTS):
        return _stream(machine, call, None)
    framework = _DELTAS.get(call.name)
    if framework is not None:
        is_whole = call.name == "stream_text" and not is_true(call.kwargs.get("delta"))
        is_known = not is_whole and call.frame.module.mentions(framework)
        return _stream(machine, call, None) if is_known else None
    if "messages" in call.kwargs.get("stream_mode", UNKNOWN).texts:
        return _stream(machine, call, None)  # LangGraph's, a pair a chunk
    if _FRAMEWORK_MODEL.match(receiver.path):
        return _stream(machine, call, None)
    if not call.frame.module.mentions(_FRAMEWORK):
        return None
    last = receiver.path.rpartition(".")[2].strip("_").lower()
    if last in _MODEL_NAMES or last.endswith(("llm", "model", "chain")):
        return _stream(machine, call, None)
    return None


def _stream(machine: Machine, call: Call, request: Request | None) -> Value:
    machine.has_stream = True
    thing = machine.thing("stream", call.node, call.frame)
    thing.mark_per_chunk(strong=True)
    thing.grow(Value(t.CHUNK | t.STRONG))
    if request is not None:
        thing.request = request.node
    step = machine.step(call.node, call.frame, "the stream begins")
    return Value(t.STREAM | t.STRONG, frozenset({thing}), steps=(step,))


# Raw HTTP


def http_response(machine: Machine, call: Call) -> Value | None:
    """The response of a streamed raw request; `None` if this is no such call."""
    if call.name not in HTTP_CALLS:
        return None
    values = [*call.args, *call.kwargs.values()]
    payload = next((v for v in values if is_true(field_of(v, "stream"))), None)
    texts = [text for value in values[:3] for text in value.texts]
    texts += call.kwargs.get("url", UNKNOWN).texts
    if payload is None:
        return _streamed_by_flag(call, texts)
    address = " ".join(texts)
    if "completions" in address or _is_probably_openai(call, payload, address):
        note_raw_request(machine, call, payload, address)
    elif _OLLAMA.search(address) or not (
        _RESPONSES_API.search(address) or _NATIVE_API.search(address)
    ):
        return None
    machine.has_stream = True
    step = machine.step(call.node, call.frame, "the stream begins")
    return Value(t.RESPONSE | t.STRONG, steps=(step,))


def _streamed_by_flag(call: Call, texts: Iterable[str]) -> Value | None:
    """A response to a payload we cannot see, asked for at a completions endpoint."""
    address = " ".join(texts)
    is_streamed = is_true(call.kwargs.get("stream")) or call.name == "stream"
    if is_streamed and re.search(r"/(?:chat/)?completions", address):
        return Value(t.RESPONSE | t.STRONG)
    if any(value.tags & t.RESPONSE for value in call.args):
        return Value(t.RESPONSE | t.STRONG)
    return None


def written_request(machine: Machine, call: Call) -> Value | None:
    """The answer to a request that is written out whole and sent by a socket."""
    texts = " ".join(text for value in call.args for text in value.texts)
    if not _WRITTEN.search(texts) or not call.frame.module.mentions(_STREAM_KEY):
        return None
    machine.has_stream = True
    step = machine.step(call.node, call.frame, "the stream begins")
    return Value(t.RESPONSE | t.STRONG, steps=(step,))


def _is_probably_openai(call: Call, payload: Value, address: str) -> bool:
    if _RESPONSES_API.search(address) or _NATIVE_API.search(address):
        return False
    if _names_another_endpoint(call):
        return False
    module = call.frame.module
    if "completions" not in module.text and any(
        module.mentions(address) for address in (_OLLAMA, _ANTHROPIC, _COHERE)
    ):
        return False
    keys = ("messages", "prompt")
    known = any(field_of(payload, key) is not None for key in keys)
    return known and field_of(payload, "model") is not None


def _names_another_endpoint(call: Call) -> bool:
    """Whether the address ends in a name, which is none that OpenAI's API has."""
    given = [
        (k.value, call.kwargs[k.arg]) for k in call.node.keywords if k.arg == "url"
    ]
    for node, value in given or zip(call.node.args[:2], call.args, strict=False):
        whole = [text for text in value.texts if "//" in text]
        text = _end_of(node) or (
            whole[0] if len(whole) == len(value.texts) == 1 else ""
        )
        if not _VERB.fullmatch(text):
            path = text.partition("//")[2] or text
            return "/" in path.rstrip("/") and not _BASE.search(path)
    return False


def _end_of(node: ast.expr) -> str:
    """The last part of a text that is put together; empty if it is not known."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[*_, last]) | ast.BinOp(op=ast.Add(), right=last):
            return _end_of(last)
        case _:
            return ""


def body_stream(call: Call) -> Value | None:
    """The lines, chunks or events of a streamed response."""
    receiver = call.receiver
    if receiver is None or not receiver.tags & (t.RESPONSE | t.STREAM):
        return None
    kept = receiver.tags & t.STRONG
    if call.name in _ITERATE_BODY:
        return Value(t.STREAM | kept, receiver.things, steps=receiver.steps)
    return None
