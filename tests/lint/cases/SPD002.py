# --- span over chunk count
import time

def go(client, q):
    first = last = None
    n = 0
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        last = time.perf_counter()
        if first is None:
            first = last
        n += 1
    tpot = (last - first) / (n - 1)  # error: 12
    return tpot
# --- milliseconds per token printed
import time

def go(client, q):
    t0, count = time.time(), 0
    for ch in client.completions.create(model="m", prompt=q, stream=True):
        count += 1
    print(f"{(time.time() - t0) * 1000 / count:.2f} ms/token")  # error: 14
# --- np.diff mean called tpot
import time
import numpy as np

def go(client, q):
    t = []
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        t.append(time.perf_counter())
    tpot_ms = np.mean(np.diff(t)) * 1000  # error: 15
    return tpot_ms
# --- percentile of gaps as per-token latency
import time
import numpy as np

def go(client, q):
    gaps, prev = [], time.perf_counter()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        now = time.perf_counter()
        gaps.append(now - prev)
        prev = now
    return {"p99_time_per_token": np.percentile(gaps, 99)}  # error: 35
# --- statistics.median of pairwise
import statistics, time
from itertools import pairwise

def go(client, q):
    stamps = [time.monotonic() for _ in client.chat.completions.create(model="m", messages=q, stream=True)]
    median_tpot = statistics.median(b - a for a, b in pairwise(stamps))  # error: 19
    return median_tpot
# --- zip gaps, mean
import statistics, time

def go(client, q):
    ts = []
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        ts.append(time.time())
    gaps = [b - a for a, b in zip(ts[:-1], ts[1:])]
    print("TPOT", statistics.mean(gaps))  # error: 19
# --- one over the mean gap
import time

def go(client, q):
    itl, prev = [], time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        itl.append(time.time() - prev)
        prev = time.time()
    avg = sum(itl) / len(itl)
    tps = 1 / avg  # error: 11
    return tps
# --- inverse of a numpy mean
import time
import numpy as np

class R:
    def __init__(self):
        self.itls = []

    async def run(self, client, q):
        last = time.perf_counter()
        async for ch in await client.chat.completions.create(model="m", messages=q, stream=True):
            t = time.perf_counter()
            self.itls.append(t - last)
            last = t

    def tokens_per_second(self):
        return 1.0 / np.mean(self.itls)  # error: 16
# --- numpy slices subtracted
import time
import numpy as np

def go(client, q):
    t = np.array([time.time() for _ in client.chat.completions.create(model="m", messages=q, stream=True)])
    d = t[1:] - t[:-1]
    return {"mean_tpot_ms": d.mean() * 1e3}  # error: 29
# --- vllm-like output object and a metrics function
import time
from dataclasses import dataclass, field

@dataclass
class Output:
    latency: float = 0.0
    ttft: float = 0.0
    itl: list = field(default_factory=list)

async def request(session, url, q):
    out = Output()
    st = most = time.perf_counter()
    async with session.post(url + "/v1/completions", json={"model": "m", "prompt": q, "stream": True}) as r:
        async for line in r.content:
            now = time.perf_counter()
            if out.ttft == 0:
                out.ttft = now - st
            else:
                out.itl.append(now - most)
            most = now
    out.latency = most - st
    return out

def metrics(out: Output):
    output_len = len(out.itl) + 1
    tpot = (out.latency - out.ttft) / (output_len - 1)  # error: 12
    return tpot
# --- elapsed over a parameter
import time

def per_token(total_s, n_out):
    return total_s / max(1, n_out)  # error: 12

def go(client, q):
    n, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    print("time per output token", per_token(time.time() - t0, n))
# --- pandas diff
import time
import pandas as pd

def go(client, q):
    rows = []
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        rows.append({"at": time.time()})
    df = pd.DataFrame(rows)
    sec_per_tok = df["at"].diff().mean()  # error: 19
    return sec_per_tok
# --- histogram observe per chunk gap called per output token
import time
from prometheus_client import Histogram

H = Histogram("time_per_output_token_seconds", "x")

def go(client, q):
    n, t0 = 0, time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n += 1
    H.observe((time.time() - t0) / n)  # error: 15
# --- dict of stats
import time

def go(client, q):
    stats = {"tokens": 0, "start": time.time()}
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        stats["tokens"] += 1
    stats["elapsed"] = time.time() - stats["start"]
    stats["ms_per_token"] = stats["elapsed"] * 1000 / stats["tokens"]  # error: 29
# --- near: mean of gaps called ITL
import time
import numpy as np

def go(client, q):
    gaps, prev = [], time.perf_counter()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        now = time.perf_counter()
        gaps.append(now - prev)
        prev = now
    return {"mean_itl_ms": np.mean(gaps) * 1000}
# --- near: gaps called gaps
import time, statistics

def go(client, q):
    gaps, prev = [], time.perf_counter()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        now = time.perf_counter()
        gaps.append(now - prev)
        prev = now
    print("median chunk gap", statistics.median(gaps), "max", max(gaps))
# --- near: tpot from usage
import time

def go(client, q):
    t, usage = [], None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        usage = ch.usage or usage
        t.append(time.time())
    tpot = (t[-1] - t[0]) / (usage.completion_tokens - 1)
    return tpot
# --- near: latency over tokens from a tokenizer
import time

def go(client, tok, q):
    t, text = time.time(), ""
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        text += ch.choices[0].delta.content or ""
    n = len(tok.encode(text))
    return {"tpot": (time.time() - t) / n}
# --- near: sum of gaps over real tokens
import time

def go(client, q):
    gaps, prev, usage = [], time.time(), None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        gaps.append(time.time() - prev)
        prev = time.time()
        usage = ch.usage
    return {"tpot": sum(gaps) / usage.completion_tokens}
# --- near: mean latency of requests
import time, statistics

def go(client, qs):
    lat = []
    for q in qs:
        t0 = time.time()
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            pass
        lat.append(time.time() - t0)
    print("mean latency", statistics.mean(lat), "per request", sum(lat) / len(lat))
# --- near: ttft statistics
import time, statistics

def go(client, qs):
    ttfts = []
    for q in qs:
        t0 = time.time()
        for ch in client.chat.completions.create(model="m", messages=q, stream=True):
            ttfts.append(time.time() - t0)
            break
    print("mean time to first token", statistics.mean(ttfts))
# --- near: gap over tokens of that chunk
import time

def go(client, q):
    out, prev = [], time.time()
    for ch in client.chat.completions.create(model="m", messages=q, stream=True):
        n = len(ch.choices[0].token_ids)
        out.append((time.time() - prev) / n)
        prev = time.time()
    tpot = sum(out) / len(out)
    return tpot
# --- near: frame times
import time, statistics

def render(scene):
    gaps, prev = [], time.time()
    for frame in scene.stream():
        gaps.append(time.time() - prev)
        prev = time.time()
    return 1 / statistics.mean(gaps)
# --- near: seconds per request
import time

def go(client, qs):
    t0, n = time.time(), 0
    for q in qs:
        client.chat.completions.create(model="m", messages=q, stream=True)
        n += 1
    print((time.time() - t0) / n, "s per request")
# --- near: gaps of arrivals spread over usage
import statistics, time

def spread(times, n):
    step = (times[-1] - times[0]) / (n - 1)
    return [times[0] + step * i for i in range(n)]

def go(client, q):
    times, num_tokens = [], None
    for ch in client.chat.completions.create(model="m", messages=q, stream=True, stream_options={"include_usage": True}):
        if ch.usage:
            num_tokens = ch.usage.completion_tokens
        times.append(time.perf_counter())
    stamps = spread(times, num_tokens) if num_tokens else times
    gaps = [b - a for a, b in zip(stamps, stamps[1:])]
    return {"tpot_ms": statistics.mean(gaps) * 1000}
# --- one helper for gaps called TPOT and for times to the first chunk
import time
import numpy as np

def stats(values):
    return {"mean": np.mean(values), "p99": np.percentile(values, 99)}  # error: 21, 45

def run(client, q):
    first, at, start = [], [], time.perf_counter()
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        at.append(time.perf_counter())
    first.append(at[0] - start)
    ttft, tpot = stats(first), stats(np.diff(at))
    print(f"TTFT {ttft['mean']:.3f}, TPOT {tpot['mean']:.4f}, TPOT p99 {tpot['p99']:.4f}")
# --- near: one helper for gaps called ITL and a TPOT from usage
import time
import numpy as np
from dataclasses import dataclass

@dataclass
class Stats:
    mean: float
    p99: float

def stats(values):
    return Stats(mean=sum(values) / len(values), p99=np.percentile(values, 99))

def run(client, q):
    at, tpots, usage = [], [], None
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        at.append(time.perf_counter())
        usage = chunk.usage or usage
    tpots.append((at[-1] - at[0]) / (usage.completion_tokens - 1))
    itl, tpot = stats(np.diff(at)), stats(tpots)
    print(f"ITL {itl.mean:.4f} {itl.p99:.4f}, TPOT {tpot.mean:.4f} {tpot.p99:.4f}")
# --- a table of names and gaps, one of them called TPOT
import time
import numpy as np

def run(client, q):
    at = []
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        at.append(time.perf_counter())
    for name, values in [("e2e", [at[-1] - at[0]]), ("time per token", np.diff(at))]:
        mean = np.mean(values)  # error: 16
        print(f"{name}: {mean:.4f}")
# --- near: the same table, with the gaps called gaps
import time
import numpy as np

def run(client, q):
    at = []
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        at.append(time.perf_counter())
    for name, values in [("e2e", [at[-1] - at[0]]), ("chunk gap", np.diff(at))]:
        mean = np.mean(values)
        print(f"{name}: {mean:.4f}")
# --- near: the mean gap spelt out, under its customary name
import time

def run(client, q):
    at = []
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        at.append(time.perf_counter())
    itl = (at[-1] - at[0]) * 1000 / (len(at) - 1)
    return {"itl_ms": itl}
# --- near: a mean over requests, told while streaming
import time

def run(client, questions):
    waits = []
    for q in questions:
        start = time.perf_counter()
        for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
            waits.append(time.perf_counter() - start)
    return {"mean": sum(waits) / len(waits)}
# --- near: tokens from elsewhere, 0 until they are known, over the time they took
import time

def run(client, q, count):
    generated_tokens, first, last = 0, None, None
    for chunk in client.chat.completions.create(model="m", messages=q, stream=True):
        last = time.perf_counter()
        first = first or last
    if first:
        generated_tokens = count(q) or generated_tokens
    return generated_tokens / (last - first)
# --- near: a count that begins at 0 and comes from an engine
import time
async def watch(client, entry):
    start, first, done = time.time(), None, 0
    async for output in client.chat.completions.create(stream=True, messages=[]):
        now = time.time()
        if output.num_done:
            first = first or now - start
            done = output.num_done
        entry["tokens_per_second"] = done / ((now - start) - first)
# --- gaps observed by histograms whose names say per token
import time
from prometheus_client import Histogram

TPOT = Histogram("llm_time_per_output_token_seconds", "Time per output token", ["model"])

class Proxy:
    def __init__(self, meter):
        self.tpot = meter.create_histogram("gen_ai.server.time_per_output_token", unit="s")

    async def relay(self, client, body):
        last = None
        stream = await client.chat.completions.create(model="m", messages=body, stream=True)
        async for chunk in stream:
            now = time.perf_counter()
            if last is not None:
                TPOT.labels(body["model"]).observe(now - last)  # error: 17
                self.tpot.record(now - last, {"model": body["model"]})  # error: 17
            last = now
            yield chunk
# --- near: gaps observed by histograms whose names say chunks, or ITL, or after a division by tokens
import time
from prometheus_client import Histogram

GAP = Histogram("llm_chunk_gap_seconds", "Time between two chunks")
ITL = Histogram("llm_inter_token_latency_seconds", "Time between two outputs")
TPOT = Histogram("llm_time_per_output_token_seconds", "Time per output token")

async def relay(client, messages):
    last, num = None, 0
    stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
    async for chunk in stream:
        now = time.perf_counter()
        if last is not None:
            GAP.observe(now - last)
            ITL.observe(now - last)
            TPOT.observe((now - last) / (chunk.usage.completion_tokens - num))
        last, num = now, chunk.usage.completion_tokens
        yield chunk
# --- near: energy for a token is no time
import time
def energy(client, watts):
    start, tokens = time.time(), 0
    for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
        tokens += 1
    joules = (time.time() - start) * watts
    return {"energy_per_token_mj": 1000.0 * joules / tokens}
# --- an average of speeds, named before brackets
import time

def run(client, m):
    last, ewma = None, None
    for chunk in client.chat.completions.create(model="m", messages=m, stream=True):
        now = time.perf_counter()
        if last is not None:
            inst = 1 / (now - last)  # error: 20
            ewma = inst if ewma is None else 0.9 * ewma + 0.1 * inst
        last = now
    print(f"tok/s (ewma): {ewma:.1f}")
# --- near: an average of speeds, where the brackets say chunks
import time

def run(client, m):
    last, ewma = None, None
    for chunk in client.chat.completions.create(model="m", messages=m, stream=True):
        now = time.perf_counter()
        if last is not None:
            inst = 1 / (now - last)
            ewma = inst if ewma is None else 0.9 * ewma + 0.1 * inst
        last = now
    print(f"not tok/s, but speed (chunks/s): {ewma:.1f}", "chunks/s (ewma): %.1f" % ewma)
# --- a list of times per token
import time

tpots = []

def one(client, q):
    first, pieces = None, []
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        first = first or time.time()
        pieces.append(ev)
    tpots.append((time.time() - first) / (len(pieces) - 1))  # error: 18
# --- a percentile by its place in the sorted gaps
import time

def run(client, q):
    times = []
    for ev in client.chat.completions.create(model="m", messages=q, stream=True):
        times.append(time.time())
    gaps = sorted(b - a for a, b in zip(times, times[1:]))
    return {"tpot_p95": gaps[int(0.95 * len(gaps))]}  # error: 25
# --- near: the same, called gaps between chunks, and a percentile of whole requests
import time

def run(client, questions):
    times, whole = [], []
    for q in questions:
        t0 = time.time()
        for ev in client.chat.completions.create(model="m", messages=q, stream=True):
            times.append(time.time())
        whole.append(time.time() - t0)
    gaps = sorted(b - a for a, b in zip(times, times[1:]))
    whole.sort()
    return {"chunk_gap_p95": gaps[int(0.95 * len(gaps))], "p95_s": whole[int(0.95 * len(whole))]}
