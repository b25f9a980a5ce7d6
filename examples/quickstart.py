import os

from openai import OpenAI

from otel_specdecode import record_of, wrap
from otel_specdecode.simulator import named_profile, simulate

with simulate(named_profile("mtp")) as sim:
    url = os.environ.get("OPENAI_BASE_URL", sim.base_url)
    client = wrap(OpenAI(base_url=url, api_key="unused"))  # the one added line
    ask = {"model": sim.model, "messages": [{"role": "user", "content": "Hello"}]}
    stream = client.chat.completions.create(**ask, stream=True)
    print("".join(chunk.choices[0].delta.content or "" for chunk in stream))
    record = record_of(stream)
    print(record.num_output_tokens, "tokens in", record.num_content_chunks, "chunks")
