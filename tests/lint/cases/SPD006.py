# --- one scrape into a dict
import requests
def scrape(url):
    return dict(line.rsplit(" ", 1) for line in requests.get(url + "/metrics").text.splitlines() if line[:1] != "#")
def rate(url):
    now = scrape(url)
    return float(now["vllm:spec_decode_num_accepted_tokens_total"]) / float(now["vllm:spec_decode_num_draft_tokens_total"])  # error: 12
# --- line by line under a test
import requests
def rate(url):
    accepted = drafted = 0.0
    for line in requests.get(f"{url}/metrics").text.splitlines():
        if line.startswith("vllm:spec_decode_num_accepted_tokens_total"):
            accepted = float(line.split()[-1])
        elif line.startswith("vllm:spec_decode_num_draft_tokens_total"):
            drafted = float(line.split()[-1])
    return accepted / drafted  # error: 12
# --- added up over engines
def rate(text):
    accepted, drafts = 0.0, 0.0
    for line in text.splitlines():
        if "vllm:spec_decode_num_accepted_tokens_total" in line:
            accepted += float(line.rsplit(" ", 1)[1])
        if "vllm:spec_decode_num_drafts_total" in line:
            drafts += float(line.rsplit(" ", 1)[1])
    return 1 + accepted / drafts  # error: 16
# --- regular expression
import re
def rate(text):
    accepted = float(re.search(r"vllm:spec_decode_num_accepted_tokens_total\{.*?\} (\S+)", text).group(1))
    drafted = float(re.search(r"vllm:spec_decode_num_draft_tokens_total\{.*?\} (\S+)", text).group(1))
    return accepted / drafted  # error: 12
# --- helper that reads one counter
def rate(text):
    accepted = counter_value(text, "vllm:spec_decode_num_accepted_tokens_total")
    drafted = counter_value(text, "vllm:spec_decode_num_draft_tokens_total")
    return accepted / drafted  # error: 12
# --- names kept in constants
ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
DRAFTS = "vllm:spec_decode_num_drafts_total"
def length(client):
    metrics = client.get_metrics()
    return 1 + metrics[ACCEPTED] / metrics[DRAFTS]  # error: 16
# --- prometheus_client's parser
from prometheus_client.parser import text_string_to_metric_families
def rate(text):
    for family in text_string_to_metric_families(text):
        if family.name == "vllm:spec_decode_num_accepted_tokens":
            accepted = sum(s.value for s in family.samples)
        if family.name == "vllm:spec_decode_num_draft_tokens":
            drafted = sum(s.value for s in family.samples)
    return accepted / drafted  # error: 12
# --- accepted tokens over wall time
import time
def speed(scrape, url, run):
    start = time.time()
    run()
    metrics = scrape(url)
    return metrics["vllm:spec_decode_num_accepted_tokens_total"] / (time.time() - start)  # error: 12
# --- get with a default
def rate(url):
    metrics = fetch(url)
    accepted = metrics.get("vllm:spec_decode_num_accepted_tokens_total", 0)
    drafted = metrics.get("vllm:spec_decode_num_draft_tokens_total", 0)
    return accepted / drafted if drafted else None  # error: 12
# --- in-process metrics
def length(llm):
    for metric in llm.get_metrics():
        if metric.name == "vllm:spec_decode_num_drafts":
            num_drafts = metric.value
        elif metric.name == "vllm:spec_decode_num_accepted_tokens":
            num_accepted = metric.value
    return 1 + (num_accepted / num_drafts)  # error: 17
# --- sum in a comprehension
def rate(samples):
    accepted = sum(s.value for s in samples if s.name == "vllm:spec_decode_num_accepted_tokens_total")
    drafted = sum(s.value for s in samples if s.name == "vllm:spec_decode_num_draft_tokens_total")
    return accepted / drafted  # error: 12
# --- f-string prefix
PREFIX = "vllm:spec_decode_num_"
def rate(url):
    m = read_metrics(url)
    return m[f"{PREFIX}accepted_tokens_total"] / m[f"{PREFIX}draft_tokens_total"]  # error: 12
# --- PromQL of counters as they stand
QUERY = "sum(vllm:spec_decode_num_accepted_tokens_total) / sum(vllm:spec_decode_num_draft_tokens_total)"  # error: 9
# --- llama.cpp's names
def rate(m_text):
    m = parse(m_text)
    return m["llamacpp:spec_decode_num_accepted_tokens_total"] / m["llamacpp:spec_decode_num_draft_tokens_total"]  # error: 12
# --- snapshot handed to a function
def acceptance(metrics):
    return metrics["vllm:spec_decode_num_accepted_tokens_total"] / metrics["vllm:spec_decode_num_draft_tokens_total"]  # error: 12
def main(url):
    now = scrape(url)
    print(acceptance(now))
# --- awaited scrape
async def rate(session, url):
    metrics = await scrape(session, url)
    return metrics["vllm:spec_decode_num_accepted_tokens_total"] / metrics["vllm:spec_decode_num_drafts_total"]  # error: 12
# --- near: difference of two readings
def rate(scrape, run):
    before = scrape()
    run()
    after = scrape()
    accepted = after["vllm:spec_decode_num_accepted_tokens_total"] - before["vllm:spec_decode_num_accepted_tokens_total"]
    drafted = after["vllm:spec_decode_num_draft_tokens_total"] - before["vllm:spec_decode_num_draft_tokens_total"]
    return accepted / drafted if drafted else None
# --- near: a dict of differences
def rate(before, after):
    delta = {k: after[k] - before.get(k, 0) for k in after}
    return delta["vllm:spec_decode_num_accepted_tokens_total"] / delta["vllm:spec_decode_num_draft_tokens_total"]
# --- near: a helper that subtracts
def diff(a, b):
    return {k: b[k] - a[k] for k in b}
def rate(before, after):
    change = diff(before, after)
    return change["vllm:spec_decode_num_accepted_tokens_total"] / change["vllm:spec_decode_num_drafts_total"]
# --- near: difference handed to a function
def acceptance(metrics):
    return metrics["vllm:spec_decode_num_accepted_tokens_total"] / metrics["vllm:spec_decode_num_draft_tokens_total"]
def main(before, after):
    print(acceptance({k: after[k] - before[k] for k in after}))
# --- near: a parameter of unknown origin
def acceptance(metrics):
    return metrics["vllm:spec_decode_num_accepted_tokens_total"] / metrics["vllm:spec_decode_num_draft_tokens_total"]
# --- near: PromQL with rate
QUERY = "sum(rate(vllm:spec_decode_num_accepted_tokens_total[5m])) / sum(rate(vllm:spec_decode_num_draft_tokens_total[5m]))"
# --- near: PromQL with increase
QUERY = "increase(vllm:spec_decode_num_accepted_tokens_total[1h]) / increase(vllm:spec_decode_num_draft_tokens_total[1h])"
# --- near: read and shown
def show(text):
    for line in text.splitlines():
        if line.startswith("vllm:spec_decode_num_drafts_total"):
            print(line)
# --- near: presence of the family
def speculates(text):
    return "vllm:spec_decode_num_drafts_total" in text
# --- near: another counter of the server
def hit_rate(m):
    spec_names = ["vllm:spec_decode_num_drafts_total"]
    return m["vllm:prefix_cache_hits_total"] / m["vllm:prefix_cache_queries_total"]
# --- near: subtracting helper by name
def rate(before, after):
    accepted = counter_delta(before, after, "vllm:spec_decode_num_accepted_tokens_total")
    drafted = counter_delta(before, after, "vllm:spec_decode_num_draft_tokens_total")
    return accepted / drafted
# --- near: differences in a loop over names
NAMES = {"accepted": "vllm:spec_decode_num_accepted_tokens_total", "drafted": "vllm:spec_decode_num_draft_tokens_total"}
def rate(before, after):
    d = {key: after[name] - before[name] for key, name in NAMES.items()}
    return d["accepted"] / d["drafted"]
# --- near: a mock server adds up
def expose(state):
    yield f"vllm:spec_decode_num_drafts_total {state.drafts}"
    yield f"half {state.drafts / 2}"
# --- near: per-request statistics
def rate(spec):
    name = "vllm:spec_decode_num_drafts_total"
    return spec["num_accepted_draft_tokens"] / spec["num_draft_tokens"]
# --- near: difference under a test
def rate(text, before):
    for line in text.splitlines():
        if line.startswith("vllm:spec_decode_num_accepted_tokens_total"):
            accepted = float(line.split()[-1]) - before["accepted"]
        if line.startswith("vllm:spec_decode_num_draft_tokens_total"):
            drafted = float(line.split()[-1]) - before["drafted"]
    return accepted / drafted
# --- near: documentation of the formula
HELP = """
acceptance = vllm:spec_decode_num_accepted_tokens_total / vllm:spec_decode_num_draft_tokens_total,
each as the difference of two readings.
"""
# --- near: a statistic of the run, named beside the counter
def stat(metrics, name, statistic):
    return metrics[name]["stats"].get(statistic)

def report(metrics):
    accepted = stat(metrics, "vllm:spec_decode_num_accepted_tokens", "total")
    drafts = stat(metrics, "vllm:spec_decode_num_drafts", "total")
    return accepted / drafts + 1
# --- the group of a match, by its number
import re, requests
def acceptance(url):
    text = requests.get(url + "/metrics").text
    accepted = float(re.search(r"vllm:spec_decode_num_accepted_tokens_total\S* (\S+)", text)[1])
    drafted = float(re.search(r"vllm:spec_decode_num_draft_tokens_total\S* (\S+)", text)[1])
    return accepted / drafted  # error: 12
# --- near: the counters of an engine that is made for the run
from vllm import LLM
def acceptance(prompts):
    llm = LLM(model="m", speculative_config={"method": "ngram"})
    llm.generate(prompts)
    drafted = accepted = 0
    for metric in llm.get_metrics():
        if metric.name == "vllm:spec_decode_num_draft_tokens":
            drafted += metric.value
        elif metric.name == "vllm:spec_decode_num_accepted_tokens":
            accepted += metric.value
    return accepted / drafted if drafted else None
# --- the counters of an engine that others use, too
def acceptance(llm, prompts):
    llm.generate(prompts)
    drafted = accepted = 0
    for metric in llm.get_metrics():
        if metric.name == "vllm:spec_decode_num_draft_tokens":
            drafted += metric.value
        elif metric.name == "vllm:spec_decode_num_accepted_tokens":
            accepted += metric.value
    return accepted / drafted if drafted else None  # error: 12
# --- an engine that is read once for each of several runs
from vllm import LLM
def acceptance(batches):
    llm = LLM(model="m", speculative_config={"method": "ngram"})
    def one(prompts):
        llm.generate(prompts)
        for metric in llm.get_metrics():
            if metric.name == "vllm:spec_decode_num_draft_tokens":
                drafted = metric.value
            elif metric.name == "vllm:spec_decode_num_accepted_tokens":
                accepted = metric.value
        return accepted / drafted  # error: 16
    return [one(prompts) for prompts in batches]
