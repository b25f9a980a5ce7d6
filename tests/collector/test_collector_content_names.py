"""The lists of names whose content is removed: the same everywhere, and quick."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from openai import OpenAI
from telemetry import Telemetry

from otel_specdecode import wrap
from otel_specdecode.collector import bundle_root
from otel_specdecode.simulator import Profile, Speculation, simulate

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

PROCESSORS: dict[str, Any] = yaml.safe_load(
    (bundle_root() / "config" / "base.yaml").read_text()
)["processors"]
CONTENT: dict[str, list[dict[str, Any]]] = {
    signal: blocks
    for signal, blocks in PROCESSORS["transform/content"].items()
    if signal.endswith("_statements")
}
NAMES = re.compile(r'delete_matching_keys\((\w+)\.attributes, ("(?:[^"\\]|\\.)*")\)')
LISTS = {
    (signal, block["context"]): [
        json.loads(found[2]) for found in NAMES.finditer("\n".join(block["statements"]))
    ]
    for signal, blocks in CONTENT.items()
    for block in blocks
    if block["context"] != "exemplar"
}
PATTERNS = sorted({pattern for patterns in LISTS.values() for pattern in patterns})
SECRETS = PROCESSORS["redaction/names"]
(SECRET_NAME,) = SECRETS["blocked_key_patterns"]


def test_each_context_of_each_signal_removes_the_same_names() -> None:
    first = LISTS["trace_statements", "span"]
    assert len(first) == 2
    assert {place: patterns[:2] for place, patterns in LISTS.items()} == dict.fromkeys(
        LISTS, first
    )


def alternations(pattern: str) -> list[list[str]]:
    """The alternatives of each group of a pattern, the outermost included."""
    groups: list[list[str]] = [[""]]
    done: list[list[str]] = []
    for part in re.findall(r"\\.|\[[^\]]*\]|\(\?\w*:?\)?|.", pattern):
        if part.startswith("(?") and part.endswith(":"):
            groups.append([""])
        elif part == ")":
            done.append(groups.pop())
            groups[-1][-1] += "(" + "|".join(done[-1]) + ")"
        elif part == "|":
            groups[-1].append("")
        else:
            groups[-1][-1] += part
    return [*done, *groups]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_alternatives_that_begin_alike_are_neighbours(pattern: str) -> None:
    # Or Go's regular expressions need several passes for a key: four times the work.
    for alternatives in alternations(pattern):
        first_letters = [one.lstrip("(")[:1] for one in alternatives]
        runs = [
            letter
            for at, letter in enumerate(first_letters)
            if at == 0 or first_letters[at - 1] != letter
        ]
        assert len(runs) == len(set(runs)), alternatives


def test_a_name_that_is_passed_over_is_neither_a_secrets_nor_of_content() -> None:
    for name in SECRETS["ignored_keys"]:
        assert re.search(SECRET_NAME, name) is None, name
        assert not any(re.search(pattern, name) for pattern in PATTERNS), name


@pytest.fixture(scope="module")
def recorded() -> dict[str, AttributeValue]:
    """What the wrapper records of a stream, in all that a server can say."""
    telemetry = Telemetry()
    speculation = Speculation(method="mtp", acceptance_by_position=(0.8, 0.5))
    profile = Profile(
        model="m", time_scale=0.0, timing_fields=True, speculation=speculation
    )
    with (
        simulate(profile) as server,
        OpenAI(base_url=server.base_url, api_key="k") as bare,
    ):
        client = wrap(bare, **telemetry.providers)
        list(
            client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "x"}],
                max_tokens=16,
                seed=7,
                stream=True,
            )
        )
    return telemetry.attributes


def test_what_this_package_records_is_passed_over(
    recorded: dict[str, AttributeValue],
) -> None:
    names = {name for name in recorded if name.startswith(("specdecode.", "gen_ai."))}
    assert len(names) > 30
    assert names <= set(SECRETS["ignored_keys"])
    assert "specdecode.tag.anything" not in SECRETS["ignored_keys"]


def test_only_numbers_and_places_in_code_are_passed_over_in_the_search_for_keys(
    recorded: dict[str, AttributeValue],
) -> None:
    numbers = set(PROCESSORS["redaction/keys"]["ignored_keys"])
    assert numbers <= set(SECRETS["ignored_keys"])
    texts = {name for name, value in recorded.items() if "str" in types_in(value)}
    assert numbers & texts == {"code.file.path", "code.function.name"}
    ours = {name for name in recorded.keys() - texts if name.startswith("specdecode.")}
    assert ours <= numbers


def types_in(value: AttributeValue) -> set[str]:
    values = value if isinstance(value, tuple) else (value,)
    return {type(one).__name__ for one in values}


def test_what_is_looked_for_beside_a_name_begins_with_one_character() -> None:
    # Or it is tried at each character of each text: half of the processor's work.
    named = [
        shape
        for shape in PROCESSORS["redaction/keys"]["blocked_values"]
        if "token" in shape or "@" in shape
    ]
    assert [shape[:2] for shape in named] == ["\\?", "&(", ":/", '"(', "'("]


JSON, REPR = PROCESSORS["redaction/keys"]["blocked_values"][-2:]


@pytest.mark.parametrize("name", ["token", "api_key", "X-Auth-Token", "db.password"])
def test_a_secrets_name_in_a_text_is_one_that_an_attribute_may_have(name: str) -> None:
    assert re.search(SECRET_NAME, name)
    for value in ("x", ["x", "y"], 'x"y', "x'y"):
        written = {"n": 1, name: value, "model": "m"}
        cleaned = re.sub(JSON, "****", json.dumps(written))
        assert cleaned == '{"n": 1, ****, "model": "m"}'
    cleaned = re.sub(REPR, "****", str({"n": 1, name: "x", "model": "m"}))
    assert cleaned == "{'n': 1, ****, 'model': 'm'}"


@pytest.mark.parametrize(
    "text",
    ['{"api_key": "x', '{"api_keys": ["x", "y"', '{"token": ["x'],
)
def test_what_a_limit_of_length_cut_off_is_masked_to_its_end(text: str) -> None:
    assert re.sub(JSON, "****", text) == "{****"


@pytest.mark.parametrize(
    "kept",
    [
        {"max_tokens": "5", "token_count": "3", "token": 7},
        {"error": {"code": "invalid_api_key", "message": "bad"}},
        {"sort": "key", "stop": ["secret"]},
    ],
    ids=str,
)
def test_a_text_without_a_secrets_name_stays_as_it_is(kept: dict[str, Any]) -> None:
    assert re.search(JSON, json.dumps(kept)) is None
    assert re.search(REPR, str(kept)) is None


def test_a_key_has_the_same_shape_wherever_it_is_looked_for() -> None:
    shapes = "|".join(PROCESSORS["redaction/keys"]["blocked_values"])
    elsewhere = [
        json.loads(found)
        for signal in ("trace_statements", "log_statements")
        for block in PROCESSORS["transform/keys"][signal]
        for statement in block["statements"]
        if "url.query" not in statement
        for found in re.findall(r', ("(?:[^"\\]|\\.)*"), ', statement)
    ]
    assert elsewhere == [shapes] * 4
