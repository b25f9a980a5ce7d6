"""A user's program: sets up OTLP export, wraps its client, sends requests and ends.

Called by the tests with a base URL and a number of requests; everything about the
export comes from the standard ``OTEL_*`` variables.
"""

from __future__ import annotations

import sys

from load import Way, mixed_requests, send

import otel_specdecode


def main(url: str, num_requests: int) -> None:
    """Send half of the requests one at a time and half eight at once, then end."""
    otel_specdecode.configure()
    requests = mixed_requests(num_requests)
    send(url, requests[::2], Way.SYNC_1)
    send(url, requests[1::2], Way.ASYNC_8)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
