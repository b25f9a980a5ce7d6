#!/usr/bin/env bash
# Observes app.py without a change to it. Telemetry goes to the console here; leave
# out both exporter lines to send it to OTEL_EXPORTER_OTLP_ENDPOINT.
# Needs: pip install 'otel-specdecode[all]' opentelemetry-distro
set -euo pipefail
cd "$(dirname "$0")"

# Without it nothing sets up an SDK, and the program runs as if nobody watched.
python -c 'import opentelemetry.distro' 2>/dev/null || {
  echo "needs: pip install opentelemetry-distro" >&2
  exit 1
}

if [[ -z "${OPENAI_BASE_URL:-}" ]]; then
  url_file=$(mktemp)
  otel-specdecode simulate --port 0 >"$url_file" &
  simulator=$!
  trap 'kill "$simulator"; rm -f "$url_file"' EXIT
  until [[ -s "$url_file" ]]; do sleep 0.1; done
  OPENAI_BASE_URL=$(cut -d' ' -f1 "$url_file")
fi

export OPENAI_BASE_URL OPENAI_API_KEY="${OPENAI_API_KEY:-unused}"
export OTEL_TRACES_EXPORTER="${OTEL_TRACES_EXPORTER:-console}"
export OTEL_METRICS_EXPORTER="${OTEL_METRICS_EXPORTER:-console}"
export OTEL_LOGS_EXPORTER=none
opentelemetry-instrument python app.py
