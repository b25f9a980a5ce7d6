"""A small benchmark that gets tokens per second right, with or without speculation.

    python examples/measure_tok_s.py --requests 8 --concurrency 4

Tokens come from usage, acceptance from the server, and times from the client's
clock. Where a stream brought no usage there is no rate, and the exit code is 1: a
number made from chunks would be wrong by the very factor that is being measured.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from statistics import median

from _server import Server, open_server
from openai import AsyncOpenAI

import otel_specdecode
from otel_specdecode import RequestRecord, Totals

PROMPT = "Explain in two paragraphs what an inference server does with a batch."


async def measure(
    server: Server, *, num_requests: int, concurrency: int, max_tokens: int
) -> tuple[list[RequestRecord], float]:
    """Stream `num_requests` answers, `concurrency` at a time.

    Returns:
        A record a stream, and the seconds that all took together.
    """
    slots = asyncio.Semaphore(concurrency)
    async with AsyncOpenAI(base_url=server.base_url, api_key=server.api_key) as bare:
        client = otel_specdecode.wrap(bare)

        async def stream_one() -> None:
            async with slots:
                stream = await client.chat.completions.create(
                    model=server.model,
                    messages=[{"role": "user", "content": PROMPT}],
                    max_tokens=max_tokens,
                    temperature=0,
                    stream=True,
                )
                async for _ in stream:
                    pass

        await stream_one()  # warms up connection and server; not measured
        started_at = time.perf_counter()
        with otel_specdecode.capture() as records:
            await asyncio.gather(*(stream_one() for _ in range(num_requests)))
        return records, time.perf_counter() - started_at


def report(records: list[RequestRecord], wall_s: float) -> None:
    """Print the figures; what is unknown is left out, never guessed."""
    totals = Totals.of(records)
    print(f"requests                   {totals.num_requests}")
    print(f"output tokens              {totals.num_output_tokens}")
    print(
        f"throughput                 {totals.num_output_tokens / wall_s:.1f} tokens/s"
    )
    print(f"rate of one request        {totals.output_token_rate or 0:.1f} tokens/s")
    ttfts = [record.ttft_s for record in records if record.ttft_s is not None]
    if ttfts:
        print(f"TTFT, median               {median(ttfts) * 1000:.1f} ms")
    if totals.tpot_s is not None:
        print(f"TPOT                       {totals.tpot_s * 1000:.2f} ms a token")
    if totals.gaps is not None and totals.gaps.mean_s is not None:
        print(f"chunk gap, mean            {totals.gaps.mean_s * 1000:.2f} ms a chunk")
    if totals.undercount_factor is not None:
        print(f"tokens per chunk           {totals.undercount_factor:.2f}")
    if totals.draft_acceptance_rate is not None:
        print(f"draft acceptance rate      {totals.draft_acceptance_rate:.1%}")
        print(f"mean acceptance length     {totals.mean_acceptance_length:.2f}")


def main() -> int:
    """Measure and report; 1 when a stream brought no usage."""
    parser = argparse.ArgumentParser(description="Measure tokens per second.")
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--max-tokens", type=int, default=128)
    args = parser.parse_args()
    with open_server() as server:
        records, wall_s = asyncio.run(
            measure(
                server,
                num_requests=args.requests,
                concurrency=args.concurrency,
                max_tokens=args.max_tokens,
            )
        )
    missing = Totals.of(records).num_without_usage
    if missing:
        print(f"{missing} streams brought no usage: no rate", file=sys.stderr)
        return 1
    report(records, wall_s)
    return 0


if __name__ == "__main__":
    sys.exit(main())
