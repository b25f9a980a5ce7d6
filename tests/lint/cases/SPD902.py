# --- conditional on usage
import time

def go(client, q):
    n, usage, t0 = 0, None, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        n += 1
        usage = ch.usage or usage
    tokens = usage.completion_tokens if usage else n
    return {"tps": tokens / (time.time() - t0)}  # error: 20
# --- or
import time

def go(client, q):
    n, got, t0 = 0, None, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        n += 1
        if ch.usage:
            got = ch.usage.completion_tokens
    return {"tps": (got or n) / (time.time() - t0)}  # error: 20
# --- overwritten in a branch
import time

def go(client, q):
    tokens, t0 = 0, time.time()
    usage = None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        tokens += 1
        usage = ch.usage
    if usage is not None:
        tokens = usage.completion_tokens
    tok_s = tokens / (time.time() - t0)  # error: 13
    return tok_s
# --- get with a default
import json, time, requests

def go(url, q):
    times, usage = [], {}
    t0 = time.time()
    r = requests.post(url + "/v1/chat/completions", json={"model": "m", "messages": q, "stream": True, "stream_options": {"include_usage": True}}, stream=True)
    for raw in r.iter_lines():
        if raw.startswith(b"data: {"):
            data = json.loads(raw[6:])
            usage = data.get("usage") or usage
            times.append(time.time())
    return {"tps": usage.get("completion_tokens", len(times)) / (time.time() - t0)}  # error: 20
# --- near: usage alone
import time

def go(client, q):
    usage, t0 = None, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        usage = ch.usage or usage
    return {"tps": usage.completion_tokens / (time.time() - t0) if usage else None}
# --- near: usage or tokenizer
import time

def go(client, tok, q):
    usage, text, t0 = None, "", time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        usage = ch.usage or usage
        if ch.choices:
            text += ch.choices[0].delta.content or ""
    n = usage.completion_tokens if usage else len(tok.encode(text))
    return {"tps": n / (time.time() - t0)}
# --- arrivals spread over usage, else one token a chunk
import time

class Result:
    def __init__(self):
        self.arrivals = []

def spread(times, n):
    step = (times[-1] - times[0]) / (n - 1)
    return [times[0] + step * i for i in range(n)]

def finish(result, times, num_tokens):
    if num_tokens is not None:
        result.arrivals = spread(times, num_tokens)
        return
    result.arrivals = times

def go(client, q):
    times, num_tokens, result = [], None, Result()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        if ch.usage:
            num_tokens = ch.usage.completion_tokens
        times.append(time.perf_counter())
    finish(result, times, num_tokens)
    return {"tok_s": len(result.arrivals) / (times[-1] - times[0])}  # error: 22
# --- arrivals repeated by usage, counted after the first
import time

def per_token(times, usage):
    if usage:
        return [times[0]] * usage.completion_tokens
    return times

def go(client, q):
    times, usage = [], None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        usage = ch.usage or usage
        times.append(time.perf_counter())
    stamps = per_token(times, usage)
    later = sum(1 for at in stamps if at > stamps[0])
    tokens_per_second = later / (stamps[-1] - stamps[0])  # error: 25
    return tokens_per_second
# --- one stamp for each token id, else for each chunk
import json, time, requests

def go(url, q):
    stamps, t0 = [], time.time()
    r = requests.post(url + "/v1/chat/completions", json={"model": "m", "messages": q, "stream": True, "stream_options": {"include_usage": True}}, stream=True)
    for raw in r.iter_lines():
        if not raw.startswith(b"data: {"):
            continue
        data = json.loads(raw[6:])
        ids = data["choices"][0].get("token_ids")
        if ids:
            for _ in ids:
                stamps.append(time.time())
        else:
            stamps.append(time.time())
    for number, at in enumerate(stamps):
        print(f"{number / (at - t0):.1f} tok/s")  # error: 18
# --- near: one stamp for each token id
import json, time, requests

def go(url, q):
    stamps, t0 = [], time.time()
    r = requests.post(url + "/v1/chat/completions", json={"model": "m", "messages": q, "stream": True, "stream_options": {"include_usage": True}}, stream=True)
    for raw in r.iter_lines():
        if raw.startswith(b"data: {"):
            ids = json.loads(raw[6:])["choices"][0]["token_ids"]
            stamps.extend([time.time()] * len(ids))
    return {"tok_s": len(stamps) / (stamps[-1] - t0)}
# --- what the backend counted, else the chunks
from openai import OpenAI
def ask(backend, messages, seconds):
    pieces = []
    for chunk in OpenAI().chat.completions.create(messages=messages, stream=True):
        pieces.append(chunk.choices[0].delta.content)
    tokens = backend.pop_token_count(messages) or len(pieces)
    return tokens / seconds  # error: 12
