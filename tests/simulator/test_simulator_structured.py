"""What is said when a form is asked for: functions in turn, and answers that fit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from simulated import RESPONSES, call, chat

from otel_specdecode.simulator import Responder, named_profile

_CALLS_TOOLS = replace(named_profile("mtp"), time_scale=0, tool_calls=True)
_ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "zip": {"type": "string"}},
    "required": ["street"],
}
_PERSON: dict[str, Any] = {
    "type": "object",
    "$defs": {"Address": _ADDRESS},
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "age": {"type": "integer", "minimum": 18},
        "score": {"type": "number"},
        "member": {"type": "boolean"},
        "nothing": {"type": "null"},
        "kind": {"const": "person"},
        "color": {"enum": ["red", "green"]},
        "home": {"$ref": "#/$defs/Address"},
        "work": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "nick": {"type": ["string", "null"]},
        "pet": {"properties": {"name": {"type": "string"}}},
        "note": {},
    },
    "additionalProperties": False,
}


def _format(schema: object) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _function(name: str, parameters: object = None) -> dict[str, Any]:
    function = {"name": name, "parameters": parameters or {"type": "object"}}
    return {"type": "function", "function": function}


def _whole(**body: Any) -> dict[str, Any]:
    return chat(Responder(_CALLS_TOOLS), stream=False, **body).body["choices"][0]


def test_an_answer_fits_the_schema_that_was_asked_for():
    choice = _whole(response_format=_format(_PERSON), max_tokens=500)
    said = json.loads(choice["message"]["content"])
    jsonschema.validate(said, _PERSON)
    assert list(said) == list(_PERSON["properties"])
    assert choice["finish_reason"] == "stop"


def test_a_structured_answer_is_the_same_streamed_and_in_one_piece():
    body = {"response_format": _format(_PERSON), "max_tokens": 500}
    played = chat(Responder(_CALLS_TOOLS), **body)
    assert played.text == _whole(**body)["message"]["content"]
    assert played.acceptance["num_spec_steps"] > 0


def test_a_structured_answer_that_is_cut_off_ends_for_its_length():
    choice = _whole(response_format=_format(_PERSON), max_tokens=5)
    assert (choice["finish_reason"], len(choice["message"]["content"])) == (
        "length",
        20,
    )


def test_a_structured_answer_ends_at_a_stop_string():
    choice = _whole(response_format=_format(_PERSON), max_tokens=500, stop='"age"')
    assert choice["message"]["content"].endswith(", ")
    assert choice["stop_reason"] == '"age"'


def test_token_ids_and_log_probabilities_cover_a_structured_answer():
    body = {"return_token_ids": True, "logprobs": True, "max_tokens": 500}
    choice = _whole(response_format={"type": "json_object"}, **body)
    assert len(choice["token_ids"]) == len(choice["logprobs"]["content"])


@pytest.mark.parametrize("asked", [{"type": "json_object"}, _format({})])
def test_without_a_schema_some_object_is_said(asked):
    said = json.loads(_whole(response_format=asked)["message"]["content"])
    assert said["limit"] == 3


def test_text_asked_for_by_name_is_free_text():
    text = _whole(response_format={"type": "text"})["message"]["content"]
    assert text == _whole()["message"]["content"]


def test_the_responses_api_names_its_schema_elsewhere():
    form = {"type": "json_schema", "name": "answer", "schema": _PERSON}
    body = {"input": "Who?", "text": {"format": form}, "max_output_tokens": 500}
    whole = call(Responder(_CALLS_TOOLS), RESPONSES, **body).body
    jsonschema.validate(json.loads(whole["output"][0]["content"][0]["text"]), _PERSON)


def test_arguments_of_a_call_fit_the_parameters_of_the_function():
    choice = _whole(tools=[_function("hire", _PERSON)], max_tokens=500)
    called = choice["message"]["tool_calls"][0]["function"]
    jsonschema.validate(json.loads(called["arguments"]), _PERSON)


@pytest.mark.parametrize(
    ("choice", "called", "following"),
    [
        ("auto", [], "first"),
        ("auto", ["first"], "second"),
        ("auto", ["first", "second"], None),
        ("required", ["first"], "second"),
        ("required", ["first", "second"], "second"),
    ],
)
def test_each_function_is_called_once_in_turn(choice, called, following):
    earlier = [
        {"role": "assistant", "content": None, "tool_calls": [_function(name)]}
        for name in called
    ]
    messages = [{"role": "user", "content": "Go"}, *earlier]
    tools = [_function("first"), _function("second")]
    said = _whole(messages=messages, tools=tools, tool_choice=choice)["message"]
    calls = [each["function"]["name"] for each in said.get("tool_calls", ())]
    assert calls == ([following] if following else [])


_ENDLESS = {"properties": {"self": {"$ref": "#"}}, "required": ["self"]}


@pytest.mark.parametrize(
    "schema",
    [
        _ENDLESS,
        {"properties": {"a": {"$ref": "#/$defs/nowhere"}}},
        {"properties": {"a": 5}},
        {"properties": {"a": {"type": "array", "minItems": 10**9}}},
        {"properties": [1]},
    ],
)
def test_a_schema_that_cannot_be_met_is_refused(schema):
    played = chat(
        Responder(_CALLS_TOOLS), stream=False, response_format=_format(schema)
    )
    assert played.status == 400


@pytest.mark.parametrize("asked", [5, {"type": "json_schema", "json_schema": 5}])
def test_a_format_of_the_wrong_type_is_refused(asked):
    played = chat(Responder(_CALLS_TOOLS), stream=False, response_format=asked)
    assert played.status == 400
