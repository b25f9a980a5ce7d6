"""Where streams of chunks come from: SDK calls and raw HTTP requests."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_specdecode.lint import _tags as t
from otel_specdecode.lint._fields import field_name
from otel_specdecode.lint._naming import same_place
from otel_specdecode.lint._tree import walk
from otel_specdecode.lint._values import UNKNOWN, Value, join
from otel_specdecode.lint.facts import Request, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_specdecode.lint._frames import Call
    from otel_specdecode.lint._machine import Machine
    from otel_specdecode.lint._modules import Module

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
_NO_USAGE_OPTION = re.compile(r"^(?:groq|anthropic|mistralai|cohere|ollama|zhipuai)\.")
_VENDOR_SDK = re.compile(
    r"^\s*(?:from|import)\s+(?:[\w.]*\.)?(?:groq|cerebras|together|llama_api_client|mistralai|cohere"
    r"|zhipuai|huggingface_hub|sambanova|friendli|fireworks|premai|writerai|anthropic"
    r"|ai21|dashscope|qianfan|reka)\b",
    re.MULTILINE,
)
"""SDKs of the same shape whose streams end with usage unasked.

Or a module named after one, which wraps it: the client is made there.
"""
_VENDOR_HOST = re.compile(
    r"mistral\.ai|groq\.com|together\.(?:ai|xyz)|fireworks\.ai|cohere\.(?:ai|com)"
    r"|minimax\w*\.\w+|cerebras\.ai|perplexity\.ai|anthropic\.com"
)
"""Services whose streams end with usage unasked."""
_QUOTED_URL = re.compile(r"""["'](https?://[^"'\s]+)["']""")
_OPENAI_SDK = re.compile(r"^\s*(?:from|import)\s+(?:openai|litellm)\b", re.MULTILINE)
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
_RESPONSES_API = re.compile(r"/responses\b|/messages\b|streamGenerateContent|/converse")
_NATIVE_API = re.compile(
    r"/api/(?:chat|generate)|/generate|/infer|/invocations|11434/api|/completion\b(?!s)"
)
_ASKS_FOR_USAGE = re.compile(r"include_usage|stream_options")
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
        if not is_helper and not _is_true(call.kwargs.get("stream")):
            return None
        request = None
        if not _is_other_vendor(path, call.frame.module):
            request = _note_sdk_request(machine, call)
        return _stream(machine, call, request)
    if _OTHER_SDK.search(path):
        if path.startswith("ollama."):
            return None
        named = bool(_ALWAYS_STREAMS.search(path)) and "?" not in path.split(".")[-2:-1]
        if named or _is_true(call.kwargs.get("stream")):
            return _stream(machine, call, None)
    if call.name in FRAMEWORK_STREAM and call.receiver is not None:
        return _framework_stream(machine, call)
    return None


def _is_other_vendor(path: str, module: Module) -> bool:
    """Whether the client is another vendor's, which knows no usage option."""
    if _NO_USAGE_OPTION.match(path):
        return True
    if module.mentions(_VENDOR_HOST):
        urls = _QUOTED_URL.findall(module.text)
        if urls and all(_VENDOR_HOST.search(url) for url in urls):
            return True
    return module.mentions(_VENDOR_SDK) and not module.mentions(_OPENAI_SDK)


def _framework_stream(machine: Machine, call: Call) -> Value | None:
    receiver = call.receiver
    if receiver is None or receiver.things:
        return None
    framework = _DELTAS.get(call.name)
    if framework is not None:
        is_whole = call.name == "stream_text" and not _is_true(call.kwargs.get("delta"))
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
    thing.per_chunk = thing.strong = True
    thing.elem = Value(t.CHUNK | t.STRONG)
    if request is not None:
        thing.request = request.node
    step = machine.step(call.node, call.frame, "the stream begins")
    return Value(t.STREAM | t.STRONG, frozenset({thing}), steps=(step,))


def _is_true(value: Value | None) -> bool:
    return value is not None and bool(value.tags & t.TRUE) and not value.tags & t.FALSE


# What a request says about usage


def field_of(value: Value, key: str) -> Value | None:
    """A key of whatever dict a value may be; `None` if none of them has it."""
    out: Value | None = None
    for thing in value.things:
        if key in thing.fields:
            out = thing.fields[key] if out is None else join(out, thing.fields[key])
    return out


def _is_absent(value: Value) -> bool:
    last = value.path.rpartition(".")[2]
    return value.tags == t.NONE or last in {"NOT_GIVEN", "NotGiven", "omit", "Omit()"}


def usage_of(options: Value | None) -> Usage:
    """What a value given for `stream_options` asks for."""
    if options is None or _is_absent(options):
        return Usage.ABSENT
    asked = field_of(options, "include_usage")
    if asked is not None:
        if asked.tags & t.FALSE and not asked.tags & t.TRUE:
            return Usage.REFUSED
        return Usage.ASKED
    dicts = [thing for thing in options.things if thing.kind == "dict"]
    if dicts and not any(thing.is_open or thing.elem != UNKNOWN for thing in dicts):
        return Usage.REFUSED
    return Usage.UNKNOWN


def _mentions_usage(module: Module) -> bool:
    return module.mentions(_ASKS_FOR_USAGE)


def _note_sdk_request(machine: Machine, call: Call) -> Request:
    options = call.kwargs.get("stream_options")
    body = call.kwargs.get("extra_body")
    if options is None and body is not None:
        options = field_of(body, "stream_options")
    usage = usage_of(options)
    if usage is Usage.ABSENT and (
        _is_callers(call, "stream_options")
        or (_is_callers(call, "extra_body") and _may_have_more(body))
    ):
        usage = Usage.UNKNOWN
    if usage is Usage.ABSENT and call.has_unknown_kwargs:
        # Where the caller says that it is to be streamed, the caller says the rest.
        is_handed_on = _is_told_to_stream(call)
        is_told = is_handed_on or _mentions_usage(call.frame.module)
        usage = Usage.UNKNOWN if is_told else usage
    given = next(
        (kw.value for kw in call.node.keywords if kw.arg == "stream_options"), None
    )
    wrapped = call.path.startswith("otel_specdecode.")
    return note_request(machine, call, usage, options=given, is_instrumented=wrapped)


def _is_told_to_stream(call: Call) -> bool:
    """Whether it is the caller's keywords that ask for a stream.

    They hold it, or it was taken out of them: `options.pop("stream", False)`.
    """
    if all(keyword.arg != "stream" for keyword in call.node.keywords):
        return True
    given = [keyword.value for keyword in call.node.keywords if keyword.arg is None]
    return call.frame.node is not None and any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and field_name(part) == "stream"
        and any(same_place(part.func.value, options) for options in given)
        for part in walk(call.frame.node)
    )


def _is_callers(call: Call, keyword: str) -> bool:
    """Whether a keyword is handed on from the caller of the function it stands in."""
    arguments = getattr(call.frame.node, "args", None)
    given = next((kw.value for kw in call.node.keywords if kw.arg == keyword), None)
    if not isinstance(given, ast.Name) or not isinstance(arguments, ast.arguments):
        return False
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.kwarg is not None:
        named.append(arguments.kwarg)
    return any(argument.arg == given.id for argument in named)


def _may_have_more(body: Value | None) -> bool:
    return body is None or all(thing.is_open for thing in body.things)


def note_request(
    machine: Machine,
    call: Call,
    usage: Usage,
    *,
    options: ast.expr | None = None,
    body: ast.Dict | ast.Call | None = None,
    is_raw: bool = False,
    is_instrumented: bool = False,
) -> Request:
    """Record a streamed request; of several runs, the worst stands."""
    known = machine.facts.requests.get(call.node)
    if known is None:
        known = Request(
            call.frame.module, call.node, usage, options, body, is_raw, is_instrumented
        )
        machine.facts.requests[call.node] = known
    elif usage in {Usage.ABSENT, Usage.REFUSED}:
        known.usage = usage
    return known


# Raw HTTP


def http_response(machine: Machine, call: Call) -> Value | None:
    """The response of a streamed raw request; `None` if this is no such call."""
    if call.name not in HTTP_CALLS:
        return None
    values = [*call.args, *call.kwargs.values()]
    payload = next((v for v in values if _is_true(field_of(v, "stream"))), None)
    texts = [text for value in values[:3] for text in value.texts]
    texts += call.kwargs.get("url", UNKNOWN).texts
    if payload is None:
        return _streamed_by_flag(call, texts)
    address = " ".join(texts)
    if "completions" in address or _is_probably_openai(call, payload, address):
        options = field_of(payload, "stream_options")
        usage = usage_of(options)
        body = _literal_body(payload, call.frame.module)
        is_open = any(thing.is_open for thing in payload.things)
        if usage is Usage.ABSENT and is_open:
            is_told = _mentions_usage(call.frame.module) or _is_handed_on(body)
            usage = Usage.UNKNOWN if is_told else usage
        if not _VENDOR_HOST.search(address):
            note_request(machine, call, usage, body=body, is_raw=True)
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
    is_streamed = _is_true(call.kwargs.get("stream")) or call.name == "stream"
    if is_streamed and re.search(r"/(?:chat/)?completions", address):
        return Value(t.RESPONSE | t.STRONG)
    if any(value.tags & t.RESPONSE for value in call.args):
        return Value(t.RESPONSE | t.STRONG)
    return None


def _is_probably_openai(call: Call, payload: Value, address: str) -> bool:
    if _RESPONSES_API.search(address) or _NATIVE_API.search(address):
        return False
    module = call.frame.module
    if "completions" not in module.text and any(
        module.mentions(address) for address in (_OLLAMA, _ANTHROPIC, _COHERE)
    ):
        return False
    keys = ("messages", "prompt")
    known = any(field_of(payload, key) is not None for key in keys)
    return known and field_of(payload, "model") is not None


def _is_handed_on(body: ast.expr | None) -> bool:
    """Whether a body takes its options, streaming among them, from the caller."""
    return (
        isinstance(body, ast.Dict)
        and None in body.keys
        and not any(
            isinstance(k, ast.Constant) and k.value == "stream" for k in body.keys
        )
    )


def _literal_body(payload: Value, module: Module) -> ast.Dict | ast.Call | None:
    """The one literal that the payload is, if it stands in the caller's file."""
    nodes = [thing.node for thing in payload.things if thing.module is module]
    node = nodes[0] if len(nodes) == 1 else None
    return node if isinstance(node, ast.Dict | ast.Call) else None


def body_stream(call: Call) -> Value | None:
    """The lines, chunks or events of a streamed response."""
    receiver = call.receiver
    if receiver is None or not receiver.tags & (t.RESPONSE | t.STREAM):
        return None
    kept = receiver.tags & t.STRONG
    if call.name in _ITERATE_BODY:
        return Value(t.STREAM | kept, receiver.things, steps=receiver.steps)
    return None
