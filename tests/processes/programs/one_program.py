"""Makes requests, leaves one stream open, and ends."""

from __future__ import annotations

import os
import sys

from openai import OpenAI

import otel_specdecode

if "configure" in sys.argv:
    patience_s = 0.2 if "impatient" in sys.argv else 60
    otel_specdecode.configure(metric_export_interval_s=0.02, exit_timeout_s=patience_s)

client = OpenAI(base_url=os.environ["SIMULATOR_URL"], api_key="unused")
if "configure" in sys.argv:
    otel_specdecode.wrap(client)

ask = {
    "model": os.environ["SIMULATOR_MODEL"],
    "messages": [{"role": "user", "content": "hi"}],
    "max_tokens": 12,
}
for _ in range(10):
    client.chat.completions.create(**ask)
    for _ in client.chat.completions.create(**ask, stream=True):
        pass
stream = client.chat.completions.create(**ask, stream=True)
print(next(stream).choices[0].delta.role)
sys.exit(7)
