"""A configuration that the checker has nothing to say about, for tests to change."""

from __future__ import annotations

SOUND = """\
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:4317"}
processors:
  memory_limiter: {check_interval: 1s, limit_percentage: 80}
exporters:
  otlp_http: {endpoint: "${env:BACKEND:-http://127.0.0.1:1}"}
service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter]
      exporters: [otlp_http]
"""
