# --- or zero into a sum
def total(rows):
    tokens = 0
    for row in rows:
        tokens += row.usage.completion_tokens or 0  # error: 19
    return tokens
# --- get with a default into a rate
def rate(body, elapsed):
    return body["usage"].get("completion_tokens", 0) / elapsed  # error: 12
# --- getattr with a default into a rate
def rate(usage, elapsed):
    tokens = getattr(usage, "completion_tokens", 0)  # error: 14
    return tokens / elapsed
# --- conditional on usage
def rate(response, elapsed):
    tokens = response.usage.completion_tokens if response.usage else 0  # error: 14
    tps = tokens / elapsed
    return tps
# --- conditional the other way round
def rate(usage, elapsed):
    n = 0 if usage is None else usage.completion_tokens  # error: 9
    return n / elapsed
# --- except sets zero
def rate(chunk, elapsed):
    try:
        tokens = chunk.usage.completion_tokens
    except AttributeError:
        tokens = 0  # error: 18
    return tokens / elapsed
# --- acceptance rate from defaults
def acceptance(spec):
    accepted = spec.get("num_accepted_draft_tokens", 0)  # error: 16
    drafted = spec.get("num_draft_tokens", 0)  # error: 15
    return accepted / drafted if drafted else 0.0
# --- sum over requests with defaults
def pooled(rows):
    return sum(r.get("num_draft_tokens", 0) for r in rows)  # error: 16
# --- metric records zero
def export(gauge, spec):
    gauge.set(spec.get("draft_acceptance_rate", 0.0))  # error: 15
# --- histogram records zero
def export(histogram, usage):
    histogram.record(usage.output_tokens or 0, {"model": "m"})  # error: 22
# --- span attribute is zero
def export(span, stats):
    span.set_attribute("spec.length", getattr(stats, "mean_acceptance_length", 0))  # error: 39
# --- dict value summed elsewhere
def one(body):
    return {"toks": (body.get("usage") or {}).get("completion_tokens", 0)}  # error: 21
def all_of(bodies):
    return sum(one(b)["toks"] for b in bodies)
# --- returned from a helper that feeds a rate
def count(response):
    return getattr(response.usage, "completion_tokens", 0)  # error: 12
def speed(response, seconds):
    return count(response) / seconds
# --- mean over requests with zeros in it
import statistics
def mean_length(rows):
    return statistics.mean(r.get("mean_acceptance_length", 0) for r in rows)  # error: 28
# --- int around the default
def rate(usage, elapsed):
    return int(usage.get("output_tokens", 0)) / elapsed  # error: 16
# --- walrus
def rate(usage, elapsed):
    if (n := usage.get("completion_tokens", 0)) is not None:  # error: 14
        return n / elapsed
# --- counter increments by zero
def export(counter, spec):
    counter.add(spec.get("num_spec_steps", 0))  # error: 17
# --- dataclass field summed later
from dataclasses import dataclass
@dataclass
class Row:
    tokens: int
def read(body):
    return Row(tokens=body["usage"].get("completion_tokens", 0))  # error: 23
def throughput(rows, wall):
    return sum(row.tokens for row in rows) / wall
# --- llama.cpp timings
def acceptance(timings):
    return timings.get("draft_n_accepted", 0) / max(timings.get("draft_n", 0), 1)  # error: 12, 53
# --- near: shown only
def show(usage):
    print(f"{usage.get('completion_tokens', 0)} tokens")
# --- near: a test for presence
def has_drafts(spec):
    return spec.get("num_draft_tokens", 0) > 0
# --- near: a guard
def acceptance(spec):
    if not spec.get("num_draft_tokens", 0):
        return None
    return spec["num_accepted_draft_tokens"] / spec["num_draft_tokens"]
# --- near: missing stays missing
def rate(usage, elapsed):
    tokens = usage.get("completion_tokens")
    return None if tokens is None else tokens / elapsed
# --- near: counted as missing
def total(rows):
    known = [r.usage.completion_tokens for r in rows if r.usage is not None]
    return sum(known), len(rows) - len(known)
# --- near: another field's default
def retries(stats, elapsed):
    return stats.get("retries", 0) / elapsed
# --- near: default None
def rate(usage, elapsed):
    tokens = usage.get("completion_tokens", None)
    return tokens / elapsed if tokens is not None else None
# --- near: zero for something that is not a field
def attempts(n):
    return (n or 0) / 2
# --- near: logged as text
import logging
def log(usage):
    logging.info("tokens %s", usage.get("completion_tokens", 0))
# --- near: a mock's usage
def fake():
    return {"usage": {"completion_tokens": 0, "prompt_tokens": 0}}
# --- near: an assertion in a test
def test_it(body):
    assert body["usage"].get("completion_tokens", 0) == 5
# --- near: except re-raises
def rate(chunk, elapsed):
    try:
        tokens = chunk.usage.completion_tokens
    except AttributeError as error:
        raise ValueError("no usage") from error
    return tokens / elapsed
# --- near: except gives None
def rate(chunk, elapsed):
    try:
        tokens = chunk.usage.completion_tokens
    except AttributeError:
        tokens = None
    return tokens and tokens / elapsed
# --- near: default one
def rate(usage, elapsed):
    return usage.get("completion_tokens", 1) / elapsed
# --- near: acceptance absent gives None
def length(spec):
    return spec["mean_acceptance_length"] if spec else None
# --- near: sorted by the field
def longest(rows):
    return sorted(rows, key=lambda r: r.get("completion_tokens", 0))
