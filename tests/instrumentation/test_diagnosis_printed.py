"""What `print(diagnose())` shows in programs, which is what the page on it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from inline_snapshot import snapshot

from otel_specdecode.simulator import named_profile, simulate

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md"
PROGRAM = """
import sys
from openai import OpenAI
import otel_specdecode
from opentelemetry import metrics, trace
if "sdk" in sys.argv:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    trace.set_tracer_provider(TracerProvider())
    metrics.set_meter_provider(MeterProvider())
url, model = sys.argv[1:3]
if "wrap" in sys.argv:
    client = otel_specdecode.wrap(
        OpenAI(base_url=url.replace("//", "//user:hush@"), api_key="hush"),
        usage="unset",
    )
    ask = dict(model=model, messages=[{"role": "user", "content": "hush"}])
    for refusal in ({"x-simulate": "refuse=azure"}, {}):
        for _ in client.chat.completions.create(
            **ask, stream=True, extra_headers=refusal
        ):
            pass
    client.chat.completions.create(**ask, n=2)
    left_open = client.chat.completions.create(**ask, stream=True)
    next(left_open)
print(otel_specdecode.diagnose())
"""


def page(*words: str, **variables: str) -> str:
    """What a program of its own prints, with its port taken out."""
    with simulate(replace(named_profile("plain"), time_scale=0)) as sim:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, sim.base_url, sim.model, *words],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        host = sim.root_url.removeprefix("http://")
        return done.stdout.replace(host, "model.test:8000")


def test_a_program_that_did_nothing_is_told_so() -> None:
    assert page() == snapshot("""\
otel-specdecode 0.1.0 in this process
  instrumented  no
  also around   nobody
  also on       nothing
  traces        opentelemetry.trace.ProxyTracerProvider (global)
  metrics       opentelemetry.metrics._internal._ProxyMeterProvider (global)
  requests      none
  usage         none
  acceptance    none
  under way     0 open, 0 to be recorded
  dropped       none
  our failures  none
Likely wrong:
- No client is observed: call otel_specdecode.wrap(client), or
  SpecDecodeInstrumentor().instrument() before clients are made.
- No SDK is set up: the API's own no-op provider takes everything and keeps
  nothing. Call otel_specdecode.configure(), run under opentelemetry-instrument,
  or set a provider.
""")


def test_a_program_without_an_sdk_sees_what_it_did_and_why_nothing_arrives() -> None:
    printed = page("wrap")
    assert printed == snapshot("""\
otel-specdecode 0.1.0 in this process
  instrumented  no
  client        OpenAI to http://model.test:8000/v1/, wrapped, usage=unset
  also around   nobody
  also on       nothing
  traces        opentelemetry.trace.ProxyTracerProvider (global)
  metrics       opentelemetry.metrics._internal._ProxyMeterProvider (global)
  requests      3 completed
  usage         2 refused, 1 requested
  acceptance    2 absent, 1 not_applicable
                in 0 of 2 answers of model.test:8000, spec-demo
  under way     1 open, 0 to be recorded
  dropped       none
  our failures  none
Likely wrong:
- No SDK is set up: the API's own no-op provider takes everything and keeps
  nothing. Call otel_specdecode.configure(), run under opentelemetry-instrument,
  or set a provider.
- http://model.test:8000/v1/ refuses stream_options for spec-demo, so its
  streams carry no usage and no acceptance.
- No answer had acceptance from model.test:8000, spec-demo. `otel-specdecode
  doctor --base-url URL` says what the server lacks; logger otel_specdecode at
  DEBUG says why for each request.
""")
    assert "hush" not in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert f"(real output):\n\n```\n{printed}```\n" in DOCUMENT.read_text("utf-8")


def test_an_sdk_without_an_exporter_is_named() -> None:
    printed = page("sdk")
    assert "no span processor, so nothing" in printed
    assert "no metric reader, so nothing" in printed


def test_an_sdk_that_a_variable_turns_off_is_named() -> None:
    assert "OTEL_SDK_DISABLED turns the SDK off" in page(
        "sdk", OTEL_SDK_DISABLED="true"
    )
