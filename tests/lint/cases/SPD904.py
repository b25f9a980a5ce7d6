# --- filtered by another field
def rate(responses):
    timed = [r for r in responses if r.seconds is not None]
    return sum(r.completion_tokens or 0 for r in timed) / sum(r.seconds for r in timed)  # error: 16
# --- a record of one request
def add(metrics, record):
    metrics.latency_s += record.latency_s or 0
    metrics.completion_tokens += record.completion_tokens or 0  # error: 34
# --- a row of JSON lines, null allowed
def total(rows):
    return sum(r.get("output_tokens") or 0 for r in rows)  # error: 16
# --- a row read from a table
def speed(cursor, seconds):
    n = 0
    for row in cursor.fetchall():
        n += row["completion_tokens"] or 0  # error: 14
    return n / seconds
# --- an attribute of a result
def add(result, counter):
    counter.add(result.output_tokens or 0)  # error: 17
# --- near: a plain default where the object may lack it
def rate(item, seconds):
    return getattr(item, "completion_tokens", 0) / seconds
# --- near: asked with hasattr
def rate(output, seconds):
    n = output.completion_tokens if hasattr(output, "completion_tokens") else 0
    return n / seconds
# --- filtered by success, not by the count
def rate(rows, seconds):
    done = [r for r in rows if r.get("success")]
    return sum(r.get("output_tokens", 0) or 0 for r in done) / seconds  # error: 16
# --- an object that may be none
def rate(result, seconds):
    return (result.output_tokens if result else 0) / seconds  # error: 13
# --- handler gives zero
def rate(row, seconds):
    try:
        tokens = int(row["output_tokens"])
    except (KeyError, TypeError):
        tokens = 0  # error: 18
    return tokens / seconds
# --- acceptance rate of the program's own
def mean(rows):
    import statistics
    return statistics.mean(row.get("acceptance_rate", 0.0) or 0 for row in rows)  # error: 28
# --- acceptance length of the program's own
def total(run):
    return sum([run.acceptance_length or 0])  # error: 17
# --- a log of usage is the program's own
def total(usage_log):
    return sum(entry.get("output_tokens", 0) or 0 for entry in usage_log)  # error: 16
# --- a session's statistics
def report(session_stats, gauge):
    gauge.set(session_stats.get("completion_tokens", 0) or 0)  # error: 15
# --- a file that is read back
import json
def total(path):
    with open(path) as file:
        data = json.load(file)
    return sum(entry.get("completion_tokens", 0) or 0 for entry in data["runs"])  # error: 16
# --- a class that says nothing of the field
class Result:
    pass
def total(results: list[Result]):
    return sum(r.output_tokens or 0 for r in results)  # error: 16
# --- near: a class of which every object has it
from dataclasses import dataclass
@dataclass
class Result:
    output_tokens: int
def total(results: list[Result]):
    return sum(r.output_tokens or 0 for r in results)
# --- near: its own field
from dataclasses import dataclass
@dataclass
class Metrics:
    output_tokens: int = 0
    def __add__(self, other: "Metrics") -> "Metrics":
        return Metrics(self.output_tokens + (getattr(other, "output_tokens") or 0))
# --- near: a field that is inherited
class Base:
    completion_tokens: int = 0
class Row(Base):
    pass
def total(rows: list[Row]):
    return sum(r.completion_tokens or 0 for r in rows)
# --- near: made here by its class
from dataclasses import dataclass
@dataclass
class Row:
    completion_tokens: "int" = 0
def rate(seconds):
    row = Row()
    return (row.completion_tokens or 0) / seconds
# --- near: a column that may not be null
class Call(Base):
    output_tokens: Mapped[int] = mapped_column(default=0)
def total(session):
    return sum(call.output_tokens or 0 for call in session.query(Call))
# --- near: an answer, which SPD005 reports
def total(responses):
    return sum(r.usage.completion_tokens or 0 for r in responses)
# --- near: a parsed body, which SPD005 reports
def rate(session, seconds):
    data = session.post("/v1/chat/completions").json()
    return data["usage"].get("completion_tokens", 0) / seconds
# --- near: a name that a server gave, which SPD005 reports
def rate(row):
    return (row.get("draft_n_accepted") or 0) / row["draft_n"]
# --- near: a field declared optional, which SPD005 reports
from dataclasses import dataclass
@dataclass
class Row:
    output_tokens: int | None = None
def total(rows: list[Row]):
    return sum(r.output_tokens or 0 for r in rows)
# --- near: shown only
def show(row):
    print(f"{(row.get('output_tokens') or 0)} tokens")
# --- near: sorted by it
def longest(rows):
    return max(rows, key=lambda row: (row.get("output_tokens") or 0))
# --- near: divided only where there are some
def speed(row, seconds):
    tokens = (row.get("output_tokens") or 0)
    return tokens / seconds if tokens else None
# --- near: those that have none are left out
def speeds(rows):
    return [(r.get("output_tokens") or 0) / r["s"] for r in rows if r.get("output_tokens")]
# --- near: recorded only where there are some
def export(row, counter):
    tokens = (row.get("completion_tokens") or 0)
    if tokens:
        counter.add(tokens)
# --- near: a total of the program's own
def cost(totals, price):
    return sum([(totals.get("completion_tokens") or 0) * price])
# --- near: what a sum begins with
def add(stats, n, seconds):
    stats["output_tokens"] = (stats.get("output_tokens") or 0) + n
    return stats["output_tokens"] / seconds
# --- near: estimated where there is none
def tokens(row, text):
    n = (row.get("output_tokens") or 0)
    if not n:
        n = len(text) // 4
    return n / row["seconds"]
# --- near: no default
def total(rows):
    return sum(row["output_tokens"] for row in rows)
# --- a loop that reuses the name of its list
def total(row, gauge):
    for row in row:
        gauge.add(row.get("output_tokens", 0) or 0)  # error: 19
# --- near: a row that SQL summed up
from sqlalchemy import func, select
def total(db, Call, gauge):
    row = db.execute(select(func.sum(Call.tokens).label("output_tokens"))).one()
    gauge.set(row.output_tokens or 0)
# --- a column that is only named anew
from sqlalchemy import select
def total(db, Call):
    rows = db.execute(select(Call.tokens.label("output_tokens"))).all()
    return sum(row.output_tokens or 0 for row in rows)  # error: 16
# --- a table of usage by user
def total(usage, users):
    return sum(usage[user].get("output_tokens", 0) or 0 for user in users)  # error: 16
# --- the values of a table of usage
def total(usage):
    return sum(each.get("output_tokens", 0) or 0 for each in usage.values())  # error: 16
# --- near: a plain default in a sum
def total(rows):
    return sum(row.get("output_tokens", 0) for row in rows)
# --- said to be none
def total(rows):
    return sum(0 if r.output_tokens is None else r.output_tokens for r in rows)  # error: 16
