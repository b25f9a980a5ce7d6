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
