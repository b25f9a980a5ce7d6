# --- statistics.mean over a generator of rates
import statistics
def report(rows):
    spec = [r["metrics"]["speculative_decoding"] for r in rows]
    return statistics.mean(s["draft_acceptance_rate"] for s in spec)  # error: 12
# --- numpy mean over a list of lengths
import numpy as np
def report(rows):
    lengths = [r["speculative_decoding"]["mean_acceptance_length"] for r in rows]
    print("mean acceptance length", np.mean(lengths))  # error: 37
# --- sum over len
def report(spec_records):
    rates = [s.draft_acceptance_rate for s in spec_records if s.draft_acceptance_rate is not None]
    avg = sum(rates) / len(rates)  # error: 11
    return avg
# --- appended in a loop
from statistics import fmean
def collect(responses):
    rates = []
    for response in responses:
        spec = response.metrics["speculative_decoding"]
        rates.append(spec["num_accepted_draft_tokens"] / spec["num_draft_tokens"])
    return fmean(rates)  # error: 12
# --- running total over the number of requests
def collect(responses):
    total = 0.0
    for response in responses:
        total += response["speculative_decoding"]["draft_acceptance_rate"]
    return total / len(responses)  # error: 12
# --- pandas column
import pandas as pd
def report(path):
    df = pd.read_json(path, lines=True)  # one row a request of the draft model run
    print("acceptance", df["draft_acceptance_rate"].mean())  # error: 25
# --- pandas attribute
import pandas as pd
df = pd.read_csv("speculative.csv")
print(df.mean_acceptance_length.mean())  # error: 7
# --- pandas groupby column
import pandas as pd
df = pd.read_csv("speculative.csv")
by_task = df.groupby("task")["acceptance_length"].mean()  # error: 11
# --- pandas agg with a dict
import pandas as pd
df = pd.read_csv("speculative.csv")
table = df.groupby("task").agg({"draft_acceptance_rate": "mean", "latency_s": "median"})  # error: 9
# --- pandas named aggregation
import pandas as pd
df = pd.read_csv("spec_decode.csv")
table = df.groupby("k").agg(rate=("acceptance_rate", "mean"))  # error: 9
# --- polars
import polars as pl
df = pl.read_ndjson("spec_decode.jsonl")
out = df.group_by("task").agg(pl.col("draft_acceptance_rate").mean())  # error: 31
# --- rates with a guard for nothing drafted
def summarise(stats):
    rates = [s["num_accepted_draft_tokens"] / s["num_draft_tokens"] if s["num_draft_tokens"] else 0.0 for s in stats]
    return sum(rates) / max(len(rates), 1)  # error: 12
# --- length recomputed per request
def summarise(stats):
    lengths = [1 + s["num_accepted_draft_tokens"] / s["num_spec_steps"] for s in stats]
    return sum(lengths) / len(lengths)  # error: 12
# --- numpy array of rates
import numpy as np
def summarise(spec_stats):
    arr = np.array([s.accept_rate for s in spec_stats])
    return arr.mean()  # error: 12
# --- helper gets the rates as a parameter
import numpy as np
def speculative_summary(acceptance_rates):
    return {"mean": float(np.mean(acceptance_rates))}  # error: 27
# --- average without weights
import numpy as np
def summarise(speculative):
    return np.average([s["draft_acceptance_rate"] for s in speculative])  # error: 12
# --- attribute list on self
class SpecDecodeTally:
    def __init__(self):
        self.acceptance_lengths = []
    def add(self, spec):
        self.acceptance_lengths.append(spec["mean_acceptance_length"])
    def mean(self):
        return sum(self.acceptance_lengths) / len(self.acceptance_lengths)  # error: 16
# --- SQL average over requests
QUERY = "SELECT task, AVG(draft_acceptance_rate) FROM requests GROUP BY task"  # error: 9
# --- SGLang's names
import statistics
def report(outputs):
    lens = [o["meta_info"]["spec_accept_length"] for o in outputs]
    return statistics.mean(lens)  # error: 12
# --- near: sums first
def report(stats):
    accepted = sum(s["num_accepted_draft_tokens"] for s in stats)
    drafted = sum(s["num_draft_tokens"] for s in stats)
    return accepted / drafted if drafted else None
# --- near: length from sums
def report(stats):
    C = sum(s["num_accepted_draft_tokens"] for s in stats)
    R = sum(s["num_spec_steps"] for s in stats)
    return 1 + C / R if R else None
# --- near: weighted by drafts
import numpy as np
def report(stats):
    rates = [s["draft_acceptance_rate"] for s in stats]
    return np.average(rates, weights=[s["num_draft_tokens"] for s in stats])
# --- near: weighted by hand
def report(stats):
    total = sum(s["num_draft_tokens"] for s in stats)
    return sum(s["draft_acceptance_rate"] * s["num_draft_tokens"] for s in stats) / total
# --- near: median over requests says so
import statistics
def report(stats):
    return statistics.median(s["draft_acceptance_rate"] for s in stats)
# --- near: percentiles over requests
import numpy as np
def report(stats):
    return np.percentile([s["draft_acceptance_rate"] for s in stats], [5, 50, 95])
# --- near: mean latency beside a speculative run
import statistics
def report(speculative_rows):
    return statistics.mean(r["latency_s"] for r in speculative_rows)
# --- near: Metropolis acceptance rate
import numpy as np
def summary(chains):
    return np.mean([chain.acceptance_rate for chain in chains])
# --- near: mean over the steps of one request
def steps(spec):
    return sum(spec["per_step_accepted"]) / len(spec["per_step_accepted"])
# --- near: one request's own ratio
def rate(spec):
    return spec["num_accepted_draft_tokens"] / spec["num_draft_tokens"]
# --- near: pandas sums of counts
import pandas as pd
df = pd.read_json("speculative.jsonl", lines=True)
sums = df.groupby("task")[["num_accepted_draft_tokens", "num_draft_tokens"]].sum()
rate = sums["num_accepted_draft_tokens"] / sums["num_draft_tokens"]
# --- near: named aggregation of counts
import pandas as pd
df = pd.read_csv("spec_decode.csv")
table = df.groupby("k").agg(accepted=("num_accepted_draft_tokens", "sum"), p95=("latency_s", "mean"))
# --- near: histogram pooled over requests
def pooled(stats):
    hist = [sum(col) for col in zip(*(s["acceptance_histogram"] for s in stats))]
    return sum(j * n for j, n in enumerate(hist)) / sum(hist)
# --- near: mean of accepted tokens a request is a count
import statistics
def per_request(stats):
    return statistics.mean(s["num_accepted_draft_tokens"] for s in stats)
# --- near: position rates from summed counters
def by_position(speculative, drafts):
    return [accepted / drafts for accepted in speculative["accepted_per_pos"]]
# --- near: a threshold on one rate
def too_low(spec):
    return spec["draft_acceptance_rate"] < 0.3
# --- near: SQL sums
QUERY = "SELECT SUM(num_accepted_draft_tokens) / SUM(num_draft_tokens) AS draft_acceptance_rate FROM requests"
# --- SGLang's tokens a verify step, averaged over requests
import numpy as np
def report(outputs):
    lengths = [o["meta_info"]["completion_tokens"] / o["meta_info"]["spec_verify_ct"] for o in outputs]
    print(f"accept length {np.mean(lengths):.2f}")  # error: 28
# --- the server's name is all that tells what is accepted
import numpy as np
def report(vllm_results):
    rates = [r["acceptance_rate"] for r in vllm_results]
    print("Acceptance rate:", np.mean(rates))  # error: 31
