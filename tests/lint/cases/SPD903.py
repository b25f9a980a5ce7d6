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
