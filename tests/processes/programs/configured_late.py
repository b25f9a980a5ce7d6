"""Makes requests with one client before telemetry is set up, and after."""

from __future__ import annotations

import traffic

import otel_specdecode


def main() -> None:
    client = traffic.client()
    traffic.talk_in_threads(client)
    otel_specdecode.configure()
    traffic.talk_in_threads(client)


main()
