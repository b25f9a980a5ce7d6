"""SARIF 2.1.0: valid by its schema, and what code scanning needs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from .conftest import COUNTS_CHUNKS, Lint

SCHEMA = Path(__file__).with_name("sarif-2.1.0-rtm.5.json")


@pytest.fixture
def sarif(project: Path, lint: Lint) -> dict[str, Any]:
    (project / "ünï code.py").write_text(COUNTS_CHUNKS, encoding="utf-8")
    (project / "broken.py").write_text('x = {"stream": True, "messages": (\n')
    return json.loads(lint("--output-format", "sarif").stdout)


def test_the_log_is_valid_by_the_schema_of_the_standard(sarif: dict[str, Any]) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))

    jsonschema.validate(sarif, schema)

    assert sarif["version"] == "2.1.0"


def test_half_a_character_in_a_notebook_or_a_file_name_is_no_traceback(
    project: Path, lint: Lint
) -> None:
    """Half of an emoji, as JSON can hold it, and a name that is no text."""
    cell = {"cell_type": "code", "source": f"'\ud83d'\n{COUNTS_CHUNKS}"}
    (project / "half.ipynb").write_text(json.dumps({"cells": [cell]}))
    (project / os.fsdecode(b"\xff.py")).write_text(COUNTS_CHUNKS)

    sarif = json.loads(lint("--output-format", "sarif").stdout)

    jsonschema.validate(sarif, json.loads(SCHEMA.read_text(encoding="utf-8")))
    found = [result["ruleId"] for result in sarif["runs"][0]["results"]]
    assert sorted(found) == ["SPD000", "SPD001", "SPD003"]


def test_every_result_points_at_its_rule_and_its_place(sarif: dict[str, Any]) -> None:
    run = sarif["runs"][0]
    rules = run["tool"]["driver"]["rules"]

    assert [result["ruleId"] for result in run["results"]] == [
        "SPD000", "SPD003", "SPD001",
    ]  # fmt: skip
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place["uri"] in {"broken.py", "%C3%BCn%C3%AF%20code.py"}


def test_fingerprints_survive_moved_lines(project: Path, lint: Lint) -> None:
    def fingerprints(text: str) -> list[str]:
        (project / "bench.py").write_text(text)
        log = json.loads(lint("--output-format", "sarif").stdout)
        return [
            result["partialFingerprints"]["primaryLocationLineHash/v1"]
            for result in log["runs"][0]["results"]
        ]

    assert fingerprints(COUNTS_CHUNKS) == fingerprints("\n\n" + COUNTS_CHUNKS)


def test_the_way_from_the_stream_is_a_code_flow(sarif: dict[str, Any]) -> None:
    last = sarif["runs"][0]["results"][-1]
    flow = last["codeFlows"][0]["threadFlows"][0]["locations"]

    assert [step["location"]["message"]["text"] for step in flow] == [
        "one turn per streamed chunk",
        "one added per chunk",
        "chunk count / time",
    ]
