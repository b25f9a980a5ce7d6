"""The stored captures are whole, and agree with the server's own counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

_FOLDER = Path(__file__).with_name("vllm-0.32.0")
_MANIFEST: dict[str, Any] = json.loads((_FOLDER / "manifest.json").read_text())
# Every response of these says what it used, so that nothing is missing from the sum.
_COMPLETE = ("baseline", "ngram-summary", "suffix", "eagle3", "mtp")
_COUNTERS = {
    "vllm:spec_decode_num_drafts_total": "num_spec_steps",
    "vllm:spec_decode_num_draft_tokens_total": "num_draft_tokens",
    "vllm:spec_decode_num_accepted_tokens_total": "num_accepted_draft_tokens",
}


def test_the_manifest_names_every_response_and_no_other() -> None:
    named = {r["file"] for entry in _MANIFEST.values() for r in entry["responses"]}
    stored = {
        str(path.relative_to(_FOLDER))
        for path in _FOLDER.glob("*/*")
        if path.suffix in {".sse", ".json"}
    }
    assert named == stored


def test_no_capture_names_a_folder_of_the_machine_it_was_made_on() -> None:
    texts = [path.read_text() for path in _FOLDER.rglob("*.*")]
    assert not [text for text in texts if ".cache/" in text]


@pytest.mark.parametrize("name", _MANIFEST)
def test_what_arrived_is_what_was_stored(name: str) -> None:
    streams = [r for r in _MANIFEST[name]["responses"] if "reads" in r]
    sizes = {r["file"]: sum(size for _, size in r["reads"]) for r in streams}
    assert sizes == {f: (_FOLDER / f).stat().st_size for f in sizes}


@pytest.mark.parametrize("name", _COMPLETE)
def test_the_payloads_add_up_to_what_the_server_counted(name: str) -> None:
    payloads = [_payload(r["file"]) for r in _MANIFEST[name]["responses"]]
    stats = [p.get("metrics", {}).get("speculative_decoding") or {} for p in payloads]
    before, after = _counters(name, "before"), _counters(name, "after")
    tokens = sum(p["usage"]["completion_tokens"] for p in payloads)
    sums = {"vllm:generation_tokens_total": tokens}
    if name != "baseline":
        sums |= {c: sum(s.get(k, 0) for s in stats) for c, k in _COUNTERS.items()}
    assert sums == {c: value - before[c] for c, value in after.items()}


@pytest.mark.parametrize("name", _COMPLETE)
def test_every_answer_is_long_but_those_that_were_to_be_one_token(name: str) -> None:
    for response in _MANIFEST[name]["responses"]:
        num_tokens = _payload(response["file"])["usage"]["completion_tokens"]
        one_token = response["request"]["max_tokens"] == 1
        assert (num_tokens == 1) if one_token else (num_tokens > 10), response["name"]


def _payload(file: str) -> dict[str, Any]:
    text = (_FOLDER / file).read_text()
    if file.endswith(".json"):
        return json.loads(text)
    return json.loads(text.split("\n\n")[-3].removeprefix("data: "))


def _counters(name: str, when: str) -> dict[str, int]:
    text = (_FOLDER / name / f"metrics-{when}.txt").read_text()
    return {
        sample.name: int(sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in {"vllm:generation_tokens_total", *_COUNTERS}
    }
