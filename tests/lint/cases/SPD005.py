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
# --- near: only those that have it are summed
def rate(responses):
    timed = [r for r in responses if r.completion_tokens is not None and r.seconds > 0]
    return sum(r.completion_tokens or 0 for r in timed) / sum(r.seconds for r in timed)
# --- near: the filter in the same comprehension
def total(responses):
    return sum(r.output_tokens or 0 for r in responses if r.output_tokens is not None)
# --- near: rows of a table that counts requests are sums already
def totals(rows):
    requests = sum(row.get("request_count", 0) for row in rows)
    tokens = sum(row.get("completion_tokens", 0) for row in rows)
    return {"requests": requests, "tokens": tokens}
# --- near: a rollup row, where SUM over nothing is NULL
def add(metrics, record):
    metrics.api_requests += record.api_requests or 0
    metrics.completion_tokens += record.completion_tokens or 0
# --- usage and its field, or else 0
def record(responses, counter):
    for r in responses:
        counter.inc((r.usage and r.usage.completion_tokens) or 0)  # error: 21
# --- a rate of 0 where nothing was reported
def speed(data, elapsed):
    tokens = data["usage"].get("completion_tokens", 0)  # error: 14
    return tokens / elapsed if tokens else 0.0
# --- near: divided only where there are some
def speed(data, elapsed, speeds):
    tokens = data["usage"].get("completion_tokens") or 0
    if elapsed and tokens > 1:
        speeds.append((tokens - 1) / elapsed)
# --- near: no rate where there are none
def speed(data, elapsed):
    tokens = data["usage"].get("completion_tokens", 0)
    return tokens / elapsed if tokens else None
# --- near: a flag that says whether there are some
def speed(row, elapsed):
    output_tokens = row["output_tokens"] or 0
    is_timed = elapsed is not None and output_tokens > 0
    return output_tokens / elapsed if is_timed else None
# --- near: left before anything is divided
def speed(row, elapsed):
    output_tokens = row["output_tokens"] or 0
    if output_tokens <= 0 or not elapsed:
        return None
    return output_tokens / elapsed
# --- near: left out of a list
def speeds(rows):
    return [(r.get("output_tokens", 0)) / r["seconds"] for r in rows if r.get("output_tokens")]
# --- near: a total of the program's own
class Client:
    def add(self, usage):
        self._total_usage["completion_tokens"] += usage.completion_tokens

    def cost(self, price):
        return sum([self._total_usage.get("completion_tokens", 0) * price])
# --- usage of one answer into a total
class Client:
    def add(self, usage):
        self.total += usage.get("completion_tokens", 0)  # error: 23
# --- near: another function's variable of the same name is what is divided
def row_of(r):
    output_tokens = r["output_tokens"] or 0
    return {"text": f"{output_tokens} tokens"}

def speed(r, seconds):
    output_tokens = r["output_tokens"]
    return output_tokens / seconds
# --- near: what a sum begins with
class Model:
    def add(self, message, completion_tokens):
        self.metrics["completion_tokens"] = self.metrics.get("completion_tokens", 0) + completion_tokens
        self.output_tokens = (self.output_tokens or 0) + completion_tokens

    def speed(self, seconds):
        return self.metrics["completion_tokens"] / seconds + self.output_tokens / seconds
# --- what is added, not what the sum begins with
class Model:
    def add(self, usage):
        self.tokens["output"] = self.tokens.get("output", 0) + usage.get("output_tokens", 0)  # error: 64
    def speed(self, seconds):
        self.shown += self.tokens["output"]
# --- near: a field that its class says is a number
from dataclasses import dataclass
@dataclass
class Record:
    seconds: float = 0.0
    completion_tokens: int = 0
def total(records):
    return sum(int(r.completion_tokens or 0) for r in records)
# --- a field that may be None
from dataclasses import dataclass
@dataclass
class Record:
    completion_tokens: int | None = None
def total(records):
    return sum(r.completion_tokens or 0 for r in records)  # error: 16
# --- usage is the server's, whatever a class of the file declares
from dataclasses import dataclass
@dataclass
class Session:
    output_tokens: int
def session(calls):
    return Session(sum(call.usage.output_tokens or 0 for call in calls))  # error: 24
# --- near: keys that a TypedDict has
from typing import TypedDict
class Stats(TypedDict):
    completion_tokens: int
def add(stats: Stats, counter):
    counter.inc(stats.get("completion_tokens", 0))
# --- keys that a TypedDict may lack
from typing import TypedDict
class Stats(TypedDict, total=False):
    completion_tokens: int
def add(stats: Stats, counter):
    counter.inc(stats.get("completion_tokens", 0))  # error: 17
# --- near: the next one counts where it is 0
def estimate(measured, max_tokens, n):
    average = int(measured.get("completion_tokens") or 0) or max_tokens // 2
    known = int(measured.get("output_tokens") or 0) or None
    return sum([average, known or 1])
# --- near: estimated where nothing was reported
def read(chunks, record):
    for chunk in chunks:
        usage = chunk.get("usage")
        if usage:
            record.completion_tokens = int(usage.get("completion_tokens") or 0)
    if record.completion_tokens <= 0:
        record.completion_tokens = len(chunks)
def speed(record):
    return record.completion_tokens / record.seconds
# --- a test that replaces another number
def read(usage, record, seconds):
    tokens = usage.get("completion_tokens") or 0  # error: 14
    if record.prompt_tokens <= 0:
        record.prompt_tokens = 1
    return tokens / seconds
# --- near: nothing comes of it where all is 0
def usage_of(response, Usage):
    completion_tokens = 0
    for message in response:
        completion_tokens += message.meta.get("output_tokens") or 0
    total_tokens = response.prompt_tokens + completion_tokens
    if total_tokens <= 0:
        return None
    return Usage(completion_tokens / total_tokens)
# --- near: recorded only where there are some
def export(call, counter):
    output_tokens = int(getattr(call, "output_tokens", 0) or 0)
    if output_tokens:
        counter.add(output_tokens, {"type": "output"})
# --- near: rows of an aggregate
def export(aggregate_usage, span):
    for feature, row in aggregate_usage.items():
        span.set_attribute(feature, row.get("output_tokens", 0))
# --- near: where a sum goes on from
class Observed:
    def __init__(self, baseline=None):
        self.tokens = baseline.completion_tokens if baseline else 0
    def add(self, n):
        self.tokens += n
    def speed(self, seconds):
        return self.tokens / seconds
# --- a parsed body under a neutral name
def rate(session, seconds):
    data = session.post("/v1/chat/completions").json()
    return data.get("completion_tokens", 0) / seconds  # error: 12
# --- a parameter annotated as usage
def record(u: CompletionUsage, counter):
    counter.add(u.completion_tokens or 0)  # error: 17
# --- an answer of a call
async def total(client, prompts):
    n = 0
    for prompt in prompts:
        got = await client.chat.completions.create(prompt)
        n += getattr(got, "completion_tokens", 0)  # error: 14
    return n
# --- usage by getattr under another name
def total(response):
    u = getattr(response, "usage", None) or {}
    return sum([u.get("completion_tokens", 0)])  # error: 17
# --- what the program wrote down, its field declared optional
from dataclasses import dataclass
from typing import Optional
@dataclass
class Call:
    output_tokens: Optional[int] = None
def total(calls: list[Call]):
    return sum(c.output_tokens or 0 for c in calls)  # error: 16
# --- near: usage of a class that always has it
from dataclasses import dataclass
@dataclass
class Usage:
    output_tokens: int = 0
    def __add__(self, usage: "Usage") -> "Usage":
        return Usage(self.output_tokens + (usage.output_tokens or 0))
# --- near: a row of the program's own
def total(rows):
    return sum(r.get("output_tokens", 0) for r in rows)
# --- near: a log of usage
def total(usage_log):
    return sum(entry.get("output_tokens", 0) for entry in usage_log)
# --- near: a table of usage by user, the program's own
def total(usage, users):
    return sum(usage[user].get("output_tokens", 0) for user in users)
# --- answers by number
def total(responses, numbers):
    return sum(responses[i].output_tokens or 0 for i in numbers)  # error: 16
# --- answers by name
def total(responses):
    return sum(each.output_tokens or 0 for each in responses.values())  # error: 16
# --- near: refused where it is 0
def tokens_of(usage, text, count, seconds):
    try:
        tokens = usage.get("completion_tokens", 0)
        if not usage or tokens == 0:
            raise ValueError("no token counts")
    except ValueError:
        tokens = count(text)
    return tokens / seconds
# --- refused where it is negative
def rate(usage, seconds):
    tokens = usage.get("completion_tokens", 0)  # error: 14
    if tokens < 0:
        raise ValueError("negative")
    return tokens / seconds
# --- near: nothing is recorded where nothing was reported
def record(response, meter):
    usage = getattr(response, "usage", None)
    prompt = int(getattr(usage, "prompt_tokens", 0) or 0)
    completion = int(getattr(usage, "completion_tokens", 0) or 0)
    if prompt == 0 and completion == 0:
        return
    meter.record(completion)
# --- something is recorded unless there is no name
def record(response, meter, name):
    usage = getattr(response, "usage", None)
    completion = int(getattr(usage, "completion_tokens", 0) or 0)  # error: 22
    if name == 0 and meter == 0:
        return
    meter.record(completion)
# --- near: usage that the file writes out with the key
class Provider:
    def ask(self, answer):
        raw_usage = {"input_tokens": answer.n_in, "output_tokens": answer.n_out}
        return self.cost(raw_usage)
    def cost(self, raw_usage):
        return raw_usage.get("output_tokens", 0) / 1_000_000 * self.price
# --- usage that the file writes out without the key
class Provider:
    def ask(self, answer):
        raw_usage = {"input_tokens": answer.n_in}
        return self.cost(raw_usage)
    def cost(self, raw_usage):
        return raw_usage.get("output_tokens", 0) / 1_000_000 * self.price  # error: 16
# --- usage that one function writes out and another receives
def answer(n):
    usage = {"completion_tokens": n}
    return {"usage": usage}
def read(body, seconds):
    usage = body.get("usage") or {}
    return usage.get("completion_tokens", 0) / seconds  # error: 12
# --- a failure is told where nothing came at all
def run(bodies, seconds):
    tokens, chars = 0, 0
    for body in bodies:
        tokens += body.get("usage", {}).get("completion_tokens", 0)  # error: 19
        chars += len(body["text"])
    if tokens == 0 and chars == 0:
        return "failed"
    return tokens / seconds
# --- near: a field of an own class, reached through another
from dataclasses import dataclass, field
@dataclass
class TokenUsage:
    output_tokens: int = 0
@dataclass
class Turn:
    usage: TokenUsage = field(default_factory=TokenUsage)
class Agent:
    def __init__(self):
        self.usage = TokenUsage()
    def add(self, turn: Turn):
        self.tokens += turn.usage.output_tokens or 0
    def speed(self, seconds):
        return (self.usage.output_tokens or 0) / seconds + self.tokens
# --- a field of an own class that may be None, reached through another
from dataclasses import dataclass
@dataclass
class TokenUsage:
    output_tokens: int | None = None
@dataclass
class Turn:
    usage: TokenUsage
class Agent:
    def add(self, turn: Turn):
        self.tokens += turn.usage.output_tokens or 0  # error: 24
# --- near: an own class, as the function says that makes it
class Counts:
    def __init__(self):
        self.completion_tokens = 0
def counts_of(response) -> Counts:
    return Counts()
def record(response, counter):
    usage = counts_of(response)
    counter.inc(getattr(usage, "completion_tokens", 0))
# --- a property that may say None
from typing import Optional
class Answer:
    @property
    def completion_tokens(self) -> Optional[int]:
        return self.body.get("completion_tokens")
def record(answer: Answer, counter):
    counter.inc(answer.completion_tokens or 0)  # error: 17
# --- near: what a function makes always has the key
class Client:
    def usage_of(self, response):
        found = response.usage
        return {"completion_tokens": found.completion_tokens, "cost": 0}
    def record(self, response, counter):
        usage = self.usage_of(response)
        counter.inc(usage.get("completion_tokens", 0))
# --- what a function makes may be empty
class Client:
    def usage_of(self, response):
        found = response.usage
        if not found:
            return {}
        return {"completion_tokens": found.completion_tokens, "cost": 0}
    def record(self, response, counter):
        usage = self.usage_of(response)
        counter.inc(usage.get("completion_tokens", 0))  # error: 21
# --- near: read only where it is there
def record(usage, counter):
    if "completion_tokens" in usage:
        counter.inc(usage.get("completion_tokens", 0))
    if hasattr(usage, "output_tokens"):
        counter.inc(usage.output_tokens or 0)
# --- one of two is there
def record(usage, counter):
    if "completion_tokens" in usage or "cached_tokens" in usage:
        counter.inc(usage.get("completion_tokens", 0))  # error: 21
# --- near: no price where a count is missing
def price(usage, rate):
    if usage.output_tokens is None:
        return None
    return (usage.output_tokens or 0) / 1_000_000 * rate
# --- near: no price where the total is missing
def price(usage, rate):
    if rate is None or usage.total_tokens is None:
        return None
    return ((usage.input_tokens or 0) + (usage.output_tokens or 0)) / 1_000_000 * rate
# --- near: no price where nothing was reported
def price(usage, rate):
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    return ((usage.input_tokens or 0) + (usage.output_tokens or 0)) / 1_000_000 * rate
# --- a price where only the rate is missing
def price(usage, rate):
    if rate is None:
        return None
    return (usage.output_tokens or 0) / 1_000_000 * rate  # error: 13
# --- a variable that is 0 is not None
def price(usage, rate):
    tokens = usage.output_tokens or 0  # error: 14
    if tokens is None:
        return None
    return tokens / 1_000_000 * rate
# --- near: written as a key, and another object's attribute is what is divided
def convert(usage):
    return {"output_tokens": usage.get("completion_tokens", 0)}
def speed(message, seconds):
    return message.output_tokens / seconds
# --- written as a key and divided as one
def convert(usage):
    return {"output_tokens": usage.get("completion_tokens", 0)}  # error: 30
def speed(message, seconds):
    return message["output_tokens"] / seconds
# --- near: SGLang's meta_info always has its count
def total(results):
    return sum(each["meta_info"].get("completion_tokens", 0) for each in results)
# --- the acceptance in meta_info is there with speculation alone
def mean(results):
    return sum(each["meta_info"].get("spec_accept_length", 0) for each in results)  # error: 16
# --- handed to a function that computes a price
class Client:
    def cost(self, prompt_tokens, generated):
        return generated / 1_000_000 * self.price
    def ask(self, data):
        usage = data.get("usage", {})
        return self.cost(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))  # error: 57
# --- near: handed to a function that shows it, beside one that divides its own
class Client:
    def show(self, completion_tokens):
        print(completion_tokens)
    def speed(self, completion_tokens, seconds):
        return completion_tokens / seconds
    def ask(self, data):
        usage = data.get("usage", {})
        self.show(completion_tokens=usage.get("completion_tokens", 0))
# --- near: estimated where nothing was reported, in another function
from harbour import Answer
class Backend:
    def ask(self, data):
        usage = data.get("usage") or {}
        return Answer(completion_tokens=int(usage.get("completion_tokens") or 0))
    def add(self, answer, text):
        if not answer.completion_tokens:
            answer.completion_tokens = estimate(text)
        self.total += answer.completion_tokens
# --- near: handed to a function that estimates it where it is 0
class Backend:
    def ask(self, data):
        self.keep(data["usage"].get("completion_tokens", 0), data["text"])
    def keep(self, tokens, text):
        if not tokens:
            tokens = estimate(text)
        self.total += tokens
# --- near: the largest so far is kept
def read(chunks, seconds):
    tokens = 0
    for chunk in chunks:
        tokens = max(tokens, chunk["usage"].get("completion_tokens", 0))
    return tokens / seconds
# --- the larger of two answers
def read(first, second, seconds):
    tokens = max(first["usage"].get("completion_tokens", 0), 1)  # error: 18
    return tokens / seconds
# --- near: results that a function of the file makes with the key
from harbour import call_api
class Router:
    def execute(self, query):
        try:
            result = call_api(query)
            return {"response": result["text"], "completion_tokens": result["n"]}
        except ValueError:
            return {"response": "", "completion_tokens": 0}
    def route(self, queries):
        responses = []
        for query in queries:
            made = self.execute(query)
            responses.append(made)
        return sum(each.get("completion_tokens", 0) for each in responses)
# --- results of which some come from elsewhere
from harbour import call_api
class Router:
    def execute(self, query):
        return {"response": query, "completion_tokens": 0}
    def route(self, queries):
        responses = [self.execute(query) for query in queries]
        responses.append(call_api(queries))
        return sum(each.get("completion_tokens", 0) for each in responses)  # error: 20
# --- near: records that are made with numbers
from harbour import Cost
def total(responses):
    chunks = []
    for response in responses:
        tokens = float(response["usage"]["completion_tokens"])
        chunks.append(Cost(output_tokens=tokens))
    return sum(chunk.output_tokens or 0.0 for chunk in chunks)
# --- records that are made with what may be None
from harbour import Cost
def total(responses):
    chunks = []
    for response in responses:
        tokens = response["usage"].get("completion_tokens")
        chunks.append(Cost(output_tokens=tokens))
    return sum(chunk.output_tokens or 0.0 for chunk in chunks)  # error: 16
# --- near: usage of the program's own in an attribute
class Agent:
    def __init__(self):
        self.usage = {"completion_tokens": 0}
    def speed(self, seconds):
        return self.usage.get("completion_tokens", 0) / seconds
# --- usage of an answer beside it
class Agent:
    def __init__(self):
        self.usage = {"completion_tokens": 0}
    def add(self, response):
        self.tokens += response.usage.get("completion_tokens", 0)  # error: 24
# --- near: what a method returns is of an own class
from dataclasses import dataclass
@dataclass
class Tokens:
    output_tokens: int = 0
@dataclass
class Answer:
    usage: Tokens
class Context:
    async def complete(self, messages) -> Answer:
        raise NotImplementedError
async def run(context: Context, span, messages):
    response = await context.complete(messages)
    usage = response.usage
    span.set_attribute("tokens", getattr(usage, "output_tokens", 0))
# --- near: there if the total is, and else estimated
class Client:
    def add(self, data, text):
        usage = data.get("usage")
        if usage and usage.get("total_tokens"):
            tokens = usage.get("completion_tokens", 0)
        else:
            tokens = estimate(text)
        self.total += tokens
# --- near: estimated where there is text
def record(chunks, span, count):
    output_tokens, text = 0, ""
    for chunk in chunks:
        text += chunk.text
        usage = getattr(chunk, "usage", None)
        if usage:
            output_tokens = getattr(usage, "completion_tokens", 0) or 0
    if output_tokens == 0 and text:
        try:
            output_tokens = count(text)
        except ValueError:
            output_tokens = len(text.split())
    span.set_attribute("tokens", output_tokens)
# --- near: a price of what the callers made with the key
def price(usage, rate):
    return usage.get("completion_tokens", 0) / 1000 * rate
def one(n, rate):
    return price({"completion_tokens": n}, rate)
def other(n, rate):
    return price(usage={"completion_tokens": n, "prompt_tokens": 0}, rate=rate)
# --- a price of what one caller received
def price(usage, rate):
    return usage.get("completion_tokens", 0) / 1000 * rate  # error: 12
def one(n, rate):
    return price({"completion_tokens": n}, rate)
def other(body, rate):
    return price(body["usage"], rate)
# --- near: empty until it is written out with the key
def observe(chunks, span):
    counts = {}
    for chunk in chunks:
        usage = chunk.usage
        if usage:
            counts = {"completion_tokens": usage.completion_tokens}
    if counts:
        span.set_attribute("tokens", counts.get("completion_tokens", 0))
# --- filled key by key
def observe(chunks, span):
    usage_data = {}
    for chunk in chunks:
        if chunk.type == "start":
            usage_data["input_tokens"] = chunk.usage.input_tokens
        if chunk.type == "delta":
            usage_data["output_tokens"] = chunk.usage.output_tokens
    if usage_data:
        span.set_attribute("tokens", usage_data.get("output_tokens", 0))  # error: 38
# --- empty where nothing was reported
def observe(chunks, span):
    usage_data = {}
    for chunk in chunks:
        if chunk.usage:
            usage_data = {"completion_tokens": chunk.usage.completion_tokens}
    span.set_attribute("tokens", usage_data.get("completion_tokens", 0))  # error: 34
# --- near: a pair's second, written out in all functions
async def one(n):
    if n == 0:
        return [], {"completion_tokens": 0}
    usage_info = {"completion_tokens": n}
    return [n], usage_info
async def all_of(numbers, gather):
    total = 0
    for _, usage_info in await gather(map(one, numbers)):
        total += usage_info.get("completion_tokens", 0)
    return total
# --- near: reported together with the input, or not at all
def add(messages, total):
    for message in messages:
        usage = message.get("usage")
        if not isinstance(usage, dict) or "input_tokens" not in usage:
            continue
        total += usage.get("output_tokens", 0) or 0
    return total
# --- near: SGLang's meta_info within an answer
def total(responses):
    return sum(r["meta_info"].get("completion_tokens", 0) for r in responses)
# --- near: no drafts but where there is something to verify
class Backend:
    def rows(self, mode):
        return self.padded(self.length + (self.num_draft_tokens if mode.is_verify() else 0))
    def padded(self, length):
        return length // self.size
# --- near: pairs whose second is written out, gathered
async def one(n):
    counts_of_one = {"completion_tokens": n}
    return [n], counts_of_one
async def all_of(numbers, gather):
    total, response = 0, [one(n) for n in numbers]
    response_parts = await gather(*response)
    for _, counts_of_one in response_parts:
        total += counts_of_one.get("completion_tokens", 0)
    return total
