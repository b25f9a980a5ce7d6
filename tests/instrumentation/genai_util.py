"""What opentelemetry-util-genai offers to those inside of its calls."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY = "opentelemetry.genai.client.inference.context"


@dataclass
class InferenceData:
    """Token counts that it takes; `None` until somebody hands them over."""

    usage_input_tokens: int | None = None
    usage_output_tokens: int | None = None


@contextmanager
def published(data: InferenceData | None) -> Iterator[None]:
    """Offer a place for token counts, as around one call; `None` offers none."""
    token = otel_context.attach(otel_context.set_value(_KEY, data))
    try:
        yield
    finally:
        otel_context.detach(token)
