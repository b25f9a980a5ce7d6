# --- words per second called tokens
import time

def go(client, q):
    t0, text = time.time(), ""
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        text += ch.choices[0].delta.content or ""
    tokens_per_second = len(text.split()) / (time.time() - t0)  # error: 25
# --- words times a factor
import time

def go(client, q):
    t0, n = time.time(), 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += len((ch.choices[0].delta.content or "").split())
    est = n * 1.3
    print(f"~{est / (time.time() - t0):.1f} tok/s")  # error: 15
# --- characters over four from parts
import time

def go(client, q):
    t0, parts = time.time(), []
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        parts.append(ch.choices[0].delta.content or "")
    est_tokens = len("".join(parts)) // 4
    return {"tps": est_tokens / (time.time() - t0)}  # error: 20
# --- characters summed per chunk
import time

def go(client, q):
    t0, chars = time.time(), 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        chars += len(ch.choices[0].delta.content or "")
    return {"tokens_per_second": chars / 4 / (time.time() - t0)}  # error: 34
# --- helper estimate
import time

def estimate(text):
    return int(len(text.split()) * 1.33)

def go(client, q):
    t0, text = time.time(), ""
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        text += ch.choices[0].delta.content or ""
    return {"tok_s": estimate(text) / (time.time() - t0)}  # error: 22
# --- non-streamed answer
import time

def go(client, q):
    t0 = time.time()
    text = client.chat.completions.create(model="m", messages=q).choices[0].message.content
    print("tokens/sec", len(text.split()) / (time.time() - t0))  # error: 25
# --- near: characters per second
import time

def go(client, q):
    t0, text = time.time(), ""
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        text += ch.choices[0].delta.content or ""
    print(len(text) / (time.time() - t0), "chars/s")
# --- near: words per second
import time

def go(client, q):
    t0, text = time.time(), ""
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        text += ch.choices[0].delta.content or ""
    print(f"{len(text.split()) / (time.time() - t0):.1f} words/s")
# --- near: an estimate without a rate
def go(messages):
    est_tokens = sum(len(m["content"]) for m in messages) // 4
    return est_tokens / 4096
# --- near: tokenizer speed
import time

def go(tokenizer, text):
    t0 = time.time()
    ids = tokenizer.encode(text)
    return {"tokens_per_s": len(ids) / (time.time() - t0), "messages": 1, "stream": False}
# --- near: it says that it is an estimate
import time
def speed(client, q):
    start, text = time.time(), ""
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        text += chunk.choices[0].delta.content or ""
    return {"est_tok_per_s": len(text) / 4 / (time.time() - start)}
# --- words found by an expression
import re, time
def speed(client, q):
    start, text = time.time(), ""
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        text += chunk.choices[0].delta.content or ""
    tokens_per_second = len(re.findall(r"\w+|\S", text)) / (time.time() - start)  # error: 25
    return tokens_per_second
# --- near: words found by an expression, called words
import re, time
def speed(client, q):
    start, text = time.time(), ""
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        text += chunk.choices[0].delta.content or ""
    words_per_second = len(re.findall(r"\w+", text)) / (time.time() - start)
    return words_per_second
