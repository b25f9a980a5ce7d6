"""The probe says of a real collector what arrived behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from collector_programs import free_port

from otel_specdecode.cli.collector import command

if TYPE_CHECKING:
    from click.testing import Result
    from collector_stack import Stack

pytestmark = pytest.mark.e2e


def probe(stack: Stack, *settings: str, running: bool = True) -> Result:
    port = free_port()
    jaeger = stack.jaeger()
    collector = stack.collector(
        "export-prometheus-otlp",
        "export-traces",
        env={
            "SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}",
            "SPECDECODE_TRACES_ENDPOINT": jaeger.otlp,
        },
        settings=settings,
    )
    if running:
        stack.prometheus(port=port)
    return CliRunner().invoke(
        command,
        [
            "probe",
            collector.url,
            *("--prometheus", f"http://127.0.0.1:{port}"),
            *("--traces", jaeger.url),
            *("--within", "20" if running else "2"),
        ],
    )


def test_through_the_bundles_own_configuration_all_arrives_and_no_prompt(
    stack: Stack,
) -> None:
    done = probe(stack)
    lines = done.output.splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * 4, done.output
    assert "specdecode_probe_sent_total = 1" in lines[2]
    assert "the prompt that it carried did not" in lines[3]
    assert done.exit_code == 0


def test_a_pipeline_that_lets_content_through_is_found_out(stack: Stack) -> None:
    done = probe(stack, "service::pipelines::traces::processors: [memory_limiter]")
    assert done.exit_code == 1
    assert "content is not removed" in done.output


def test_a_backend_that_is_away_is_told_from_a_collector_that_is(stack: Stack) -> None:
    done = probe(stack, running=False)
    words = [line.split()[0] for line in done.output.splitlines()]
    assert (words, done.exit_code) == (["ok", "ok", "FAILED", "ok"], 1)
