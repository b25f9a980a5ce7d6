# --- async counter on self, rate in another method
import time
from openai import AsyncOpenAI

class Bench:
    def __init__(self):
        self.client = AsyncOpenAI()
        self.received = 0

    async def run(self, prompt):
        self.begin = time.perf_counter()
        stream = await self.client.chat.completions.create(model="m", messages=prompt, stream=True)
        async for chunk in stream:
            self.received += 1
        self.end = time.perf_counter()

    def tokens_per_second(self):
        return self.received / (self.end - self.begin)  # error: 16
# --- aiohttp, raw lines, dict result, aggregated by a second function
import asyncio, json, time
import aiohttp

async def request(session, url, body):
    result = {"n_tok": 0, "secs": 0.0}
    t0 = time.time()
    async with session.post(f"{url}/v1/chat/completions", json={**body, "stream": True}) as r:
        async for line in r.content:
            if line.startswith(b"data: ") and b"[DONE]" not in line:
                result["n_tok"] += 1
    result["secs"] = time.time() - t0
    return result

def summarise(results):
    total = sum(r["n_tok"] for r in results)
    secs = max(r["secs"] for r in results)
    print(f"Output token throughput: {total / secs:.2f} tok/s")  # error: 39

async def main(url, bodies):
    async with aiohttp.ClientSession() as session:
        results = await asyncio.gather(*[request(session, url, b) for b in bodies])
    summarise(results)
# --- enumerate index
import time
import openai

def go():
    client = openai.OpenAI()
    t = time.time()
    i = 0
    for i, chunk in enumerate(client.chat.completions.create(model="m", messages=[], stream=True), 1):
        print(chunk.choices[0].delta.content, end="")
    print("tok/s", i / (time.time() - t))  # error: 20
# --- zip with count
import itertools, time

def go(client):
    t0 = time.monotonic()
    for k, ev in zip(itertools.count(1), client.completions.create(model="m", prompt="x", stream=True)):
        tps = k / (time.monotonic() - t0)  # error: 15
# --- list of texts, length
import time

def measure(client, messages):
    start = time.perf_counter()
    parts = []
    for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            parts.append(chunk.choices[0].delta.content)
    dt = time.perf_counter() - start
    return {"answer": "".join(parts), "tokens_per_s": len(parts) / dt}  # error: 55
# --- list(stream)
import time

def measure(client, messages):
    start = time.perf_counter()
    chunks = list(client.chat.completions.create(model="m", messages=messages, stream=True))
    elapsed = time.perf_counter() - start
    tok_rate = len(chunks) / elapsed  # error: 16
    return tok_rate
# --- comprehension filter and len
from time import perf_counter as now

def measure(client, messages):
    a = now()
    deltas = [c.choices[0].delta.content for c in client.chat.completions.create(model="m", messages=messages, stream=True) if c.choices]
    b = now()
    print("%d tokens, %.1f tokens/sec" % (len(deltas), len(deltas) / (b - a)))  # error: 56
# --- module global counter
import time
import openai

token_counter = 0

def ask(q):
    global token_counter
    for part in openai.ChatCompletion.create(model="m", messages=q, stream=True):
        token_counter += 1

def main():
    t = time.time()
    ask([])
    print(token_counter / (time.time() - t), "t/s")  # error: 11
# --- dataclass with counter field and property
import time
from dataclasses import dataclass

@dataclass
class Metrics:
    start: float = 0.0
    end: float = 0.0
    tokens: int = 0

    @property
    def tps(self):
        duration = self.end - self.start
        return self.tokens / duration if duration else 0.0  # error: 16

def run(client, q):
    m = Metrics(start=time.time())
    for _ in client.chat.completions.create(model="m", messages=q, stream=True):
        m.tokens += 1
    m.end = time.time()
    return m.tps
# --- named tuple between functions
import time
from typing import NamedTuple

class Result(NamedTuple):
    text: str
    ntok: int
    seconds: float

def one(client, q):
    t0 = time.time(); n = 0; out = ""
    for c in client.chat.completions.create(model="m", messages=q, stream=True):
        out += c.choices[0].delta.content or ""
        n += 1
    return Result(out, n, time.time() - t0)

def report(client, q):
    r = one(client, q)
    print(f"{r.ntok / r.seconds:.1f} tok/s")  # error: 14
# --- tuple unpacking in the caller
import time

def one(client, q):
    t0 = time.time()
    n = 0
    for c in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return n, time.time() - t0

def main(client, q):
    count, took = one(client, q)
    speed = count / took  # error: 13
    print(f"decode speed {speed} tok/s")
# --- generator of pieces through two layers
import json, time, requests

def sse(url, payload):
    with requests.post(url + "/v1/chat/completions", json=payload, stream=True) as r:
        for raw in r.iter_lines():
            if raw.startswith(b"data: ") and raw != b"data: [DONE]":
                yield json.loads(raw[6:])

def pieces(url, q):
    for obj in sse(url, {"model": "m", "messages": q, "stream": True}):
        d = obj["choices"][0]["delta"].get("content")
        if d:
            yield d

def main(url, q):
    t0 = time.time()
    n = sum(1 for _ in pieces(url, q))
    print("speed:", n / (time.time() - t0), "tokens/s")  # error: 21
# --- yield from
import time

def relay(client, q):
    yield from client.chat.completions.create(model="m", messages=q, stream=True)

def main(client, q):
    t0 = time.time()
    n = 0
    for _ in relay(client, q):
        n = n + 1
    tokens_per_second = n / (time.time() - t0)  # error: 25
# --- async queue between tasks
import asyncio, time

async def producer(client, queue, q):
    async for ev in await client.chat.completions.create(model="m", messages=q, stream=True):
        await queue.put(ev.choices[0].delta.content)
    await queue.put(None)

async def consumer(queue):
    t0 = time.monotonic()
    got = 0
    while True:
        item = await queue.get()
        if item is None:
            break
        got += 1
    return {"tps": got / (time.monotonic() - t0)}  # error: 20

async def main(client, q):
    queue = asyncio.Queue()
    task = asyncio.create_task(producer(client, queue, q))
    return await consumer(queue)
# --- next with StopIteration
import time

def go(client, q):
    it = iter(client.chat.completions.create(model="m", messages=q, stream=True))
    n, t0 = 0, time.time()
    while True:
        try:
            next(it)
        except StopIteration:
            break
        n += 1
    tok_s = n / (time.time() - t0)  # error: 13
# --- httpx async lines, data prefix, early continue
import httpx, time

async def go(url):
    cnt = 0
    s = time.perf_counter()
    async with httpx.AsyncClient() as c:
        async with c.stream("POST", url + "/v1/completions", json={"model": "m", "prompt": "x", "stream": True}) as r:
            async for line in r.aiter_lines():
                if not line or line == "data: [DONE]":
                    continue
                cnt += 1
    gen_throughput = cnt / (time.perf_counter() - s)  # error: 22
    return gen_throughput
# --- bytes chunks split into lines
import httpx, time

def go(url, payload):
    tokens = 0
    payload["stream"] = True
    s = time.perf_counter()
    with httpx.Client() as c, c.stream("POST", url + "/chat/completions", json=payload) as r:
        for chunk in r.iter_bytes():
            for line in chunk.decode().split("\n"):
                if line.startswith("data:") and "[DONE]" not in line:
                    tokens += 1
    return tokens / (time.perf_counter() - s)  # error: 12
# --- buffer loop over text
import aiohttp, time

async def go(session, url):
    buf, toks = "", 0
    s = time.perf_counter()
    async with session.post(url + "/v1/chat/completions", json={"model": "m", "messages": [], "stream": True}) as resp:
        async for data in resp.content.iter_any():
            buf += data.decode()
            while "\n\n" in buf:
                event, buf = buf.split("\n\n", 1)
                if event.startswith("data: {"):
                    toks += 1
    print("toks/s =", toks / (time.perf_counter() - s))  # error: 23
# --- sseclient
import sseclient, requests, time, json

def go(url, q):
    r = requests.post(url + "/v1/chat/completions", json={"model": "m", "messages": q, "stream": True}, stream=True)
    client = sseclient.SSEClient(r)
    n = 0
    t0 = time.time()
    for event in client.events():
        if event.data != "[DONE]":
            n += 1
    print(f"tokens per second: {n / (time.time() - t0)}")  # error: 33
# --- httpx_sse
import httpx, time
from httpx_sse import connect_sse

def go(url, q):
    n_tokens = 0
    t0 = time.time()
    with httpx.Client() as client:
        with connect_sse(client, "POST", url + "/v1/chat/completions", json={"model": "m", "messages": q, "stream": True}) as source:
            for sse in source.iter_sse():
                n_tokens += 1
    return n_tokens / (time.time() - t0)  # error: 12
# --- locust
import time
from locust import HttpUser, task

class U(HttpUser):
    @task
    def chat(self):
        t0 = time.perf_counter()
        count = 0
        with self.client.post("/v1/chat/completions", json={"model": "m", "messages": [], "stream": True}, stream=True, catch_response=True) as response:
            for line in response.iter_lines():
                if line:
                    count += 1
        self.environment.events.request.fire(request_type="tokens_per_second", name="tps", response_time=count / (time.perf_counter() - t0))  # error: 106
# --- langchain callback handler
import time
from langchain_core.callbacks import BaseCallbackHandler

class Speed(BaseCallbackHandler):
    def on_llm_start(self, *args, **kwargs):
        self.t0 = time.time()
        self.n = 0

    def on_llm_new_token(self, token, **kwargs):
        self.n += 1

    def on_llm_end(self, response, **kwargs):
        print("tokens/s", self.n / (time.time() - self.t0))  # error: 27
# --- langchain astream on a chain
import time
from langchain_openai import ChatOpenAI
from langchain_core.prompts import ChatPromptTemplate

llm = ChatOpenAI(model="x")
prompt = ChatPromptTemplate.from_template("{q}")
chain = prompt | llm

async def go(q):
    t, n = time.time(), 0
    async for piece in chain.astream({"q": q}):
        n += 1
    print("TPS:", n / (time.time() - t))  # error: 19
# --- responses api delta events
import time
from openai import OpenAI

def go(q):
    t0 = time.perf_counter()
    toks = 0
    with OpenAI().responses.stream(model="m", input=q) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                toks += 1
    return {"output_tps": toks / (time.perf_counter() - t0)}  # error: 27
# --- llama-index stream_chat
import time
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(model="m", api_base="x")

def go(msgs):
    t0 = time.time()
    n = 0
    for r in llm.stream_chat(msgs):
        n += 1
    print(f"{n/(time.time()-t0):.1f} tokens/s")  # error: 14
# --- tqdm with a unit of tokens, updated per chunk
from tqdm import tqdm

def go(client, q):
    with tqdm(unit="tok") as bar:
        for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
            bar.update(1)  # error: 13
# --- tqdm around the stream
from tqdm import tqdm

def go(client, q):
    s = client.chat.completions.create(model="m", messages=q, stream=True)
    for chunk in tqdm(s, unit=" tokens"):  # error: 18
        print(chunk)
# --- Counter per key
import time
from collections import Counter

def go(client, models, q):
    c = Counter()
    t0 = time.time()
    for m in models:
        for ch in client.chat.completions.create(model=m, messages=q, stream=True):
            c[m] += 1
    for m in models:
        print(m, c[m] / (time.time() - t0), "tok/s")  # error: 18
# --- per-second buckets, peak
import time
from collections import defaultdict

def go(client, q):
    buckets = defaultdict(int)
    t0 = time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        buckets[int(time.time() - t0)] += 1
    peak_tps = max(buckets.values())  # error: 16
    return peak_tps
# --- two counters added
import time

def go(client, q):
    think = answer = 0
    t0 = time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        d = ch.choices[0].delta
        if getattr(d, "reasoning_content", None):
            think += 1
        elif d.content:
            answer += 1
    speed = (think + answer) / (time.time() - t0)  # error: 13
    print(f"{speed:.1f} tokens/s")
# --- logging call
import logging, time
log = logging.getLogger(__name__)

def go(client, q):
    n, t0 = 0, time.monotonic()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    log.info("generated at %.2f tok/s", n / (time.monotonic() - t0))  # error: 41
# --- format method
import time

def go(client, q):
    n, t0 = 0, time.monotonic()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    print("Speed: {:.2f} tok/s".format(n / (time.monotonic() - t0)))  # error: 40
# --- datetime clock
from datetime import datetime

def go(client, q):
    start = datetime.now()
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    seconds = (datetime.now() - start).total_seconds()
    return dict(tokens_per_second=n / seconds)  # error: 35
# --- nanoseconds
import time

def go(client, q):
    a = time.perf_counter_ns()
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    ns = time.perf_counter_ns() - a
    return {"toks_per_s": n * 1e9 / ns}  # error: 27
# --- event loop clock
import asyncio

async def go(client, q):
    loop = asyncio.get_running_loop()
    a = loop.time()
    n = 0
    async for ch in await client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return {"tok/s": n / (loop.time() - a)}  # error: 22
# --- helper with keyword arguments, defined after use
import time

def go(client, q):
    a, n = time.time(), 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    print(rate(count=n, seconds=time.time() - a), "tok/s")

def rate(*, count, seconds):
    if not seconds:
        return 0
    return count / seconds  # error: 12
# --- callback closure
import time

def stream_chat(client, q, on_piece):
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        on_piece(ch.choices[0].delta.content)

def main(client, q):
    state = {"n": 0}

    def bump(piece):
        state["n"] += 1

    t0 = time.time()
    stream_chat(client, q, bump)
    print("tok/s:", state["n"] / (time.time() - t0))  # error: 21
# --- thread pool and futures
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

def work(client, q):
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return n

def main(client, qs):
    t0 = time.time()
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(work, client, q) for q in qs]
        total = 0
        for f in as_completed(futures):
            total += f.result()
    print("Total throughput (tokens/s):", total / (time.time() - t0))  # error: 43
# --- pool.map
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

def work(q, client=None):
    return sum(1 for _ in client.chat.completions.create(model="m", messages=q, stream=True))

def main(client, qs):
    t0 = time.time()
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(partial(work, client=client), qs))
    wall = time.time() - t0
    agg_tok_s = sum(counts) / wall  # error: 17
    return agg_tok_s
# --- pandas frame of results
import time
import pandas as pd

def one(client, q):
    n, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return {"tokens": n, "latency": time.time() - t0}

def main(client, qs):
    df = pd.DataFrame([one(client, q) for q in qs])
    df["tps"] = df["tokens"] / df["latency"]  # error: 17
    print(df.tokens.sum() / df.latency.sum(), "tok/s overall")  # error: 11
# --- numpy of counts
import time
import numpy as np

def main(client, qs):
    counts, times = [], []
    for q in qs:
        n, t0 = 0, time.time()
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
        counts.append(n)
        times.append(time.time() - t0)
    tps = np.array(counts) / np.array(times)  # error: 11
    print(tps.mean())
# --- renamed import and alias of the method
import time
from openai import OpenAI as Client

create = Client().chat.completions.create

def go(q):
    t, zahl = time.time(), 0
    for stück in create(model="m", messages=q, stream=True):
        zahl += 1
    geschwindigkeit = zahl / (time.time() - t)  # error: 23
    print(f"{geschwindigkeit:.1f} Token/s")
# --- partial of the SDK call
import time
from functools import partial
from openai import OpenAI

ask = partial(OpenAI().chat.completions.create, model="m", stream=True)

def go(q):
    t, n = time.time(), 0
    for ch in ask(messages=q):
        n += 1
    return {"decode_tokens_per_sec": n / (time.time() - t)}  # error: 38
# --- kwargs dict with stream True
import time

def go(client, q):
    kwargs = dict(model="m", messages=q, stream=True)
    t, n = time.time(), 0
    for ch in client.chat.completions.create(**kwargs):
        n += 1
    return {"tok_per_s": n / (time.time() - t)}  # error: 26
# --- counter reset per prompt in an outer loop
import time

def go(client, qs):
    for q in qs:
        n = 0
        t = time.time()
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            if ch.choices:
                n += 1
        print(f"{q}: {n / (time.time() - t):.1f} tok/s")  # error: 23
# --- stream is a parameter, used as chunks
import time

async def consume(stream):
    n_tokens, t = 0, time.perf_counter()
    async for ev in stream:
        if ev.choices[0].delta.content:
            n_tokens += 1
    return n_tokens / (time.perf_counter() - t)  # error: 12
# --- chinese names
import time

def 测速(client, 消息):
    开始 = time.time()
    数量 = 0
    for 块 in client.chat.completions.create(model="m", messages=消息, stream=True):
        数量 += 1
    print(f"生成速度: {数量 / (time.time() - 开始):.2f} tokens/秒")  # error: 20
# --- divided twice by helpers, unit conversion
import time

def per_minute(n, secs):
    return 60.0 * n / secs  # error: 12

def go(client, q):
    n, t = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    print("tokens per minute", per_minute(n, time.time() - t))
# --- with a class that wraps the stream
import time

class Counting:
    def __init__(self, inner):
        self.inner = inner
        self.count = 0
        self.t0 = time.time()

    def __iter__(self):
        for item in self.inner:
            self.count += 1
            yield item

    @property
    def tokens_per_second(self):
        return self.count / (time.time() - self.t0)  # error: 16

def go(client, q):
    s = Counting(client.chat.completions.create(model="m", messages=q, stream=True))
    for ch in s:
        print(ch)
    print(s.tokens_per_second)
# --- class with __next__
import time

class Counting:
    def __init__(self, inner):
        self.inner = iter(inner)
        self.seen = 0

    def __iter__(self):
        return self

    def __next__(self):
        item = next(self.inner)
        self.seen += 1
        return item

def go(client, q):
    t0 = time.time()
    s = Counting(client.chat.completions.create(model="m", messages=q, stream=True))
    for ch in s:
        print(ch)
    print("tok/s", s.seen / (time.time() - t0))  # error: 20
# --- contextmanager timer
import time
from contextlib import contextmanager

@contextmanager
def timer():
    box = {}
    t0 = time.perf_counter()
    yield box
    box["elapsed"] = time.perf_counter() - t0

def go(client, q):
    n = 0
    with timer() as t:
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
    return {"tps": n / t["elapsed"]}  # error: 20
# --- streamlit metric label
import time
import streamlit as st

def go(client, q):
    n, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    v = n / (time.time() - t0)  # error: 9
    st.metric("Tokens / s", f"{v:.1f}")
# --- websocket style raw socket, file object
import json, socket, time

def go(host, q):
    sock = socket.create_connection((host, 8000))
    f = sock.makefile("rb")
    t0 = time.time()
    generated = 0
    for line in f:
        if line.startswith(b"data: ") and b"[DONE]" not in line:
            generated += len(json.loads(line[6:])["choices"]) > 0
    gen_tps = generated / (time.time() - t0)  # error: 15
# --- sum over booleans of a list of chunks
import time

def go(client, q):
    t0 = time.time()
    chunks = [c for c in client.chat.completions.create(model="m", messages=q, stream=True)]
    n = sum(1 for c in chunks if c.choices and c.choices[0].delta.content)
    return {"tps": n / (time.time() - t0)}  # error: 20
# --- anthropic deltas
import time
import anthropic

def go(q):
    t0 = time.time()
    n = 0
    with anthropic.Anthropic().messages.stream(model="m", messages=q, max_tokens=9) as stream:
        for text in stream.text_stream:
            n += 1
    print(f"{n / (time.time() - t0):.1f} tok/s")  # error: 14
# --- conditional expression on zero
import time

def go(client, q):
    t0 = time.time(); c = 0
    for _ in client.completions.create(model="m", prompt=q, stream=True):
        c += 1
    e = time.time() - t0
    r = 0.0 if e <= 0 else round(c / e, 2)  # error: 34
    return {"tok_s": r}
# --- llmperf-like async actor with common metrics dict
import json, os, time
import requests

INTER_TOKEN_LAT, TTFT, E2E = "inter_token_latency_s", "ttft_s", "end_to_end_latency_s"
REQ_OUTPUT_THROUGHPUT = "request_output_throughput_token_per_s"
NUM_OUTPUT_TOKENS = "number_output_tokens"

class Client:
    def llm_request(self, cfg):
        body = {"model": cfg.model, "messages": cfg.messages, "stream": True}
        body.update(cfg.sampling_params or {})
        time_to_next_token = []
        tokens_received = 0
        ttft = 0
        generated_text = ""
        metrics = {}
        start_time = time.monotonic()
        most_recent_received_token_time = time.monotonic()
        address = os.environ.get("OPENAI_API_BASE")
        address += "chat/completions"
        with requests.post(address, json=body, stream=True, timeout=180) as response:
            for chunk in response.iter_lines(chunk_size=None):
                chunk = chunk.strip()
                if not chunk:
                    continue
                stem = "data: "
                chunk = chunk[len(stem):]
                if chunk == b"[DONE]":
                    continue
                tokens_received += 1
                data = json.loads(chunk)
                delta = data["choices"][0]["delta"]
                if delta.get("content", None):
                    if not ttft:
                        ttft = time.monotonic() - start_time
                        time_to_next_token.append(ttft)
                    else:
                        time_to_next_token.append(time.monotonic() - most_recent_received_token_time)
                    most_recent_received_token_time = time.monotonic()
                    generated_text += delta["content"]
        total_request_time = time.monotonic() - start_time
        output_throughput = tokens_received / total_request_time  # error: 29
        metrics[REQ_OUTPUT_THROUGHPUT] = output_throughput
        metrics[NUM_OUTPUT_TOKENS] = tokens_received
        return metrics
# --- open-webui style status line
import time
from openai import OpenAI

def chat_loop():
    client = OpenAI(base_url="http://localhost:1234/v1", api_key="lm-studio")
    history = []
    while True:
        history.append({"role": "user", "content": input("> ")})
        completion = client.chat.completions.create(model="local", messages=history, temperature=0.7, stream=True)
        new_message = {"role": "assistant", "content": ""}
        token_count = 0
        start = time.time()
        for chunk in completion:
            if chunk.choices[0].delta.content:
                print(chunk.choices[0].delta.content, end="", flush=True)
                new_message["content"] += chunk.choices[0].delta.content
                token_count += 1
        elapsed = time.time() - start
        print(f"\n[{token_count} tokens, {elapsed:.2f}s, {token_count/elapsed if elapsed else 0:.2f} t/s]")  # error: 59
        history.append(new_message)
# --- aiohttp session class, stats object with methods
import asyncio, aiohttp, json, time
from dataclasses import dataclass, field
from typing import List

@dataclass
class RequestStats:
    start: float
    first: float = None
    end: float = None
    n: int = 0

    def on_token(self):
        now = time.perf_counter()
        if self.first is None:
            self.first = now
        self.end = now
        self.n += 1

    @property
    def decode_tps(self):
        return (self.n - 1) / (self.end - self.first)  # error: 16

class Runner:
    def __init__(self, base):
        self.base = base
        self.stats: List[RequestStats] = []

    async def one(self, session, prompt):
        st = RequestStats(start=time.perf_counter())
        payload = {"model": "m", "prompt": prompt, "max_tokens": 128, "stream": True}
        async with session.post(f"{self.base}/v1/completions", json=payload) as resp:
            async for raw in resp.content:
                line = raw.decode("utf-8").strip()
                if line.startswith("data: ") and line != "data: [DONE]":
                    st.on_token()
        self.stats.append(st)

    def report(self):
        print("mean decode tps", sum(s.decode_tps for s in self.stats) / len(self.stats))
# --- total over wall kept on self
import asyncio, time

class Load:
    def __init__(self):
        self.total_tokens = 0

    async def worker(self, client, q):
        stream = await client.chat.completions.create(model="m", messages=q, stream=True)
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content is not None:
                self.total_tokens += 1

    async def run(self, client, qs):
        t0 = time.perf_counter()
        await asyncio.gather(*(self.worker(client, q) for q in qs))
        duration = time.perf_counter() - t0
        print(f"Aggregate: {self.total_tokens / duration:.1f} tok/s")  # error: 29
# --- results list of dicts, statistics mean of per-request tps
import statistics, time

def one(client, prompt):
    start = time.perf_counter(); first = None; n = 0
    for chunk in client.completions.create(model="m", prompt=prompt, stream=True):
        if first is None: first = time.perf_counter()
        n += 1
    end = time.perf_counter()
    return {"ttft": first - start, "tps": n / (end - first), "n": n}  # error: 43

def main(client, prompts):
    rs = [one(client, p) for p in prompts]
    print("mean tps", statistics.mean(r["tps"] for r in rs))
# --- argparse script with sys.stdout
import argparse, sys, time
import openai

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=3)
    args = ap.parse_args()
    client = openai.OpenAI()
    speeds = []
    for _ in range(args.n):
        begin, toks = time.perf_counter(), 0
        resp = client.chat.completions.create(model="x", messages=[{"role": "user", "content": "hi"}], stream=True)
        for event in resp:
            piece = event.choices[0].delta.content or ""
            if len(piece) > 0:
                toks = toks + 1
                sys.stdout.write(piece)
        speeds.append(toks / (time.perf_counter() - begin))  # error: 23
    print("avg", sum(speeds) / len(speeds), "tokens/sec")

if __name__ == "__main__":
    main()
# --- usage of islice and warmup
import itertools, time

def go(client, q):
    stream = client.chat.completions.create(model="m", messages=q, stream=True)
    list(itertools.islice(stream, 5))
    t0 = time.perf_counter()
    n = sum(1 for _ in stream)
    print(f"steady: {n / (time.perf_counter() - t0):.1f} tok/s")  # error: 22
# --- reduce
import functools, time

def go(client, q):
    t0 = time.perf_counter()
    n = functools.reduce(lambda acc, ch: acc + 1, client.chat.completions.create(model="m", messages=q, stream=True), 0)
    return {"tok_per_s": n / (time.perf_counter() - t0)}  # error: 26
# --- dict of lists per model
import collections, time

def go(client, models, q):
    stamps = collections.defaultdict(list)
    for m in models:
        for ch in client.chat.completions.create(model=m, messages=q, stream=True):
            stamps[m].append(time.perf_counter())
    for m, ts in stamps.items():
        print(m, "tok/s", len(ts) / (ts[-1] - ts[0]))  # error: 27
# --- gradio generator with a status string
import time
import gradio as gr
from openai import OpenAI

client = OpenAI()

def respond(message, history):
    start, n, text = time.time(), 0, ""
    for chunk in client.chat.completions.create(model="m", messages=[{"role": "user", "content": message}], stream=True):
        delta = chunk.choices[0].delta
        if delta and delta.content:
            text += delta.content
            n += 1
            yield text, f"{n / max(time.time() - start, 1e-6):.1f} tokens/s"  # error: 28

gr.ChatInterface(respond).launch()
# --- fastapi websocket relay
import time
from fastapi import FastAPI, WebSocket

app = FastAPI()

@app.websocket("/chat")
async def chat(ws: WebSocket):
    await ws.accept()
    t, sent = time.monotonic(), 0
    async for chunk in await app.state.client.chat.completions.create(model="m", messages=[], stream=True):
        await ws.send_text(chunk.choices[0].delta.content or "")
        sent += 1
    await ws.send_json({"tokens_per_second": sent / (time.monotonic() - t)})  # error: 46
# --- sort of histogram by second list
import time

def go(client, q):
    t0 = time.time()
    per_second = [0] * 60
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        per_second[int(time.time() - t0)] += 1
    print("peak tok/s:", max(per_second))  # error: 26
# --- np.histogram of arrivals
import time
import numpy as np

def go(client, q):
    at = []
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        at.append(time.time())
    counts, _ = np.histogram(at, bins=np.arange(at[0], at[-1] + 1))
    peak_tps = counts.max()  # error: 16
    return peak_tps
# --- french
import time

def mesurer(client, texte):
    debut = time.time()
    nb_jetons = 0
    for morceau in client.chat.completions.create(model="m", messages=texte, stream=True):
        if morceau.choices[0].delta.content:
            nb_jetons += 1
    duree = time.time() - debut
    vitesse = nb_jetons / duree  # error: 15
    print(f"Vitesse : {vitesse:.1f} jetons/s")
# --- protocol class and await of a wrapped iterator
import asyncio, time

class Timed:
    def __init__(self, it):
        self.it = it.__aiter__()
        self.count = 0
        self.begin = time.perf_counter()

    def __aiter__(self):
        return self

    async def __anext__(self):
        x = await self.it.__anext__()
        self.count += 1
        return x

    def tok_s(self):
        return self.count / (time.perf_counter() - self.begin)  # error: 16

async def go(client, q):
    t = Timed(await client.chat.completions.create(model="m", messages=q, stream=True))
    async for ch in t:
        print(ch)
    print(t.tok_s())
# --- early break on max tokens
import time

def go(client, q, limit):
    n, t0 = 0, time.perf_counter()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
        if n >= limit:
            break
    tps = limit / (time.perf_counter() - t0)
    rate = n / (time.perf_counter() - t0)  # error: 12
    return tps, {"tokens_per_sec": rate}
# --- multiprocess style results through a module function
import time
from multiprocessing import Pool
from openai import OpenAI

def job(q):
    c, t0 = 0, time.time()
    for _ in OpenAI().chat.completions.create(model="m", messages=q, stream=True):
        c += 1
    return c, time.time() - t0

if __name__ == "__main__":
    with Pool(4) as p:
        out = p.map(job, [[]] * 8)
    tokens = sum(x[0] for x in out)
    seconds = max(x[1] for x in out)
    print(f"{tokens} tokens in {seconds}s: {tokens / seconds} tok/s")  # error: 45
# --- try finally logging
import logging, time

logger = logging.getLogger("x")

async def relay(client, q):
    n, t0 = 0, time.perf_counter()
    try:
        async for ch in await client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
            yield ch
    finally:
        dt = time.perf_counter() - t0
        logger.info("stream done: %d tokens, %.2f s, %.1f tok/s", n, dt, n / dt if dt > 0 else 0)  # error: 74
# --- walrus, ternary count
import time

def go(client, q):
    t0, k = time.time(), 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        k += 1 if (c := ch.choices[0].delta.content) else 0
    print("%s tok/s" % round(k / (time.time() - t0), 2))  # error: 30
# --- json line output
import json, time

def go(client, q):
    ev = []
    t0 = time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        ev.append((time.time() - t0, ch.choices[0].delta.content))
    print(json.dumps({"output_tokens_per_second": len(ev) / ev[-1][0]}))  # error: 51
# --- near: honest chunk rate
import time

def go(client, q):
    n, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return {"chunks_per_second": n / (time.time() - t0)}
# --- near: events per second printed
import time

def go(client, q):
    events, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        events += 1
    print(f"{events / (time.time() - t0):.1f} SSE events/s")
# --- near: rate from usage, chunks counted beside it
import time

def go(client, q):
    n_chunks, usage, t0 = 0, None, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        n_chunks += 1
        if ch.usage:
            usage = ch.usage
    dt = time.time() - t0
    print(f"{usage.completion_tokens / dt:.1f} tok/s, {n_chunks} chunks, {n_chunks / dt:.1f} chunks/s")
# --- near: counter overwritten by usage
import time

def go(client, q):
    tokens, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        tokens += 1
        if ch.usage:
            final = ch.usage.completion_tokens
    tokens = final
    return {"tps": tokens / (time.time() - t0)}
# --- near: average tokens per chunk
import time

def go(client, q):
    n, usage = 0, None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        n += 1
        usage = ch.usage or usage
    return {"tokens_per_chunk": usage.completion_tokens / n}
# --- near: requests per second in a harness
import time

def go(client, qs):
    done, t0 = 0, time.time()
    for q in qs:
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            pass
        done += 1
    print(f"throughput: {done / (time.time() - t0):.2f} req/s")
# --- near: requests per second with a neutral name
import time

def go(client, qs):
    finished, t0 = 0, time.time()
    for q in qs:
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            print(ch)
        finished += 1
    rate = finished / (time.time() - t0)
    return rate
# --- near: latency mean over requests
import time

def go(client, qs):
    lat = []
    for q in qs:
        t0 = time.time()
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            pass
        lat.append(time.time() - t0)
    avg_latency = sum(lat) / len(lat)
    return avg_latency
# --- near: non-streamed usage
import time

def go(client, q):
    t0 = time.time()
    r = client.chat.completions.create(model="m", messages=q)
    tps = r.usage.completion_tokens / (time.time() - t0)
    return tps
# --- near: tokenizer on every piece joined
import time
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("x")

def go(client, q):
    out, t0 = [], time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        out.append(ch.choices[0].delta.content or "")
    n = len(tokenizer("".join(out)).input_ids)
    return {"tok_s": n / (time.time() - t0)}
# --- near: count_tokens helper
import time
from myutil import count_tokens

def go(client, q):
    out, t0 = "", time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        out += ch.choices[0].delta.content or ""
    n_tokens = count_tokens(out)
    return n_tokens / (time.time() - t0)
# --- near: token ids extended
import time

def go(client, q):
    ids, t0 = [], time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, extra_body={"return_token_ids": True}):
        ids.extend(ch.choices[0].token_ids)
    return {"tok_s": len(ids) / (time.time() - t0)}
# --- near: ollama eval count
import time, requests, json

def go(q):
    with requests.post("http://localhost:11434/api/generate", json={"model": "m", "prompt": q, "stream": True}, stream=True) as r:
        for line in r.iter_lines():
            d = json.loads(line)
            if d["done"]:
                print("tok/s", d["eval_count"] / d["eval_duration"] * 1e9)
# --- near: download progress in an LLM program
import time, requests
from openai import OpenAI

client = OpenAI()

def fetch(url, path):
    t0, n = time.time(), 0
    with requests.get(url, stream=True) as r, open(path, "wb") as f:
        for block in r.iter_content(8192):
            f.write(block)
            n += 1
    print("speed", n * 8192 / (time.time() - t0) / 1e6, "MB/s")
# --- near: rows of a dataset
import time
from openai import OpenAI

client = OpenAI()

def go(rows):
    t0, n = time.time(), 0
    for row in rows:
        client.chat.completions.create(model="m", messages=row["messages"])
        n += 1
    print(f"{n / (time.time() - t0):.2f} samples/s")
# --- near: training throughput in tokens
import time

def train(loader, model):
    t0, tokens = time.time(), 0
    for batch in loader:
        loss = model(batch["input_ids"]).loss
        tokens += batch["input_ids"].numel()
    print("tokens/s", tokens / (time.time() - t0))
# --- near: engine step loop
import time

def loop(engine):
    t0, n_tokens = time.time(), 0
    while engine.has_unfinished_requests():
        for out in engine.step():
            n_tokens += len(out.outputs[0].token_ids)
    print("tok/s", n_tokens / (time.time() - t0))
# --- near: counter without a rate
def go(client, q):
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    print("received", n, "tokens")
# --- near: percent of empty chunks
def go(client, q):
    n = empty = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
        if not ch.choices:
            empty += 1
    print(f"{100 * empty / n:.1f} % empty, {n / 2} pairs")
# --- near: completed responses, not chunks
import time

def go(responses, t0):
    n = 0
    for r in responses:
        print(r.choices[0].message.content)
        n += 1
    print("rate", n / (time.time() - t0))
# --- near: words per minute of speech
import time

def speak(words, engine):
    t0, n = time.time(), 0
    for w in words:
        engine.say(w)
        n += 1
    print("wpm", n / (time.time() - t0) * 60)
# --- near: polling attempts while waiting for a server
import time, httpx

def wait(url):
    t0, tries = time.time(), 0
    while time.time() - t0 < 60:
        tries += 1
        try:
            httpx.get(url + "/v1/models")
            break
        except Exception:
            time.sleep(1)
    print("took", (time.time() - t0) / tries, "s per try")
# --- near: counted tokens from a server metric
import time

def go(client, q):
    before = scrape("vllm:generation_tokens_total")
    t0 = time.time()
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    tokens = scrape("vllm:generation_tokens_total") - before
    print(f"{tokens / (time.time() - t0)} tok/s in {n} chunks")
# --- near: usage through a dict
import time, json, requests

def go(url, q):
    t0, completion, n = time.time(), 0, 0
    with requests.post(url + "/v1/chat/completions", json={"model": "m", "messages": q, "stream": True, "stream_options": {"include_usage": True}}, stream=True) as r:
        for raw in r.iter_lines():
            if not raw.startswith(b"data: {"):
                continue
            n += 1
            data = json.loads(raw[6:])
            if data.get("usage"):
                completion = data["usage"]["completion_tokens"]
    return {"tps": completion / (time.time() - t0), "n_chunks": n}
# --- near: chunk stats named so on an object
import time

class ChunkStats:
    def __init__(self):
        self.chunks = 0
        self.t0 = time.time()

    def add(self):
        self.chunks += 1

    def rate(self):
        return self.chunks / (time.time() - self.t0)

def go(client, q):
    s = ChunkStats()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        s.add()
    print(s.rate(), "chunks/s")
# --- near: tokens from usage on an object
import time

class Stats:
    def __init__(self):
        self.tokens = 0
        self.t0 = time.time()

    def rate(self):
        return self.tokens / (time.time() - self.t0)

def go(client, q):
    s = Stats()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        if ch.usage:
            s.tokens = ch.usage.completion_tokens
    print(s.rate(), "tok/s")
# --- near: tokens summed from usage across requests
import time

def go(client, qs):
    total, t0 = 0, time.time()
    for q in qs:
        n = 0
        for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
            n += 1
            if ch.usage is not None:
                total += ch.usage.completion_tokens
    print("throughput", total / (time.time() - t0), "tok/s")
# --- near: continuous usage overwritten each chunk
import time

def go(client, q):
    tokens, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True}):
        tokens = ch.usage.completion_tokens
        print("tok/s", tokens / (time.time() - t0))
# --- near: rows per second when saving
import time, csv

def save(client, rows, path):
    t0 = time.time()
    with open(path, "w") as f:
        w = csv.writer(f)
        count = 0
        for r in rows:
            w.writerow(r)
            count += 1
    print(f"{count / (time.time() - t0):.0f} rows/s")
    for ch in client.chat.completions.create(model="m", messages=[], stream=True):
        print(ch)
# --- near: success rate of requests
import time

def go(client, qs):
    ok = 0
    for q in qs:
        try:
            for ch in client.chat.completions.create(model="m", messages=q, stream=True):
                pass
            ok += 1
        except Exception:
            pass
    print("success rate", ok / len(qs))
# --- near: time to first chunk average
import time

def go(client, qs):
    total = 0.0
    for q in qs:
        t0 = time.time()
        for i, ch in enumerate(client.chat.completions.create(model="m", messages=q, stream=True)):
            if i == 0:
                total += time.time() - t0
    print("avg ttft", total / len(qs))
# --- near: a progress fraction
def go(client, q, max_tokens):
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
        print(f"{n / max_tokens:.0%}")
# --- near: retokenised by a local function
import time

def num_tokens(text, tok):
    return len(tok.encode(text))

def go(client, tok, q):
    t0, parts = time.time(), []
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        parts.append(ch.choices[0].delta.content or "")
    return {"tps": num_tokens("".join(parts), tok) / (time.time() - t0)}
# --- near: bandwidth
import time, requests

def go(url, body):
    n, t0 = 0, time.time()
    with requests.post(url + "/v1/chat/completions", json={**body, "stream": True}, stream=True) as r:
        for b in r.iter_content(1024):
            n += len(b)
    print(n / (time.time() - t0), "bytes/s")
# --- near: speedup of two measured rates
def compare(base, spec):
    return spec["tokens_per_second"] / base["tokens_per_second"]

def go(client, q):
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        print(ch)
# --- near: number of chunks over number of requests
def go(client, qs):
    n = 0
    for q in qs:
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
    print("average per request", n / len(qs))
# --- near: iterations of an agent loop
import time

def agent(client, task):
    t0, turns = time.time(), 0
    while True:
        turns += 1
        text = ""
        for ch in client.chat.completions.create(model="m", messages=task, stream=True):
            text += ch.choices[0].delta.content or ""
        if "DONE" in text:
            break
    print(f"{turns} turns, {(time.time() - t0) / turns:.1f} s per turn")
# --- a function's name says what it does, not what it returns
import json, time, urllib.request

def call(url, prompt):
    data = json.dumps({"model": "m", "prompt": prompt, "stream": True}).encode()
    request = urllib.request.Request(url + "/v1/completions", data=data)
    tokens = 0
    start = time.time()
    with urllib.request.urlopen(request) as response:
        while True:
            line = response.readline()
            if not line:
                break
            if line.startswith(b"data: {"):
                tokens += 1
    return tokens / (time.time() - start)  # error: 12
# --- usage on the way without streaming does not mend the count on the other
import time
from dataclasses import dataclass

@dataclass
class Result:
    seconds: float
    output_tokens: int = 0

    @property
    def tokens_per_second(self):
        return self.output_tokens / self.seconds  # error: 16

def streamed(client, q):
    start, count = time.perf_counter(), 0
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        count += 1
    return Result(seconds=time.perf_counter() - start, output_tokens=count)

def whole(client, q):
    start = time.perf_counter()
    answer = client.chat.completions.create(model="m", messages=q)
    return Result(
        seconds=time.perf_counter() - start,
        output_tokens=answer.usage.completion_tokens,
    )
# --- near: usage where it is there, the count where it is not (SPD902)
import time
from dataclasses import dataclass

@dataclass
class Result:
    seconds: float
    output_tokens: int = 0

    @property
    def tokens_per_second(self):
        return self.output_tokens / self.seconds

def streamed(client, q):
    start, count, usage = time.perf_counter(), 0, None
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        count += 1
        usage = chunk.usage or usage
    tokens = usage.completion_tokens if usage else count
    return Result(seconds=time.perf_counter() - start, output_tokens=tokens)
# --- near: arrivals spread over usage, else one token a chunk (SPD902)
import time

def spread(times, n):
    step = (times[-1] - times[0]) / (n - 1)
    return [times[0] + step * i for i in range(n)]

def go(client, q):
    times, num_tokens = [], None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        if ch.usage:
            num_tokens = ch.usage.completion_tokens
        times.append(time.perf_counter())
    arrivals = spread(times, num_tokens) if num_tokens else times
    return {"tok_s": len(arrivals) / (times[-1] - times[0])}
# --- near: sliding window over arrivals spread over usage (SPD902)
import time

def peak(stamps, window=1.0):
    first, best = 0, 0
    for last, at in enumerate(stamps):
        while stamps[first] <= at - window:
            first += 1
        best = max(best, last - first + 1)
    return best / window

def go(client, q):
    times, usage = [], None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        usage = ch.usage or usage
        times.append(time.perf_counter())
    stamps = [times[0]] * usage.completion_tokens if usage else times
    peak_tokens_per_second = peak(stamps)
    return peak_tokens_per_second
# --- usage is known, and the arrivals are still one a chunk
import time

def go(client, q):
    times, num_tokens = [], None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        if ch.usage:
            num_tokens = ch.usage.completion_tokens
        times.append(time.perf_counter())
    shown = [times[0] + i for i in range(num_tokens or 0)]
    return {"shown": shown, "tok_s": (len(times) - 1) / (times[-1] - times[0])}  # error: 38
# --- a window of as many chunks as the prompt has tokens
import time

def go(client, q, limits):
    times, t0 = [], time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        times.append(time.time())
    padding = [0.0] * limits
    return {"padding": padding, "tokens_per_second": len(times) / (time.time() - t0)}  # error: 54
# --- nothing but a variable called a stream, in a file that imports the client
import time
from openai import Stream

def measure(stream: Stream):
    n_tokens, t0 = 0, time.time()
    for _ in stream:
        n_tokens += 1
    return {"tok_s": n_tokens / (time.time() - t0)}  # error: 22
# --- the same, handed to a function that counts
import time
from openai import Stream

def measure(stream: Stream):
    t0 = time.time()
    n_tokens = len(list(stream))
    return {"tok_s": n_tokens / (time.time() - t0)}  # error: 22
# --- near: a stream that is never read
from openai import Stream

def measure(stream: Stream, n_tokens, seconds):
    assert isinstance(stream, Stream)
    return {"tok_s": n_tokens / seconds}
# --- a decorator that times any generator
import functools, logging, time
from openai import OpenAI

def timed(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        start, tokens = time.perf_counter(), 0
        for piece in function(*args, **kwargs):
            tokens += 1
            yield piece
        logging.info("%.1f tokens/s", tokens / (time.perf_counter() - start))  # error: 39
    return inner

@timed
def generate(prompt):
    for chunk in OpenAI().chat.completions.create(model="m", messages=prompt, stream=True):
        yield chunk.choices[0].delta.content or ""
# --- langgraph, a message a chunk
import time
from langgraph.prebuilt import create_react_agent

async def run(model, question):
    agent = create_react_agent(model, tools=[])
    start, n_tokens = time.time(), 0
    async for message, meta in agent.astream({"messages": question}, stream_mode="messages"):
        n_tokens += bool(message.content)
    print("TPS:", n_tokens / (time.time() - start))  # error: 19
# --- near: langgraph, a step of the graph at a time
import time
from langgraph.prebuilt import create_react_agent

async def run(model, question):
    agent = create_react_agent(model, tools=[])
    start, n = time.time(), 0
    async for update in agent.astream({"messages": question}, stream_mode="updates"):
        n += 1
    print("speed:", n / (time.time() - start))
# --- pydantic-ai, deltas of the text
import time
from pydantic_ai import Agent

async def run(question):
    n = 0
    async with Agent("openai:m").run_stream(question) as result:
        start = time.perf_counter()
        async for delta in result.stream_text(delta=True):
            n += 1
        print(f"{n / (time.perf_counter() - start):.1f} tok/s")  # error: 18
# --- dspy
import time
import dspy

async def run(question):
    program = dspy.streamify(dspy.Predict("q -> a"))
    start, tokens = time.time(), 0
    async for part in program(q=question):
        tokens += isinstance(part, dspy.streaming.StreamResponse)
    print("tok/s", tokens / (time.time() - start))  # error: 20
# --- autogen
import time
from autogen_ext.models.openai import OpenAIChatCompletionClient

async def run(messages):
    client = OpenAIChatCompletionClient(model="m")
    start, texts = time.time(), []
    async for item in client.create_stream(messages):
        texts.append(item)
    print("Tokens/s:", len(texts) / (time.time() - start))  # error: 24
# --- google's client
import time
from google import genai

def run(prompt):
    n, start = 0, time.time()
    for chunk in genai.Client().models.generate_content_stream(model="m", contents=prompt):
        n += 1
    print(f"{n / (time.time() - start):.2f} tok/s")  # error: 14
# --- a web socket that is written to first
import json, time
import websockets

async def run(url):
    async with websockets.connect(url) as socket:
        await socket.send(json.dumps({"type": "response.create"}))
        n, start = 0, time.time()
        async for message in socket:
            event = json.loads(message)
            n += event["type"] == "response.text.delta"
        print("tok/s", n / (time.time() - start))  # error: 24
# --- results of a pool, unzipped
import time
from concurrent.futures import ThreadPoolExecutor
from openai import OpenAI

def ask(prompt):
    start = time.time()
    pieces = [c.choices[0].delta.content for c in OpenAI().chat.completions.create(model="m", messages=prompt, stream=True)]
    return len(pieces), time.time() - start

def main(prompts):
    with ThreadPoolExecutor() as pool:
        counts, seconds = zip(*pool.map(ask, prompts))
    print("total tok/s:", sum(counts) / max(seconds))  # error: 27
# --- columns of a frame, named beside the rows
import time
import pandas as pd
import polars as pl

def bench(client, prompts):
    rows = []
    for prompt in prompts:
        start, k = time.perf_counter(), 0
        for chunk in client.chat.completions.create(model="m", messages=prompt, stream=True):
            k += 1
        rows.append((prompt, k, time.perf_counter() - start))
    df = pd.DataFrame(rows, columns=["prompt", "tokens", "latency"])
    df = df.assign(tps=lambda d: d.tokens / d.latency)  # error: 34
    other = pl.DataFrame(rows, schema=["prompt", "tokens", "latency"])
    return df, other.with_columns((pl.col("tokens") / pl.col("latency")).alias("tok_s"))  # error: 36
# --- near: requests a second, where the body of a refusal is read
import time
import aiohttp

async def send(session, body, url, results):
    async with session.post(f"{url}/v1/chat/completions", json={**body, "stream": True}) as r:
        if r.status != 200:
            raise RuntimeError(await r.read())
        usage = None
        async for line in r.content:
            usage = parse(line) or usage
    return usage

async def work(session, bodies, url):
    results, start = [], time.perf_counter()
    while bodies:
        results.append(await send(session, bodies.pop(), url, results))
    duration = time.perf_counter() - start
    return {"throughput": len(results) / duration, "tok_s": sum(u["completion_tokens"] for u in results) / duration}
# --- near: the place of a percentile in a sorted list of gaps
import time

def percentile(ordered, q):
    place = (len(ordered) - 1) * q / 100
    low = int(place)
    return ordered[low] + (ordered[low + 1] - ordered[low]) * (place - low)

def run(client, q):
    arrivals, usage, first = [], None, None
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        arrivals.append(time.perf_counter())
        usage = chunk.usage or usage
    tps_p50 = percentile(arrivals, 50)
    return tps_p50
# --- near: one helper for rates of chunks and of tokens
import statistics, time

def spread(values):
    return {"p50": statistics.median(values), "mean": statistics.fmean(values)}

def run(client, questions):
    chunk_rates, token_rates = [], []
    for q in questions:
        n, usage, start = 0, None, time.perf_counter()
        for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
            usage = chunk.usage or usage
        seconds = time.perf_counter() - start
        chunk_rates.append(n / seconds)
        token_rates.append(usage.completion_tokens / seconds)
    chunks, tokens = spread(chunk_rates), spread(token_rates)
    print(f"{chunks['p50']:.1f} chunks/s, {tokens['p50']:.1f} tok/s")
# --- near: one table of rates of chunks and of tokens
import statistics, time

def run(client, questions):
    chunk_rates, token_rates = [], []
    for q in questions:
        n, usage, start = 0, None, time.perf_counter()
        for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
            usage = chunk.usage or usage
        seconds = time.perf_counter() - start
        chunk_rates.append(n / seconds)
        token_rates.append(usage.completion_tokens / seconds)
    out = {}
    for name, values in {"chunks_per_s": chunk_rates, "tok_per_s": token_rates}.items():
        out[name] = statistics.median(values)
    print(out["tok_per_s"], out["chunks_per_s"])
# --- two functions of one name, as in two cells of a notebook
import time

def speed(client, q):
    start, n = time.time(), 0
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return {"tok_s": n / (time.time() - start)}  # error: 22

def speed(client, q):
    start, usage = time.time(), None
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        usage = chunk.usage or usage
    return {"tok_s": usage.completion_tokens / (time.time() - start)}
# --- two classes of one name, and a method beside its setter
import time

class Meter:
    def run(self, client, q):
        start, n = time.time(), 0
        for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
        self.tok_s = n / (time.time() - start)  # error: 22

class Meter:
    @property
    def speed(self):
        start, n = time.time(), 0
        for chunk in self.client.chat.completions.create(model="m", messages=self.q, stream=True):
            n += 1
        return f"{n / (time.time() - start):.1f} tok/s"  # error: 19

    @speed.setter
    def speed(self, value):
        self.given = value
# --- where a library is missing
import time
try:
    import uvloop
    def speed(client, q):
        return None
except ImportError:
    def speed(client, q):
        start, n = time.time(), 0
        for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
            n += 1
        return {"tok_s": n / (time.time() - start)}  # error: 26
# --- peak of arrivals in a list of records, known by its annotation
import time
import numpy as np
from dataclasses import dataclass, field
from typing import List

@dataclass
class Result:
    sent_at: float = 0.0
    ttft: float = 0.0
    gaps: List[float] = field(default_factory=list)

async def ask(session, url, body):
    result = Result()
    last = result.sent_at = time.perf_counter()
    async with session.post(url + "/v1/completions", json={**body, "stream": True}) as r:
        async for line in r.content:
            now = time.perf_counter()
            result.gaps.append(now - last)
            last = now
    return result

def summary(results: List[Result], seconds: int):
    tokens_per_second = np.zeros(seconds)
    for result in results:
        at, arrivals = result.sent_at + result.ttft, []
        for gap in result.gaps:
            at += gap
            arrivals.append(at)
        for arrival in arrivals:
            tokens_per_second[int(arrival)] += 1
    return {"max_output_tokens_per_s": float(np.max(tokens_per_second))}  # error: 46
# --- near: the same, where each gap is spread over its tokens
import time
import numpy as np
from dataclasses import dataclass, field
from typing import List

@dataclass
class Result:
    sent_at: float = 0.0
    gaps: List[float] = field(default_factory=list)

async def ask(session, url, body):
    result, num = Result(), 0
    last = result.sent_at = time.perf_counter()
    async with session.post(url + "/v1/completions", json={**body, "stream": True}) as r:
        async for line in r.content:
            now = time.perf_counter()
            new = parse(line)["usage"]["completion_tokens"] - num
            result.gaps.extend([(now - last) / new] * new)
            last, num = now, num + new
    return result

def summary(results: List[Result], seconds: int):
    tokens_per_second = np.zeros(seconds)
    for result in results:
        at = result.sent_at
        for gap in result.gaps:
            at += gap
            tokens_per_second[int(at)] += 1
    return {"max_output_tokens_per_s": float(np.max(tokens_per_second))}
# --- after the end of a notebook that is run so far
import time
raise SystemExit("not further")
def run(client, q):
    n, t0 = 0, time.time()
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return n, time.time() - t0
n, seconds = run(client, q)
print(f"{n / seconds} tok/s")  # error: 10
# --- records whose class is made by a call
import time
from collections import namedtuple
from dataclasses import make_dataclass
from typing import NamedTuple

Result = namedtuple("Result", "ttft tokens wall")
Timed = NamedTuple("Timed", [("num_tokens", int), ("seconds", float)])
Counted = make_dataclass("Counted", ["output_tokens", ("took", float)])

def bench(client, prompt):
    begin = time.monotonic()
    first, n = None, 0
    for c in client.completions.create(model="m", prompt=prompt, stream=True):
        first = first or time.monotonic()
        n += 1
    return Result(first - begin, n, time.monotonic() - begin)

def main(client):
    r = bench(client, "x")
    print("%.1f tokens/s" % (r.tokens / r.wall))  # error: 30
    timed = Timed(r.tokens, seconds=r.wall)
    print(timed.num_tokens / timed.seconds)  # error: 11
    _, tokens, wall = r
    counted = Counted(tokens, wall)
    return counted.output_tokens / counted.took  # error: 12
# --- near: records whose class is made by a call, filled from usage
import time
from collections import namedtuple

Result = namedtuple("Result", ["chunks", "tokens", "wall"])

def bench(client, prompt):
    begin, n, usage = time.monotonic(), 0, None
    for c in client.completions.create(model="m", prompt=prompt, stream=True):
        n += 1
        usage = c.usage or usage
    return Result(n, usage.completion_tokens, time.monotonic() - begin)

def main(client):
    r = bench(client, "x")
    print("%.1f tokens/s" % (r.tokens / r.wall), "%.1f chunks/s" % (r.chunks / r.wall))
# --- a partial of itself, and one of a partial
import time
from functools import partial
def rate(client, prompt, scale):
    start, n = time.time(), 0
    for chunk in client.chat.completions.create(model="m", messages=prompt, stream=True):
        n += 1
    return {"tok_s": scale * n / (time.time() - start)}  # error: 22
def ask(client, prompt):
    measure = partial(rate, client)
    for option in (prompt,):
        measure = partial(measure, option)
    measure = partial(measure, scale=2)
    return measure()
# --- totals kept by class methods
import time

class Totals:
    tokens = 0
    seconds = 0.0

    @classmethod
    def add(cls, n, seconds):
        cls.tokens += n
        cls.seconds += seconds

    @classmethod
    def speed(cls):
        return f"{cls.tokens / cls.seconds:.1f} tok/s"  # error: 19

def one(client, p):
    t, n = time.time(), 0
    for chunk in client.completions.create(model="m", prompt=p, stream=True):
        n += 1
    Totals.add(n, time.time() - t)
# --- a constructor that is a class method
import time
from dataclasses import dataclass

@dataclass
class Run:
    tokens: int
    seconds: float

    @classmethod
    def of(cls, stream):
        t, n = time.time(), 0
        for chunk in stream:
            n += 1
        return cls(n, time.time() - t)

def main(client, q):
    run = Run.of(client.completions.create(model="m", prompt=q, stream=True))
    return {"tok_s": run.tokens / run.seconds}  # error: 22
# --- near: totals kept by class methods, from usage
import time

class Totals:
    tokens = chunks = 0
    seconds = 0.0

    @classmethod
    def add(cls, n, num, seconds):
        cls.chunks += n
        cls.tokens += num
        cls.seconds += seconds

    @classmethod
    def speed(cls):
        return f"{cls.tokens / cls.seconds:.1f} tok/s, {cls.chunks / cls.seconds} chunks/s"

def one(client, p):
    t, n, usage = time.time(), 0, None
    for chunk in client.completions.create(model="m", prompt=p, stream=True):
        n += 1
        usage = chunk.usage or usage
    Totals.add(n, usage.completion_tokens, time.time() - t)
# --- an own client that streams, counted as tokens
import time

class Trial:
    async def speech_to_answer(self, text):
        started, first, received = time.time(), None, 0
        async for token in self.assistant.stream_reply(text):
            first = first or time.time()
            received += 1
        tokens_per_second = received / (time.time() - started)  # error: 29
        return first - started, tokens_per_second
# --- an own client, made by another file, into a variable
import time
from .providers import make_client

def tok_per_s(prompt):
    client = make_client("fast")
    answer, count, t0 = client.chat_stream(prompt), 0, time.perf_counter()
    for _piece in answer:
        count += 1
    print(f"{count / (time.perf_counter() - t0):.1f} tok/s")  # error: 14
# --- near: an engine in this process yields a token a turn
import time
import torch

def speed(service, prompt):
    n, t0 = 0, time.perf_counter()
    for _ in service.stream_chat(prompt):
        n += 1
    print(f"{n / (time.perf_counter() - t0):.1f} tok/s")
# --- near: an own client whose chunks are called so
import time

def speed(provider, prompt):
    chunks, t0 = 0, time.perf_counter()
    for _ in provider.stream_chat(prompt):
        chunks += 1
    print(f"prompt of {len(prompt)}: {chunks / (time.perf_counter() - t0):.1f} chunks/s")
# --- near: a stream of tokens of a language
import time

def speed(lexer, prompt):
    n, t0 = 0, time.perf_counter()
    for _ in lexer.stream_tokens(prompt):
        n += 1
    print(f"{n / (time.perf_counter() - t0):.1f} tokens/s")
# --- near: sound, in pieces
import time

def speed(client, messages):
    tokens, t0 = 0, time.perf_counter()
    for _ in client.speech.stream_response(messages):
        tokens += 1
    print(f"{tokens / (time.perf_counter() - t0):.1f} tok/s")
# --- an endpoint of somebody's own, whose events carry a token each
import json, time
import httpx

def tps(base, question):
    t0, tokens = time.time(), 0
    with httpx.stream("POST", f"{base}/ask", json={"prompt": question}) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: ") and "token" in json.loads(line[6:]):
                tokens += 1
    return tokens / (time.time() - t0)  # error: 12
# --- near: events of an engine's own endpoint
import json, time
import httpx

def tps(base, question):
    t0, tokens = time.time(), 0
    with httpx.stream("POST", f"{base}/generate_stream", json={"prompt": question}) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: ") and "token" in json.loads(line[6:]):
                tokens += 1
    return tokens / (time.time() - t0)
# --- a body of events, read whole and split
import json, time, urllib.request

def run(url, q):
    body = json.dumps({"messages": q, "stream": True}).encode()
    t0 = time.time()
    with urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", body)) as answer:
        text = answer.read().decode()
    secs, n = time.time() - t0, 0
    for line in text.split("\n"):
        n += line.startswith("data: {")
    return {"tok_s": n / secs}  # error: 22
# --- a body of events, read whole by requests
import time, requests

def run(url, q):
    t0 = time.time()
    answer = requests.post(url + "/v1/chat/completions", json={"messages": q, "stream": True})
    secs = time.time() - t0
    events = [part for part in answer.text.split("\n\n") if part.startswith("data: ")]
    print(len(events) / secs, "tokens/s")  # error: 11
# --- near: lines of a text that no stream sent
import time

def run(path, prompt):
    t0, tokens = time.time(), 0
    for line in open(path).read().split("\n"):
        tokens += line.startswith("data: ")
    print(tokens / (time.time() - t0), "tokens/s")
# --- the events of a graph's models
import time

async def answer(graph, state):
    t0, tokens = time.time(), 0
    async for event in graph.astream_events(state, version="v2"):
        if event["event"] == "on_chat_model_stream":
            tokens += 1
            yield event["data"]["chunk"].content
    yield f"{tokens / (time.time() - t0):.1f} tok/s"  # error: 14
# --- what a generator returns in the end
import time

def talk(client, q):
    n = 0
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
        yield ev
    return n

def timed(client, q):
    t0 = time.time()
    n = yield from talk(client, q)
    print("tok/s", n / (time.time() - t0))  # error: 20
# --- near: a generator that returns the tokens
import time

def talk(client, q):
    n = 0
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        n = ev.usage.completion_tokens
        yield ev
    return n

def timed(client, q):
    t0 = time.time()
    n = yield from talk(client, q)
    print("tok/s", n / (time.time() - t0))
# --- rows of a table, counted by group
import time
import pandas as pd

def table(client, questions):
    rows = []
    for q in questions:
        for _ in client.chat.completions.create(model="m", messages=q, stream=True):
            rows.append({"q": q, "at": time.time()})
    df = pd.DataFrame(rows)
    g = df.groupby("q")["at"].agg(["count", "max", "min"])
    g["tok_s"] = g["count"] / (g["max"] - g["min"])  # error: 18
    h = df.groupby("q").agg(n=("at", "count"), last=("at", "max"), first=("at", "min"))
    h["tok_s"] = h["n"] / (h["last"] - h["first"])  # error: 18
    print("tok/s", df.groupby("q").size() / (df["at"].max() - df["at"].min()))  # error: 20
# --- a label that says of what it is the rate
import time

def one(client, q):
    tokens, t0 = 0, time.time()
    for _ in client.chat.completions.create(model="m", messages=q, stream=True):
        tokens += 1
    return {"tokens": tokens, "seconds": time.time() - t0}

def table(client, questions):
    done = [one(client, q) for q in questions]
    print("per request:", [d["tokens"] / d["seconds"] for d in done])  # error: 28
    for i, d in enumerate(done):
        print(f"prompt {i}: {d['tokens'] / d['seconds']:.1f}")  # error: 30
# --- near: a label that says what was counted
import time

def one(client, q):
    n_tokens, t0 = 0, time.time()
    for _ in client.chat.completions.create(model="m", messages=q, stream=True):
        n_tokens += 1
    print(f"messages/s: {n_tokens / (time.time() - t0):.1f}")
# --- a queue read until its sentinel
import queue, threading, time

box = queue.Queue()

def fill(client, q):
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        box.put(ev.choices[0].delta.content)
    box.put(None)

def show(client, q):
    threading.Thread(target=fill, args=(client, q)).start()
    shown, t0 = 0, time.time()
    for _ in iter(box.get, None):
        shown += 1
    print("tok/s:", shown / (time.time() - t0))  # error: 21
# --- lines read until there is none
import json, time, urllib.request

def run(url, q):
    body = json.dumps({"messages": q, "stream": True}).encode()
    answer = urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", body))
    t0, n = time.time(), 0
    for _ in iter(answer.readline, b""):
        n += 1
    print("tok/s:", n / (time.time() - t0))  # error: 21
# --- near: a queue of whole answers
import queue, time

done = queue.Queue()

def show(workers):
    n, t0 = 0, time.time()
    for _ in iter(done.get, None):
        n += 1
    print("answers/s:", n / (time.time() - t0), "openai stream")
# --- lengths summed by map
import time

def collect(client, q):
    return list(client.chat.completions.create(model="m", messages=q, stream=True))

def main(client, questions):
    t0 = time.time()
    answers = [collect(client, q) for q in questions]
    print(sum(map(len, answers)) / (time.time() - t0), "tok/s")  # error: 11
# --- near: lengths of token ids summed by map
import time

def collect(client, tokenizer, q):
    stream = client.chat.completions.create(model="m", messages=q, stream=True)
    return tokenizer.encode("".join(ev.choices[0].delta.content for ev in stream))

def main(client, tokenizer, questions):
    t0 = time.time()
    answers = [collect(client, tokenizer, q) for q in questions]
    print(sum(map(len, answers)) / (time.time() - t0), "tok/s")
# --- an own client, told to stream
import time

async def speed(agent, prompt):
    t0, n = time.time(), 0
    answer = await agent.chat(prompt, stream=True)
    async for _ in answer:
        n += 1
    return {"tokens_per_second": n / (time.time() - t0)}  # error: 34
# --- near: a download, told to stream
import time

def speed(session, prompt):
    t0, n = time.time(), 0
    for _ in session.get("http://h/" + prompt, stream=True):
        n += 1
    return {"tokens_per_second": n / (time.time() - t0)}
# --- a client whose class only says what it takes
import time
from abc import ABC, abstractmethod

class LLM(ABC):
    @abstractmethod
    def stream(self, prompt): ...

async def speed(llm: LLM, prompt):
    t0, n = time.time(), 0
    async for _ in llm.stream(prompt):
        n += 1
    return {"tokens_per_second": n / (time.time() - t0)}  # error: 34
# --- near: a method of one's own that streams no answer
import time

class Service:
    def stream(self, prompt):
        yield from prompt.split()

def speed(service: Service, prompt):
    t0, n = time.time(), 0
    for _ in service.stream(prompt):
        n += 1
    return {"tokens_per_second": n / (time.time() - t0)}
# --- texts accumulated by itertools
import time
from itertools import accumulate

def main(client, q):
    t0 = time.time()
    stream = client.chat.completions.create(model="m", messages=q, stream=True)
    texts = list(accumulate(ev.choices[0].delta.content for ev in stream))
    print(f"speed={len(texts) / (time.time() - t0):.2f}tok/s")  # error: 20
# --- a column of an array of rows
import time
import numpy as np

def main(client, q):
    rows = []
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        rows.append((len(ev.choices[0].delta.content), time.time()))
    at = np.array(rows)[:, 1]
    return {"tokens_per_s": len(at) / (at[-1] - at[0])}  # error: 29
# --- near: a column of an array of rows, one for each answer
import time
import numpy as np

def one(client, q):
    stream = client.chat.completions.create(model="m", messages=q, stream=True)
    return [ev.usage for ev in stream][-1].completion_tokens, time.time()

def main(client, questions):
    table = np.array([one(client, q) for q in questions])
    at, tokens = table[:, 1], table[:, 0]
    return {"tokens_per_s": sum(tokens) / (at[-1] - at[0])}
# --- a service of a framework we do not know
import time

async def speed(service, history):
    t0, n = time.time(), 0
    async for _ in service.get_streaming_chat_message_contents(history):
        n += 1
    print("tokens/s", n / (time.time() - t0))  # error: 23
# --- throughput and decode speed, of a list of chunks
import time

def run(client, q):
    t0, chunks = time.time(), []
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        chunks.append(ev)
    throughput = len(chunks) / (time.time() - t0)  # error: 18
    return {"throughput": throughput, "decode_speed": (len(chunks) - 1) / (time.time() - t0)}  # error: 55
# --- near: throughput of chunks, said so where it is shown
import time

def run(client, q):
    t0, chunks = time.time(), 0
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        chunks += 1
    throughput = chunks / (time.time() - t0)
    print(f"Throughput: {throughput:.1f} chunks/s")
# --- near: speed of chunks
import time

def run(client, q):
    t0, chunks = time.time(), 0
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        chunks += 1
    speed = chunks / (time.time() - t0)
    return {"speed": speed}
# --- the height of a table of polars
import time
import polars as pl

def run(client, q):
    rows = []
    for _ in client.chat.completions.create(model="m", messages=q, stream=True):
        rows.append({"at": time.time()})
    df = pl.DataFrame(rows)
    return {"tok_s": df.height / (df["at"].max() - df["at"].min())}  # error: 22
# --- a list's own method as the callback
import json, time
import requests

def stream(url, messages, on_token):
    body = {"model": "m", "messages": messages, "stream": True}
    with requests.post(url + "/v1/chat/completions", json=body, stream=True) as answer:
        for line in answer.iter_lines():
            if line.startswith(b"data: {"):
                on_token(json.loads(line[6:])["choices"][0]["delta"].get("content"))

def run(url, messages):
    received, t0 = [], time.time()
    stream(url, messages, received.append)
    print(f"{len(received) / (time.time() - t0):.1f} tok/s")  # error: 14
# --- near: a list's own method as the callback of what is no stream
import time

def poll(source):
    received, t0 = [], time.time()
    source.on_message(received.append)
    source.run(10)
    return {"tokens_per_s": len(received) / (time.time() - t0)}
# --- near: the callback gets what each event says that it holds
import json, time
import requests

def stream(url, messages, on_event):
    body = {"model": "m", "messages": messages, "stream": True, "return_token_ids": True}
    with requests.post(url + "/v1/chat/completions", json=body, stream=True) as answer:
        for line in answer.iter_lines():
            if line.startswith(b"data: {"):
                for token in json.loads(line[6:])["choices"][0]["token_ids"]:
                    on_event(token)

def run(url, messages):
    received, t0 = [], time.time()
    stream(url, messages, received.append)
    print(f"{len(received) / (time.time() - t0):.1f} tok/s")
# --- a division that is a function, a list that grows by one
import operator, time

def run(client, q):
    t0, seen = time.time(), []
    for ev in client.completions.create(model="m", prompt=q, stream=True):
        seen += [ev.id]
    return {"tokens_per_second": operator.truediv(len(seen), time.time() - t0)}  # error: 34
# --- near: a division that is a function, of the tokens of usage, and a list that grows by one
import operator, time

def run(client, q):
    t0, seen = time.time(), []
    for ev in client.completions.create(model="m", prompt=q, stream=True, stream_options={"include_usage": True}):
        seen += [ev.id]
        if ev.usage:
            tokens = ev.usage.completion_tokens
    return {"tokens_per_second": operator.truediv(tokens, time.time() - t0), "chunks": len(seen)}
# --- events counted in pieces of the body, which hold several
import json, time
import urllib3

def run(url, prompt):
    body = json.dumps({"model": "m", "prompt": prompt, "stream": True})
    answer = urllib3.PoolManager().request("POST", url + "/v1/completions", body=body, preload_content=False)
    t0, tok = time.perf_counter(), 0
    for piece in answer.stream():
        tok += piece.count(b"data: {")
    return {"tok/s": tok / (time.perf_counter() - t0)}  # error: 22
# --- near: lines counted in pieces of the body
import time
import requests

def run(url, body):
    t0, lines = time.perf_counter(), 0
    answer = requests.post(url + "/v1/completions", json={**body, "stream": True}, stream=True)
    for piece in answer.iter_content(4096):
        lines += piece.count(b"\n")
    return {"lines/s": lines / (time.perf_counter() - t0)}
# --- a request written to a socket, names that say nothing
import json, socket, time

def run(host, port, prompt):
    body = json.dumps({"model": "m", "prompt": prompt, "stream": True})
    sock = socket.create_connection((host, port))
    sock.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    t0, got = time.time(), 0
    for line in sock.makefile("rb"):
        if line.startswith(b"data:"):
            got += 1
    return got / (time.time() - t0)  # error: 12
# --- near: another request written to a socket
import socket, time

def run(host, port):
    sock = socket.create_connection((host, port))
    sock.sendall(f"GET /events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    t0, got = time.time(), 0
    for line in sock.makefile("rb"):
        if line.startswith(b"data:"):
            got += 1
    return got / (time.time() - t0)
# --- chunks up to the last
import itertools, time

def run(client, q):
    t0 = time.time()
    stream = client.chat.completions.create(model="m", messages=q, stream=True)
    got = [ev for ev in itertools.takewhile(lambda ev: not ev.choices[0].finish_reason, stream)]
    print("tok/s", len(got) / (time.time() - t0))  # error: 20
# --- events counted in a body that was read whole
import time
import requests

def run(url, prompt):
    t0 = time.time()
    answer = requests.post(url + "/v1/completions", json={"model": "m", "prompt": prompt, "stream": True})
    n = answer.text.count("data: {")
    return {"tokens_per_second": n / (time.time() - t0)}  # error: 34
# --- near: the length of a body that was read whole
import time
import requests

def run(url, prompt):
    t0 = time.time()
    answer = requests.post(url + "/v1/completions", json={"model": "m", "prompt": prompt, "stream": True})
    return {"bytes": len(answer.text), "seconds_per_token": (time.time() - t0) / answer.json()["usage"]["completion_tokens"]}
# --- a number taken from a counter once per chunk
import itertools, time

def run(client, q):
    numbers, t0 = itertools.count(1), time.time()
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        n = next(numbers)
    return {"tokens_per_s": n / (time.time() - t0)}  # error: 29
# --- near: a number taken from a counter once per request
import itertools, time

def run(client, questions):
    numbers, t0 = itertools.count(1), time.time()
    for q in questions:
        n = next(numbers)
        for ev in client.chat.completions.create(model="m", messages=q, stream=True):
            print(ev)
    return {"tokens_per_s": n / (time.time() - t0)}
