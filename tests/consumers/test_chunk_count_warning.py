"""A program that takes chunks for tokens is told once, with the factor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("program.py")
WARNING = re.compile(r"ChunkCountWarning: (\w+) takes chunks for tokens \((\w+)\)")


def run(
    *options: str, cwd: Path = PROGRAM.parent, **variables: str
) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "OTEL_SPECDECODE_RERAISE": "true", **variables}
    return subprocess.run(
        [sys.executable, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environ,
        cwd=cwd,
    )


@pytest.fixture(scope="module")
def done() -> subprocess.CompletedProcess[str]:
    return run(PROGRAM.name)


def test_each_function_that_counts_chunks_is_named_once_and_no_other(done) -> None:
    named = WARNING.findall(done.stderr)
    assert sorted(named) == [
        ("counts_an_async_generator", "SPD001"),
        ("counts_chunks", "SPD001"),
        ("counts_in_a_task", "SPD001"),
        ("counts_what_is_handed_on", "SPD001"),
        ("tells_a_meter", "SPD001"),
        ("times_it", "SPD001"),
    ], done.stderr


def test_the_warning_gives_file_line_and_measured_factor(done) -> None:
    line = next(
        n
        for n, text in enumerate(PROGRAM.read_text().splitlines(), 1)
        if "num_tokens / (time.perf_counter() - started)" in text
    )
    assert f"program.py:{line}: ChunkCountWarning" in done.stderr
    assert (
        "44 chunks carried 128 tokens: this rate is 2.91 times too low" in done.stderr
    )


COUNTS_ON_THREE_SERVERS = """
import json, time
import httpx2, otel_specdecode
from openai import OpenAI
from program import ASK

def answering(num_chunks, num_tokens):
    choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": None}
    last = choice | {"delta": {}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": num_tokens, "total_tokens": 9}
    chunks = [
        *[{"choices": [choice]}] * num_chunks,
        {"choices": [last]},
        {"choices": [], "usage": usage},
    ]
    chunks = [{"id": "x", "model": "m", **chunk} for chunk in chunks]
    events = [f"data: {json.dumps(chunk)}\\n\\n" for chunk in chunks]
    body = "".join([*events, "data: [DONE]\\n\\n"])
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, text=body, headers=headers)
    )
    http = httpx2.Client(transport=transport)
    client = OpenAI(base_url="http://model.test/v1", api_key="x", http_client=http)
    return otel_specdecode.wrap(client)

def few(client):
    started, num_tokens = time.perf_counter(), 0
    for chunk in client.chat.completions.create(model="m", stream=True, **ASK):
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"

def as_many(client):
    started, num_tokens = time.perf_counter(), 0
    for chunk in client.chat.completions.create(model="m", stream=True, **ASK):
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"

def many(client):
    started, num_tokens = time.perf_counter(), 0
    for chunk in client.chat.completions.create(model="m", stream=True, **ASK):
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"

few(answering(2, 5))
as_many(answering(5, 5))
many(answering(5, 4))
"""


def test_the_warning_says_which_way_the_rate_is_wrong(tmp_path: Path) -> None:
    """A server may also cut a token's text into several chunks."""
    (tmp_path / "run.py").write_text(COUNTS_ON_THREE_SERVERS)

    done = run("run.py", cwd=tmp_path, PYTHONPATH=str(PROGRAM.parent))

    said = re.findall(
        r"ChunkCountWarning: (\w+) .*this rate is (.+?)\. Use", done.stderr
    )
    assert sorted(said) == [
        ("as_many", "right on this stream, by chance"),
        ("few", "2.50 times too low"),
        ("many", "1.25 times too high"),
    ], done.stderr


def test_the_span_of_a_later_stream_is_marked(done) -> None:
    said = json.loads(done.stdout)
    assert said["marks"] == ["SPD001"]
    assert said["events"][0]["factor"] == 2.91


def test_each_function_is_counted_once_however_often_it_streams(done) -> None:
    assert json.loads(done.stdout)["sites"] == [
        ["SPD001", len(WARNING.findall(done.stderr))]
    ]


def test_warnings_as_errors_change_nothing_for_the_program(done) -> None:
    strict = run("-W", "error", PROGRAM.name)
    assert strict.returncode == done.returncode == 0
    assert json.loads(strict.stdout)["marks"] == json.loads(done.stdout)["marks"]
    assert "Traceback" not in strict.stderr
    assert "44 chunks carried 128 tokens" in strict.stderr


def test_a_variable_turns_it_off() -> None:
    script = (
        "import program; from openai import OpenAI; import otel_specdecode\n"
        "from otel_specdecode.simulator import simulate, named_profile\n"
        "from dataclasses import replace\n"
        "with simulate(replace(named_profile('mtp'), time_scale=0)) as sim:\n"
        "    client = OpenAI(base_url=sim.base_url, api_key='x')\n"
        "    otel_specdecode.wrap(client)\n"
        "    program.counts_chunks(client, sim.model)\n"
    )
    on = run("-c", script)
    off = run("-c", script, OTEL_SPECDECODE_CHUNK_COUNT_CHECK="false")
    assert (on.returncode, off.returncode) == (0, 0)
    assert WARNING.findall(on.stderr) == [("counts_chunks", "SPD001")]
    assert off.stderr == ""


def test_code_without_a_source_file_is_silent() -> None:
    script = PROGRAM.read_text().replace("while time.monotonic() < deadline", "while 0")
    typed = run("-c", script)
    assert (typed.returncode, WARNING.findall(typed.stderr)) == (0, [])


COUNTS = """
def counts(client, model):
    started, num_tokens = time.perf_counter(), 0
    for chunk in client.chat.completions.create(model=model, stream=True, **ASK):
        if chunk.choices[0].delta.content:
            num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"
"""
SOURCE = f"import time\nfrom program import ASK\n{COUNTS}"
RUNS_FROM_EVERYWHERE = """
import os, runpy, sys, zipfile
from dataclasses import replace
import otel_specdecode
from openai import OpenAI
from otel_specdecode.simulator import named_profile, simulate

plain, source = sys.argv[1], open(sys.argv[1]).read()
with zipfile.ZipFile("code.zip", "w") as made:
    made.writestr("zipped.py", source)
    made.writestr("__main__.py", source)
sys.path.insert(0, os.path.abspath("code.zip"))
import zipped

def compiled(name, text=source):
    space = {}
    exec(compile(text, name, "exec"), space)
    return space["counts"]

names = ["<string>", "x" * 5000, os.devnull, ".", "code.zip/none.py", "", __file__]
consumers = [zipped.counts, runpy.run_path("code.zip")["counts"], *map(compiled, names)]
# The file has another function where this one claims to stand.
consumers.append(compiled(plain, source.replace("def counts", "def mine") +
                          "counts = mine"))
consumers.append(compiled(plain))
with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
    client = otel_specdecode.wrap(OpenAI(base_url=sim.base_url, api_key="x"))
    for counts in consumers:
        counts(client, sim.model)
print(len(consumers))
"""


def test_code_that_stands_in_no_file_is_silent_and_fails_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "plain.py").write_text(SOURCE)
    (tmp_path / "run.py").write_text(RUNS_FROM_EVERYWHERE)

    done = run(
        "run.py",
        str(tmp_path / "plain.py"),
        cwd=tmp_path,
        PYTHONPATH=str(PROGRAM.parent),
    )

    assert (done.stdout, done.returncode) == ("11\n", 0)
    assert WARNING.findall(done.stderr) == [("counts", "SPD001")]
    assert done.stderr.count("\n") <= 2  # the one warning, and its line


READ_FROM_ELSEWHERE = """
import asyncio, queue, threading, time
from dataclasses import replace
import otel_specdecode
from openai import AsyncOpenAI, OpenAI
from otel_specdecode.simulator import named_profile, simulate
from program import ASK

def open_stream(client, model):
    return client.chat.completions.create(model=model, stream=True, **ASK)

def unused(client, model):
    started, num_tokens = time.perf_counter(), 0
    for chunk in open_stream(client, model):
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"

def puts(client, model, chunks):
    for chunk in open_stream(client, model):
        chunks.put(chunk)
    chunks.put(None)

def through_a_queue(client, model):
    chunks, started, num_tokens = queue.Queue(), time.perf_counter(), 0
    threading.Thread(target=puts, args=(client, model, chunks)).start()
    while chunks.get() is not None:
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"  # the queue's

async def by_tasks(client, model):
    stream = await client.chat.completions.create(model=model, stream=True, **ASK)
    started, num_tokens = time.perf_counter(), 0
    while True:
        try:
            await asyncio.create_task(stream.__anext__())
        except StopAsyncIteration:
            break
        num_tokens += 1
    return f"{num_tokens / (time.perf_counter() - started):.1f} tok/s"

with simulate(replace(named_profile("mtp"), time_scale=0)) as sim:
    client = otel_specdecode.wrap(OpenAI(base_url=sim.base_url, api_key="x"))
    aio = otel_specdecode.wrap(AsyncOpenAI(base_url=sim.base_url, api_key="x"))
    through_a_queue(client, sim.model)
    asyncio.run(by_tasks(aio, sim.model))
    num_tokens, started = 0, time.perf_counter()
    sizes = [len(chunk.choices) for chunk in open_stream(client, sim.model)]
    print(f"{len(sizes) / (time.perf_counter() - started):.1f} tok/s")  # the module's
"""


def test_a_module_answers_for_its_own_lines_and_for_no_task(tmp_path: Path) -> None:
    """A task that does nothing but read one chunk has nobody to be named."""
    (tmp_path / "run.py").write_text(READ_FROM_ELSEWHERE)

    done = run("run.py", cwd=tmp_path, PYTHONPATH=str(PROGRAM.parent))

    named = re.findall(r"run\.py:(\d+): ChunkCountWarning: (\S+) takes", done.stderr)
    lines = READ_FROM_ELSEWHERE.split("\n")
    marked = {n for n, line in enumerate(lines, 1) if line.endswith("'s")}
    assert sorted(name for _, name in named) == ["<module>", "puts"], done.stderr
    assert {int(line) for line, _ in named} == marked


def test_the_examination_touches_neither_the_filters_nor_the_collector(
    tmp_path: Path,
) -> None:
    """It runs in a thread of other people's programs.

    Whoever leaves `warnings.catch_warnings()` in one thread while another is in it
    restores the other's filters for good, and pydantic is in it while a client starts.
    """
    script = (
        "import ast, gc, sys, threading, warnings\n"
        "from pathlib import Path\n"
        "from otel_specdecode.lint import run, settings\n"
        "reading, left = threading.Event(), threading.Event()\n"
        "parse, found = ast.parse, []\n"
        "def slow_parse(*args, **kwargs):\n"
        "    found.append(gc.isenabled())\n"
        "    reading.set(); left.wait(60)\n"
        "    return parse(*args, **kwargs)\n"
        "ast.parse = slow_parse\n"
        "def examine():\n"
        "    report = run.lint_files([Path(sys.argv[1])], settings.Settings())\n"
        "    found.extend(finding.code for finding in report.findings)\n"
        "with warnings.catch_warnings():\n"
        "    warnings.simplefilter('ignore')\n"
        "    thread = threading.Thread(target=examine); thread.start()\n"
        "    reading.wait(60)\n"
        "left.set(); thread.join()\n"
        "print(found[0], 'SPD001' in found, 'SPD000' in found)\n"
        "warnings.warn('still an error')\n"
    )
    escapes = tmp_path / "escapes.py"
    escapes.write_text(PROGRAM.read_text() + "x = '\\d'\n")

    done = run("-W", "error", "-c", script, str(escapes))

    assert done.stdout == "True True False\n"
    assert done.stderr.endswith("UserWarning: still an error\n")
