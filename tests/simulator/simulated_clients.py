"""OpenAI clients of a simulator, made without loading certificates that none needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai

if TYPE_CHECKING:
    from otel_specdecode.simulator import Simulator


def sync_client(sim: Simulator, **options: Any) -> openai.OpenAI:
    """A client that tries once, unless told else."""
    http = openai.DefaultHttpxClient(verify=False)
    where = {"base_url": sim.base_url, "api_key": "x", "http_client": http}
    return openai.OpenAI(**{"max_retries": 0, **where, **options})


def async_client(sim: Simulator, **options: Any) -> openai.AsyncOpenAI:
    """The same, asynchronous."""
    http = openai.DefaultAsyncHttpxClient(verify=False)
    where = {"base_url": sim.base_url, "api_key": "x", "http_client": http}
    return openai.AsyncOpenAI(**{"max_retries": 0, **where, **options})
