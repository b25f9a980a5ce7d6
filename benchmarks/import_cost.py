"""What importing and switching on costs in time, memory and modules.

    import_cost.py [PEER_PYTHON]    a Markdown table; with the interpreter of an
                                    environment that has genai-openai (`peers.py`
                                    makes one), that is measured beside

Each line is a fresh interpreter, over and over, turn by turn; ratios are to the same
interpreter with `import openai` alone.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

NUM_ROUNDS = 11
RUN_LIMIT_S = 600
# The last line is what it took: milliseconds of CPU, KiB at the peak, and modules.
FRAME = """
import resource, sys, time
{before}
modules, started = len(sys.modules), time.process_time()
{measured}
spent = time.process_time() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print([spent * 1000, peak, len(sys.modules) - modules])
"""
CLIENT = "client = openai.OpenAI(api_key='x', base_url='http://127.0.0.1:1/v1')"
GENAI = "from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor"
OURS = "from otel_specdecode import SpecDecodeInstrumentor"

# Title, what is done before, and what is measured.
Step = tuple[str, str, str]
STEPS: tuple[Step, ...] = (
    ("nothing: plain Python", "", ""),
    ("`import openai`", "", "import openai"),
    ("`import otel_specdecode`", "", "import otel_specdecode"),
    (
        "`wrap(client)`, imports included, openai there already",
        f"import openai\n{CLIENT}",
        "from otel_specdecode import wrap\nwrap(client)",
    ),
    (
        "`instrument()`, imports included, openai there already",
        "import openai",
        f"{OURS}\nSpecDecodeInstrumentor().instrument()",
    ),
)
PEER_STEPS: tuple[Step, ...] = (
    ("`import openai`, in the peer's environment", "", "import openai"),
    (
        "genai-openai's `instrument()`, the same way",
        "import openai",
        f"{GENAI}\nOpenAIInstrumentor().instrument()",
    ),
)


def run(python: str, step: Step) -> list[float]:
    _, before, measured = step
    program = FRAME.format(before=before, measured=measured)
    done = subprocess.run(
        (python, "-c", program),
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def table(python: str, steps: tuple[Step, ...]) -> list[str]:
    """Return a line a step: medians, and the ratio to what `import openai` takes."""
    runs: dict[str, list[list[float]]] = {step[0]: [] for step in steps}
    for _ in range(NUM_ROUNDS):
        for step in steps:
            runs[step[0]].append(run(python, step))
    base = next(values for title, values in runs.items() if "import openai" in title)
    base_ms, base_kib = (min(v[i] for v in base) for i in (0, 1))
    lines: list[str] = []
    for title, values in runs.items():
        least, median = (
            min(v[0] for v in values),
            statistics.median(v[0] for v in values),
        )
        peak = min(v[1] for v in values)
        lines.append(
            f"| {title} | {least:.1f} ms | {median:.1f} ms | {least / base_ms:.3f}"
            f" | {peak / 1024:.1f} MiB | {peak / base_kib:.2f} | {values[0][2]:.0f} |"
        )
    return lines


def main() -> None:
    print("| | CPU, least | median | to openai | peak memory | to openai | modules |")
    print("|---|---|---|---|---|---|---|")
    for line in table(sys.executable, STEPS):
        print(line)
    if len(sys.argv) > 1:
        for line in table(sys.argv[1], PEER_STEPS):
            print(line)


if __name__ == "__main__":
    main()
