# --- async client, keyword order
from openai import AsyncOpenAI

async def go(q):
    c = AsyncOpenAI()
    return await c.chat.completions.create(stream=True, model="m", messages=q)  # error: 18
# --- empty options
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options={})  # error: 12
# --- None options
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options=None)  # error: 12
# --- misspelt key
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"included_usage": True})  # error: 12
# --- other option alone
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_obfuscation": False})  # error: 12
# --- constant without usage
OPTS = {"include_usage": False}

def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options=OPTS)  # error: 12
# --- spread constant
REQUEST = {"model": "m", "temperature": 0, "stream": True}

def go(client, q):
    return client.chat.completions.create(messages=q, **REQUEST)  # error: 12
# --- payload stream set later
import requests

def go(url, q):
    payload = {"model": "m", "messages": q}
    payload["stream"] = True
    return requests.post(f"{url}/v1/chat/completions", json=payload, stream=True)  # error: 12
# --- stream flag constant
STREAM = True

def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=STREAM)  # error: 12
# --- body from a method
import httpx

class C:
    def body(self, q):
        return {"model": self.model, "messages": q, "stream": True}

    def go(self, url, q):
        with httpx.stream("POST", url + "/v1/chat/completions", json=self.body(q)) as r:  # error: 14
            return list(r.iter_lines())
# --- body from a function, dumped
import json, urllib.request

def build(q):
    return dict(model="m", prompt=q, stream=True)

def go(url, q):
    data = json.dumps(build(q)).encode("utf-8")
    req = urllib.request.Request(url + "/v1/completions", data=data, headers={})  # error: 11
    return urllib.request.urlopen(req)
# --- litellm sync
from litellm import completion

def go(q):
    return completion(model="m", messages=q, stream=True)  # error: 12
# --- litellm router
from litellm import Router

router = Router(model_list=[])

async def go(q):
    return await router.acompletion(model="m", messages=q, stream=True)  # error: 18
# --- legacy module API
import openai

def go(q):
    return openai.ChatCompletion.create(model="m", messages=q, stream=True)  # error: 12
# --- helper stream method
def go(client, q):
    with client.chat.completions.stream(model="m", messages=q) as s:  # error: 10
        for ev in s:
            print(ev)
# --- raw response
def go(client, q):
    return client.chat.completions.with_raw_response.create(model="m", messages=q, stream=True)  # error: 12
# --- multi-line call
def go(client, q):
    s = client.chat.completions.create(  # error: 9
        model="m",
        messages=q,
        stream=True,
    )
    return s
# --- azure
from openai import AzureOpenAI

client = AzureOpenAI(azure_endpoint="x")

def go(q):
    return client.chat.completions.create(model="m", messages=q, stream=True)  # error: 12
# --- self attribute client
class A:
    def __init__(self, client):
        self._client = client

    def go(self, q):
        yield from self._client.chat.completions.create(model="m", messages=q, stream=True)  # error: 20
# --- alias of create
def go(client, q):
    create = client.completions.create
    return create(model="m", prompt=q, stream=True)  # error: 12
# --- true by argument at the call site
def ask(client, q, stream):
    return client.chat.completions.create(model="m", messages=q, stream=stream)  # error: 12

def main(client):
    for ch in ask(client, [], True):
        print(ch)
# --- aiohttp data json
import aiohttp, json

async def go(url, q):
    async with aiohttp.ClientSession() as s:
        async with s.post(url=f"{url}/chat/completions", data=json.dumps({"model": "m", "messages": q, "stream": True})) as r:  # error: 20
            return [x async for x in r.content]
# --- requests session with merged dicts
import requests

def go(url, q, extra):
    s = requests.Session()
    return s.post(url + "/v1/chat/completions", json={"model": "m", "messages": q} | {"stream": True}, stream=True)  # error: 12
# --- extra_body without usage
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, extra_body={"top_k": 1})  # error: 12
# --- near: asked
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True})
# --- near: asked with dict()
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options=dict(include_usage=True))
# --- near: typed options
from openai.types.chat import ChatCompletionStreamOptionsParam

def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options=ChatCompletionStreamOptionsParam(include_usage=True))
# --- near: options parameter
def go(client, q, options):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options=options)
# --- near: extra_body asks
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=True, extra_body={"stream_options": {"include_usage": True}})
# --- near: not streamed
def go(client, q):
    return client.chat.completions.create(model="m", messages=q)
# --- near: stream False
def go(client, q):
    return client.chat.completions.create(model="m", messages=q, stream=False)
# --- near: unknown flag
def go(client, q, stream=True):
    return client.chat.completions.create(model="m", messages=q, stream=stream)
# --- near: flag from args
def go(client, q, args):
    return client.chat.completions.create(model="m", messages=q, stream=args.stream)
# --- near: responses api
def go(client, q):
    return client.responses.create(model="m", input=q, stream=True)
# --- near: ollama native
import requests

def go(q):
    return requests.post("http://localhost:11434/api/chat", json={"model": "m", "messages": q, "stream": True}, stream=True)
# --- near: ollama constant address
import requests

OLLAMA_URL = "http://localhost:11434/api/generate"

def go(q):
    return requests.post(OLLAMA_URL, json={"model": "m", "prompt": q, "stream": True}, stream=True)
# --- near: anthropic
import anthropic

def go(q):
    return anthropic.Anthropic().messages.create(model="m", messages=q, max_tokens=5, stream=True)
# --- near: assigned later
import requests

def go(url, q):
    p = {"model": "m", "messages": q, "stream": True}
    p["stream_options"] = {"include_usage": True}
    return requests.post(url + "/v1/chat/completions", json=p, stream=True)
# --- near: update
import requests

def go(url, q):
    p = {"model": "m", "messages": q, "stream": True}
    p.update(stream_options={"include_usage": True})
    return requests.post(url + "/v1/chat/completions", json=p, stream=True)
# --- near: update with a dict
import httpx

def go(url, q):
    p = dict(model="m", messages=q, stream=True)
    p.update({"stream_options": {"include_usage": True}})
    return httpx.stream("POST", url + "/v1/chat/completions", json=p)
# --- near: spread constant that asks
BASE = {"stream": True, "stream_options": {"include_usage": True}}

def go(client, q):
    return client.chat.completions.create(model="m", messages=q, **BASE)
# --- near: conditional option
def go(client, q, want):
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": want})
# --- near: wrapped client
import otel_specdecode
from openai import OpenAI

client = otel_specdecode.wrap(OpenAI())

def go(q):
    return client.chat.completions.create(model="m", messages=q, stream=True)
# --- near: wrapped by imported name
from openai import OpenAI
from otel_specdecode import wrap

def go(q):
    return wrap(OpenAI()).chat.completions.create(model="m", messages=q, stream=True)
# --- near: instrumented in this file
from openai import OpenAI
from otel_specdecode import SpecDecodeInstrumentor

SpecDecodeInstrumentor().instrument()

def go(q):
    return OpenAI().chat.completions.create(model="m", messages=q, stream=True)
# --- near: body built by a method that asks
import httpx

class C:
    def body(self, q):
        b = {"model": self.model, "messages": q, "stream": True}
        if self.usage:
            b["stream_options"] = {"include_usage": True}
        return b

    def go(self, url, q):
        return httpx.stream("POST", url + "/v1/chat/completions", json=self.body(q))
# --- near: other API with a stream flag
import requests

def go(url, q):
    return requests.post(url + "/generate_stream", json={"inputs": q, "stream": True}, stream=True)
# --- near: file download
import requests

def go(url):
    return requests.get(url, stream=True)
# --- near: speech stream
def go(client, text):
    return client.audio.speech.create(model="tts", input=text, stream=True)
# --- near: groq reports usage by itself
from groq import Groq

def go(q):
    return Groq().chat.completions.create(model="m", messages=q, stream=True)
# --- near: kwargs completed elsewhere in the file
def defaults():
    return {"stream_options": {"include_usage": True}}

def go(client, q, **kwargs):
    return client.chat.completions.create(model="m", messages=q, stream=True, **kwargs)
# --- near: another vendor's client, made by a method
from cerebras.cloud.sdk import Cerebras as CerebrasClient

class Model:
    def get_client(self):
        if self.client:
            return self.client
        self.client = CerebrasClient(api_key="x")
        return self.client

    def stream(self, q):
        yield from self.get_client().chat.completions.create(model="m", messages=q, stream=True)
# --- near: a service that reports usage by itself, called raw
import httpx

class Mistral:
    base_url = "https://api.mistral.ai/v1"

    def go(self, q):
        body = {"model": "m", "messages": q, "stream": True}
        with httpx.stream("POST", f"{self.base_url}/chat/completions", json=body) as r:
            yield from r.iter_lines()
# --- one body, streamed in one branch and sent whole in the other
import httpx

class Adapter:
    def __init__(self):
        self.client = httpx.Client()

    def go(self, url, q, streaming):
        body = {"model": "m", "messages": q}
        if streaming:
            body["stream"] = True
            return self.streamed(url + "/v1/chat/completions", body)
        return self.client.post(url + "/v1/chat/completions", json=body).json()

    def streamed(self, url, body):
        with self.client.stream("POST", url, json=body) as r:  # error: 14
            return list(r.iter_lines())
# --- near: whether usage is asked for is somebody's choice
class Chat:
    def wants_usage(self, given):
        for source in (given, self.usage):
            if isinstance(source, bool):
                return source
        return self.usage or False

    def go(self, q, given=None):
        options = {"include_usage": self.wants_usage(given)}
        return self.client.chat.completions.create(model="m", messages=q, stream=True, stream_options=options)
# --- near: another vendor's client, made in the module that wraps its SDK
from chains.llms.friendli import BaseFriendli

class ChatFriendli(BaseFriendli):
    def stream(self, q):
        yield from self.client.chat.completions.create(model="m", messages=q, stream=True)
# --- a file beside the wrapper of another vendor that imports openai itself
import openai
from chains.llms.friendli import BaseFriendli

def go(q):
    return openai.OpenAI().chat.completions.create(model="m", messages=q, stream=True)  # error: 12
# --- near: a body whose options are the caller's, streaming among them
import json, requests

class Handler:
    def completion(self, api_base, model, messages, options, extra_body):
        stream = options.pop("stream", None) or False
        options["stream"] = stream
        data = {"model": model, "messages": messages, **options, **extra_body}
        if stream is True:
            data["stream"] = stream
            return self.open_stream(api_base, data)
        return requests.post(api_base, data=json.dumps(data)).json()

    def open_stream(self, api_base, data):
        data["stream"] = True
        return requests.post(api_base, data=json.dumps(data), stream=True).iter_lines()
# --- a body with options of the caller's that says itself to stream
import requests

def go(q, **options):
    body = {"model": "m", "messages": q, "stream": True, **options}
    return requests.post("http://h/v1/chat/completions", json=body, stream=True).iter_lines()  # error: 12
# --- near: the second try, after the option was refused
import openai

async def opened(client, kwargs):
    try:
        return await client.chat.completions.create(**kwargs, stream=True, stream_options={"include_usage": True})
    except openai.BadRequestError:
        return await client.chat.completions.create(**kwargs, stream=True)
# --- the second try of one that never asked
import openai

async def opened(client, kwargs):
    try:
        return await client.chat.completions.create(stream=True, model="m", messages=kwargs)  # error: 22
    except openai.APIConnectionError:
        return await client.chat.completions.create(stream=True, model="m", messages=kwargs)  # error: 22
# --- near: the branch that is sent whole
import requests

def ask(url, q, stream=True):
    data = {"model": "m", "messages": q, "stream": stream, "stream_options": {"include_usage": True}}
    other = {"model": "m", "messages": q, "stream": stream}
    if stream:
        return requests.post(url + "/v1/chat/completions", json=data, stream=True)
    else:
        return requests.post(url + "/v1/chat/completions", json=other)
# --- near: another vendor's messages
import httpx

async def ask(client, base, q):
    payload = {"model": "m", "max_tokens": 9, "messages": q, "stream": True}
    async with client.stream("POST", base, json=payload, headers={"anthropic-version": "2023-06-01"}) as r:
        async for line in r.aiter_lines():
            print(line)
# --- near: a helper that hands all on, options of its callers among them
class Model:
    def call(self, function, *args, **kwargs):
        return function(*args, **kwargs)

    def run(self, client, q, config):
        options = self.prepare(config)
        return self.call(client.chat.completions.create, model="m", messages=q, stream=True, **options)
# --- near: a keyword written out beats the same key of a dict
import litellm
async def run(model, **given):
    asked = given.pop("stream_options", None) or {}
    options = {**asked, "include_usage": True}
    return await litellm.acompletion(model=model, stream=True, stream_options=options, **given)
async def twice(model):
    return await run(model, stream_options={"include_usage": False})
# --- near: options that the caller gives, or leaves out
from openai import OpenAI, omit
class Chat:
    def __init__(self):
        self.client = OpenAI()
    def stream(self, messages, stream_options=omit):
        return self.client.chat.completions.stream(messages=messages, stream_options=stream_options)
# --- near: a body that the caller may extend
from openai import OpenAI
def stream(messages, **kwargs):
    with OpenAI().chat.completions.stream(messages=messages, extra_body=kwargs) as events:
        yield from events
# --- a body of the function's own
from openai import OpenAI
def stream(messages):
    return OpenAI().chat.completions.create(messages=messages, stream=True, extra_body={"top_k": 1})  # error: 12
# --- near: only the first chunk is read
import time
from openai import OpenAI
def time_to_first_chunk(messages):
    start = time.perf_counter()
    stream = OpenAI().chat.completions.create(model="m", messages=messages, max_tokens=1, stream=True)
    for _ in stream:
        return time.perf_counter() - start
    raise ValueError("nothing was streamed")
# --- near: every address is of a service that reports usage unasked
from openai import OpenAI
client = OpenAI(base_url="https://api.fireworks.ai/inference/v1")
def ask(messages):
    return client.chat.completions.create(messages=messages, stream=True)
# --- one of several addresses
from openai import OpenAI
HOSTS = {"a": "https://api.fireworks.ai/inference/v1", "b": "https://api.deepinfra.com/v1"}
def ask(name, messages):
    client = OpenAI(base_url=HOSTS[name])
    return client.chat.completions.create(messages=messages, stream=True)  # error: 12
# --- near: Cohere's own API
import requests
def ask(host, messages):
    endpoint = "/v2/chat"
    payload = {"model": "m", "messages": messages, "stream": True}
    with requests.post(f"{host}{endpoint}", json=payload, stream=True) as response:
        for line in response.iter_lines():
            print(line)
# --- near: the caller's options said that it is to be streamed
from openai import OpenAI
def run(spec):
    request = {**spec["request"]}
    if request.pop("stream", False):
        return OpenAI().chat.completions.create(stream=True, **request)
    return OpenAI().chat.completions.create(**request)
# --- one method makes the options of streamed and of whole requests
import openai
class Model:
    def options(self):
        return {"model": self.model}
    async def stream(self, messages):
        args = self.options()
        args["stream"] = True
        async for chunk in await openai.ChatCompletion.acreate(messages=messages, **args):  # error: 34
            yield chunk.choices[0].delta
    async def whole(self, messages):
        args = self.options()
        answer = await openai.ChatCompletion.acreate(messages=messages, **args)
        return answer.choices[0].message.content
# --- near: the answer is no stream if it has choices
from openai import OpenAI
def ask(client: OpenAI, messages):
    options = {"stream": True}
    answer = client.chat.completions.create(model="m", messages=messages, **options)
    return answer.choices[0].message.content
# --- near: choices are read from the call itself
from openai import OpenAI
def ask(client: OpenAI, messages, whole):
    options = {"stream": True}
    if whole:
        options["stream"] = False
    return client.chat.completions.create(messages=messages, **options).choices[0]
# --- one call, read as a stream in one branch
from openai import OpenAI
def ask(messages, whole):
    answer = OpenAI().chat.completions.create(model="m", messages=messages, stream=True)  # error: 14
    if whole:
        return answer.choices[0]
    return [chunk.choices for chunk in answer]
# --- a body that may be streamed, and is sent whole in one branch
import requests
def ask(url, messages, streaming):
    data = {"model": "m", "messages": messages, "stream": streaming}
    if streaming and url:
        answer = requests.post(f"{url}/v1/chat/completions", json=data, stream=True)  # error: 18
        return [line for line in answer.iter_lines()]
    return requests.post(f"{url}/v1/chat/completions", json=data, stream=False).json()
def both(url, messages):
    return ask(url, messages, True), ask(url, messages, False)
# --- near: a service that reports usage unasked, by its address
import httpx
URL = "https://openrouter.ai/api/v1/chat/completions"
HEADERS = {"HTTP-Referer": "https://example.org"}
async def ask(messages):
    body = {"model": "m", "messages": messages, "stream": True}
    async with httpx.AsyncClient() as client:
        async with client.stream("POST", URL, json=body, headers=HEADERS) as answer:
            async for line in answer.aiter_lines():
                yield line
# --- near: a service that reports usage unasked, by a name
class GroqProvider:
    async def ask(self, messages):
        body = {"model": "m", "messages": messages, "stream": True}
        url = f"{self.base_url}/chat/completions"
        async with self.client.stream("POST", url, json=body) as answer:
            async for line in answer.aiter_lines():
                yield line
# --- another service
class OpenAIProvider:
    async def ask(self, messages):
        body = {"model": "m", "messages": messages, "stream": True}
        url = f"{self.base_url}/chat/completions"
        async with self.client.stream("POST", url, json=body) as answer:  # error: 20
            async for line in answer.aiter_lines():
                yield line
# --- near: Triton's own API
async def ask(session, url, prompt, chunks):
    body = {"text_input": prompt, "stream": True, "max_tokens": 9}
    async with session.post(url=url, json=body) as answer:
        async for chunk in answer.content:
            chunk = chunk.decode().removeprefix("data: ")
            if chunk == "[DONE]":
                return
            chunks.append(chunk)
async def main(session, base, is_triton, prompt, chunks):
    path = "generate_stream" if is_triton else "v1/completions"
    await ask(session, f"{base}/{path}", prompt, chunks)
# --- near: a body that is streamed elsewhere, its answer parsed whole
import requests
def ask(url, messages, options):
    body = {"model": "m", "messages": messages}
    if options.stream:
        body["stream"] = True
        options.send(body)
    answer = requests.post(f"{url}/v1/chat/completions", json=body)
    answer.raise_for_status()
    return answer.json()["choices"][0]
# --- parsed whole only where it was refused
import httpx
async def ask(client: httpx.AsyncClient, url, messages):
    body = {"model": "m", "messages": messages, "stream": True}
    answer = await client.post(f"{url}/v1/chat/completions", json=body)  # error: 20
    if answer.status_code != 200:
        raise ValueError(answer.json())
    async for line in answer.aiter_lines():
        yield line
# --- a model of that name on a server of one's own
async def bench_mistral(session, url, messages, count):
    body = {"model": "mistral", "messages": messages, "stream": True}
    async with session.post(f"{url}/v1/chat/completions", json=body) as answer:  # error: 16
        async for line in answer.content:
            count(line)
# --- near: a function that streams from a service which reports usage unasked
from openai import AsyncOpenAI
async def _stream_minimax(messages, url):
    client = AsyncOpenAI(base_url=url)
    async for chunk in await client.chat.completions.create(messages=messages, stream=True):
        yield chunk.choices[0].delta.content
# --- options of a helper, streamed in one function and handed on whole in another
from litellm import acompletion
class Backend:
    def options(self):
        return {"model": self.model}
    async def whole(self, messages):
        response = await acompletion(messages=messages, **self.options())
        return self.convert(response)
    async def streamed(self, messages):
        kwargs = self.options()
        kwargs["stream"] = True
        response = await acompletion(messages=messages, **kwargs)  # error: 26
        async for chunk in response:
            yield chunk.choices[0].delta.content
# --- near: only the first chunk is asked for
import time
from openai import OpenAI
def time_to_first_token(client: OpenAI, messages):
    began = time.perf_counter()
    stream = client.chat.completions.create(model="m", messages=messages, stream=True)
    next(iter(stream))
    stream.close()
    return time.perf_counter() - began
# --- the first chunk apart, and then the rest
import time
from openai import OpenAI
def read(client: OpenAI, messages):
    began = time.perf_counter()
    stream = client.chat.completions.create(model="m", messages=messages, stream=True)  # error: 14
    chunks = iter(stream)
    next(chunks)
    yield time.perf_counter() - began
    for chunk in chunks:
        yield chunk.choices[0].delta.content
# --- near: one of two clients is given the address of a service that reports usage unasked
from openai import OpenAI
class Clients:
    def __init__(self):
        self.first = OpenAI(base_url="https://api.groq.com/openai/v1")
        self.second = OpenAI(base_url="https://models.example.org/v1")
    def ask(self, messages):
        return self.first.chat.completions.create(messages=messages, stream=True)
# --- the other of two clients
from openai import OpenAI
class Clients:
    def __init__(self):
        self.first = OpenAI(base_url="https://api.groq.com/openai/v1")
        self.second = OpenAI(base_url="https://models.example.org/v1")
    def ask(self, messages):
        return self.second.chat.completions.create(messages=messages, stream=True)  # error: 16
# --- near: the address is a constant of another file, named after such a service
from openai import AsyncOpenAI
from settings import OPENROUTER_BASE_URL, LOCAL_BASE_URL
async def ask(messages):
    client = AsyncOpenAI(base_url=OPENROUTER_BASE_URL)
    return await client.chat.completions.create(messages=messages, stream=True)
# --- the address is another constant of that file
from openai import AsyncOpenAI
from settings import OPENROUTER_BASE_URL, LOCAL_BASE_URL
async def ask(messages):
    client = AsyncOpenAI(base_url=LOCAL_BASE_URL)
    return await client.chat.completions.create(messages=messages, stream=True)  # error: 18
# --- near: an HTTP client with the address of such a service
import httpx
def ask(messages):
    client = httpx.Client(base_url="https://api.cerebras.ai/v1")
    body = {"model": "m", "messages": messages, "stream": True}
    with client.stream("POST", "/chat/completions", json=body) as answer:
        yield from answer.iter_lines()
# --- near: a raw request to an address named after such a service
import requests
from settings import GROQ_URL
def ask(messages):
    body = {"model": "m", "messages": messages, "stream": True}
    return requests.post(f"{GROQ_URL}/chat/completions", json=body, stream=True)
# --- near: the client is named after such a service
from openai import OpenAI
def ask(deepseek_client, messages):
    return deepseek_client.chat.completions.create(messages=messages, stream=True)
# --- near: the branch is the service's
from openai import OpenAI
class Model:
    def ask(self, messages):
        if self.provider == "openrouter":
            return self.client.chat.completions.create(messages=messages, stream=True)
        raise ValueError(self.provider)
# --- near: the case is the service's
from openai import OpenAI
def ask(client, provider, messages):
    match provider:
        case "groq" | "mistral":
            return client.chat.completions.create(messages=messages, stream=True)
# --- the branch is a service's among others
from openai import OpenAI
class Model:
    def ask(self, messages):
        if self.provider in ("openrouter", "openai"):
            return self.client.chat.completions.create(messages=messages, stream=True)  # error: 20
        raise ValueError(self.provider)
# --- the other branch
from openai import OpenAI
class Model:
    def ask(self, messages):
        if self.provider == "openrouter":
            return None
        else:
            return self.client.chat.completions.create(messages=messages, stream=True)  # error: 20
# --- near: a client of another package with OpenAI's shape
import openai
from harbour.client import Client
def ask(messages):
    return Client().chat.completions.create(model="m", messages=messages, stream=True)
# --- near: such a client, as the annotation says
import openai
from harbour.client import Client
def ask(client: Client, messages):
    return client.chat.completions.create(model="m", messages=messages, stream=True)
# --- OpenAI's client, from a package that wraps it
from langfuse.openai import OpenAI
def ask(messages):
    return OpenAI().chat.completions.create(model="m", messages=messages, stream=True)  # error: 12
# --- a client that a function of another package makes
from harbour.clients import client_for
def ask(messages):
    return client_for("m").chat.completions.create(model="m", messages=messages, stream=True)  # error: 12
# --- OpenAI's client in a field of an object from elsewhere
from harbour.agents import Agent
def ask(messages):
    return Agent().client.chat.completions.create(model="m", messages=messages, stream=True)  # error: 12
# --- near: keywords that OpenAI's client refuses
def ask(client, messages, media):
    options = {"model": "m", "messages": messages, "stream": True, "media": media}
    return client.chat.completions.create(**options)
# --- keywords that instructor adds
def ask(client, messages, Model):
    return client.chat.completions.create(model="m", messages=messages, stream=True, response_model=Model)  # error: 12
# --- near: usage is asked for in the service's own way
def ask(client, messages):
    return client.chat.completions.create(model="m", messages=messages, stream=True, extra_body={"usage": {"include": True}})
# --- near: a server's tests of itself
from fastapi.testclient import TestClient
from server import app
def test_stream():
    body = {"model": "m", "messages": [], "stream": True}
    with TestClient(app).stream("POST", "/v1/chat/completions", json=body) as answer:
        assert list(answer.iter_lines())
# --- near: a server's tests of itself by a fixture
import httpx, pytest
from server import app
@pytest.fixture
def client():
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")
async def test_stream(client):
    answer = await client.post("/v1/chat/completions", json={"model": "m", "messages": [], "stream": True})
    assert answer.text
# --- a test of a server that runs elsewhere
import requests
def test_stream(url):
    body = {"model": "m", "messages": [], "stream": True}
    answer = requests.post(f"{url}/v1/chat/completions", json=body, stream=True)  # error: 14
    assert list(answer.iter_lines())
# --- near: the address ends in another endpoint
import requests
COMPLETIONS = "/v1/chat/completions"
def ask(messages):
    body = {"model": "m", "messages": messages, "stream": True}
    return requests.post("https://agents.example.org/v3/chat", json=body, stream=True)
# --- near: the address ends in another endpoint, after a host
import requests
COMPLETIONS = "/v1/chat/completions"
def ask(host, messages):
    body = {"model": "m", "messages": messages, "stream": True}
    return requests.post(f"{host}/agent/run", json=body, stream=True)
# --- where the address ends is not known
import requests
COMPLETIONS = "/v1/chat/completions"
def ask(host, path, messages):
    body = {"model": "m", "messages": messages, "stream": True}
    return requests.post(f"{host}/v1/{path}", json=body, stream=True)  # error: 12
# --- near: usage asked for unless the caller says no
def go(client, q, want_usage=True):
    options = {"include_usage": True} if want_usage else None
    return client.chat.completions.create(model="m", messages=q, stream=True, stream_options=options)
# --- near: every address of the class is of such a service
import os
from openai import OpenAI
OTHER = "https://models.example.org/v1"
class Model:
    def __init__(self, base_url=None):
        self.client = OpenAI(base_url=base_url or os.getenv("BASE", "https://openrouter.ai/api/v1"))
    def ask(self, messages):
        return self.client.chat.completions.create(messages=messages, stream=True)
# --- a class beside it
import os
from openai import OpenAI
class Other:
    url = "https://openrouter.ai/api/v1"
class Model:
    def __init__(self, base_url=None):
        self.client = OpenAI(base_url=base_url or os.getenv("BASE", "https://models.example.org/v1"))
    def ask(self, messages):
        return self.client.chat.completions.create(messages=messages, stream=True)  # error: 16
# --- the service's address, or else OpenAI's own
import os
from openai import OpenAI
OTHER = "https://models.example.org/v1"
def base():
    if os.environ.get("ROUTED"):
        return "https://openrouter.ai/api/v1"
    return None
def ask(messages):
    address = base()
    client = OpenAI(base_url=address)
    return client.chat.completions.create(messages=messages, stream=True)  # error: 12
# --- near: a body that the caller made
import httpx
def forward(url, path, given):
    body = dict(given)
    body["stream"] = True
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as answer:
        yield from answer.iter_lines()
# --- near: a body that the caller's keywords make
import httpx
def forward(url, **body):
    with httpx.stream("POST", f"{url}/v1/chat/completions", json={**body, "stream": True}) as answer:
        yield from answer.iter_lines()
# --- a body that the caller made, and an answer that is read here
import httpx
def count(url, given):
    with httpx.stream("POST", f"{url}/v1/chat/completions", json={**given, "stream": True}) as answer:  # error: 10
        return sum(1 for line in answer.iter_lines() if line)
# --- a copy of one's own body
import httpx
def ask(url, messages):
    given = {"model": "m", "messages": messages}
    body = dict(given)
    body["stream"] = True
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as answer:  # error: 10
        yield from answer.iter_lines()
# --- near: all that is asked comes from the caller
from openai import OpenAI
def stream(**request):
    yield from OpenAI().chat.completions.create(stream=True, **request)
# --- what is asked is one's own, some options are the caller's
from openai import OpenAI
def stream(messages, **options):
    yield from OpenAI().chat.completions.create(model="m", messages=messages, stream=True, **options)  # error: 16
# --- near: the ids of the tokens come with the text
import requests
def ask(url, messages):
    body = {"model": "m", "messages": messages, "stream": True, "return_token_ids": True}
    return requests.post(f"{url}/v1/chat/completions", json=body, stream=True)
# --- near: GigaChat reports usage unasked
import httpx
class GigaChatProvider:
    async def ask(self, messages):
        url = f"{self.base_url}/chat/completions"
        async with httpx.AsyncClient() as client:
            async with client.stream("POST", url, json={"model": "m", "messages": messages, "stream": True}) as answer:
                async for line in answer.aiter_lines():
                    yield line
# --- the same options, sent whole in the other branch
from openai import OpenAI
def ask(messages, streaming):
    request = {"model": "m", "messages": messages}
    if streaming:
        request["stream"] = True
        return OpenAI().chat.completions.create(**request)  # error: 16
    answer = OpenAI().chat.completions.create(**request)
    return answer.model_dump()
# --- a body made of an object with defaults
import httpx
from pydantic import BaseModel

class Body(BaseModel):
    model: str = "m"
    messages: list = []
    stream: bool = True

def go(base, q):
    with httpx.stream("POST", base + "/v1/chat/completions", json=Body(messages=q).model_dump()) as answer:  # error: 10
        return list(answer.iter_lines())
# --- near: an object with a default that asks for usage
import httpx
from dataclasses import asdict, dataclass, field

@dataclass
class Options:
    include_usage: bool = True

@dataclass
class Body:
    messages: list
    stream: bool = True
    stream_options: Options = field(default_factory=Options)

def go(base, q):
    with httpx.stream("POST", base + "/v1/chat/completions", json=asdict(Body(q))) as answer:
        return list(answer.iter_lines())
# --- near: an object that has a field for it
import httpx
from pydantic import BaseModel

class Body(BaseModel):
    messages: list
    stream: bool = True
    stream_options: dict | None = None

async def forward(client: httpx.AsyncClient, body: Body):
    async with client.stream("POST", "/v1/chat/completions", json=body.model_dump()) as answer:
        async for line in answer.aiter_lines():
            yield line
# --- near: a filtered copy of the caller's body
import httpx
async def forward(client: httpx.AsyncClient, url, given):
    body = {k: v for k, v in given.items() if k != "stream"}
    body["stream"] = True
    async with client.stream("POST", f"{url}/chat/completions", json=body) as answer:
        async for line in answer.aiter_lines():
            yield line
# --- a filtered copy of one's own body
import httpx
async def ask(client: httpx.AsyncClient, url, messages, seed):
    given = {"model": "m", "messages": messages, "seed": seed}
    body = {k: v for k, v in given.items() if v is not None}
    body["stream"] = True
    async with client.stream("POST", f"{url}/chat/completions", json=body) as answer:  # error: 16
        async for line in answer.aiter_lines():
            yield line
# --- a caller's body is told to stream, and the answer is read here
import aiohttp
async def ask(url, body):
    body["stream"] = True
    async with aiohttp.ClientSession() as http, http.post(f"{url}/v1/chat/completions", json=body) as answer:  # error: 49
        async for line in answer.content:
            print(line)
# --- near: a caller's body is told to stream, and the answer is handed through
import aiohttp
async def forward(url, body):
    body["stream"] = True
    async with aiohttp.ClientSession() as http, http.post(f"{url}/v1/chat/completions", json=body) as answer:
        async for line in answer.content:
            yield line
# --- near: a caller's body is told to stream and to report usage
import aiohttp
async def ask(url, body):
    body["stream"] = True
    body["stream_options"] = {"include_usage": True}
    async with aiohttp.ClientSession() as http, http.post(f"{url}/v1/chat/completions", json=body) as answer:
        async for line in answer.content:
            print(line)
