# --- usage block made up
def go(client, q):
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
        yield ch
    yield {"usage": {"completion_tokens": n}}  # error: 43
# --- prometheus counter
from prometheus_client import Counter

OUT = Counter("generated_tokens_total", "x")

def go(client, q):
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        OUT.inc()  # error: 9
        yield ch
# --- otel counter
from opentelemetry import metrics

counter = metrics.get_meter("x").create_counter("llm.completion_tokens")

def go(client, q):
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        counter.add(1)  # error: 9
# --- keyword
def go(client, q, db):
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    db.insert_row(output_tokens=n)  # error: 33
# --- near: chunks counter
from prometheus_client import Counter

OUT = Counter("stream_chunks_total", "x")

def go(client, q):
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        OUT.inc()
        yield ch
# --- near: usage published
from prometheus_client import Counter

OUT = Counter("generated_tokens_total", "x")

def go(client, q):
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        if ch.usage:
            OUT.inc(ch.usage.completion_tokens)
# --- near: number of chunks as such
def go(client, q):
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return {"num_chunks": n}
# --- near: a mock server counts what it emits
import json

def fake(text):
    completion_tokens = 0
    for ch in text:
        completion_tokens += 1
        yield "data: " + json.dumps({"choices": [{"delta": {"content": ch}}]})
    yield "data: " + json.dumps({"usage": {"completion_tokens": completion_tokens}, "stream": True})
# --- an attribute of a span
def run(client, q, span):
    n = 0
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    span.set_attribute("gen_ai.usage.output_tokens", n)  # error: 5
# --- a price times the chunks
PRICE_PER_TOKEN = 6e-7
def run(client, q):
    n = 0
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    return n * PRICE_PER_TOKEN  # error: 12
# --- near: how many gaps there were, and an estimate that says so
def run(client, q, gaps):
    n = 0
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
        gaps.append(n)
    return {"itl_count": len(gaps), "reasoning_tokens_est": n}
# --- near: an attribute that counts chunks
def run(client, q, span):
    n = 0
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    span.set_attribute("app.stream.chunks", n)
# --- near: tokens from usage, whoever else counts chunks under that name
from openai import OpenAI
class Metrics:
    completion_tokens: int = 0
def stream(messages, log):
    metrics = Metrics()
    for chunk in OpenAI().chat.completions.create(messages=messages, stream=True):
        metrics.completion_tokens += 1
    log(metrics)
def whole(message, response_usage=None):
    completion_tokens = response_usage.completion_tokens
    message.metrics["output_tokens"] = completion_tokens
# --- near: added to what was summed elsewhere
from openai import OpenAI
class Data:
    chunks: int = 0
    completion_tokens: int = 0
class Model:
    def stream(self, messages):
        data = Data()
        for chunk in OpenAI().chat.completions.create(messages=messages, stream=True):
            data.completion_tokens += 1
        return data
    def add(self, usage_tokens):
        self.metrics["completion_tokens"] = self.metrics.get("completion_tokens", 0) + usage_tokens
