"""A fleet: agents, a load balancer that knows nothing, gateways, one Prometheus."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING

import pytest
import requests
from collector_programs import free_port, wait_until
from loopback import Quiet, serving
from traffic import run_application

from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from collector_stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PROFILE = Profile(
    model="m",
    time_scale=0.0,
    speculation=Speculation(method="mtp", acceptance_by_position=(0.8, 0.5)),
)
NAMES = ("requests", "output_tokens", "draft_tokens", "accepted_tokens")


def in_turns(
    urls: Sequence[str], taken: collections.Counter[str]
) -> AbstractContextManager[str]:
    """A load balancer: each request goes to the next of `urls`."""
    turn = itertools.cycle(urls)

    class Handler(Quiet):
        def post(self, body: bytes) -> None:
            url = next(turn)
            kept = ("Content-Type", "Content-Encoding")
            headers = {name: self.headers[name] for name in kept if self.headers[name]}
            answer = requests.post(
                url + self.path, data=body, headers=headers, timeout=30
            )
            taken[url] += 1
            self.reply(answer.content, status=answer.status_code)

    return serving(Handler)


def test_any_gateway_can_take_any_batch_and_the_sums_are_whole(stack: Stack) -> None:
    port = free_port()
    env = {"SPECDECODE_PROMETHEUS_URL": f"http://127.0.0.1:{port}"}
    prometheus = stack.prometheus(port=port)
    gateways = [
        stack.collector("export-prometheus-otlp", "gateway", env=env).url
        for _ in range(2)
    ]
    taken: collections.Counter[str] = collections.Counter()
    with in_turns(gateways, taken) as balancer, simulate(PROFILE) as simulator:
        agents = [
            stack.collector("export-otlp", env={"SPECDECODE_OTLP_ENDPOINT": balancer})
            for _ in range(2)
        ]
        target = {"base_url": simulator.base_url, "model": "m", "rounds": 5}
        recorded = [
            run_application(agent.url, [target], pause_s=1.1)["m"] for agent in agents
        ]
        whole = {name: sum(one[name] for one in recorded) for name in NAMES}
        wait_until(
            f"{whole}",
            lambda: (
                {
                    name: prometheus.value(f"sum(specdecode_client_{name}_total)")
                    for name in NAMES
                }
                == whole
            ),
        )
    assert set(taken) == set(gateways)
    # Two processes are two series, though they are one service.
    instances = "count(count by (instance) (specdecode_client_requests_total))"
    assert prometheus.value(instances) == 2
    # Whatever overtook whatever on the way: nothing went backwards.
    resets = prometheus.value("sum(resets(specdecode_client_output_tokens_total[5m]))")
    assert resets == 0
