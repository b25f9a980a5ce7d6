"""A value that fits a JSON schema: what a model says that was held to one.

Enough of JSON Schema for what clients generate from a type: no patterns, no formats.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, cast

from otel_specdecode.simulator._tape import prose_tape

Schema = Mapping[str, Any]

_NUM_WORDS = 12
_MOST_VALUES = 150
_ANYTHING: Schema = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
}


def fitting_json(schema: Schema | None, key: str) -> str:
    """Return JSON text that fits a schema, with strings that the key decides.

    Args:
        schema: a JSON schema; without properties, an object of our own is said.
        key: seed of the strings.

    Raises:
        AttributeError, IndexError, KeyError, TypeError, ValueError: it is no
            schema, or one without end.
    """
    said = schema if schema and schema.get("properties") else _ANYTHING
    value = _Author(said, zlib.crc32(key.encode())).value(said)
    return json.dumps(value, ensure_ascii=False)


class _Author:
    """Writes one value; bounded, since a schema may refer to itself."""

    def __init__(self, root: Schema, key: int) -> None:
        self._root = root
        self._at = prose_tape().start_of(key)
        self._num_values_left = _MOST_VALUES

    def value(self, schema: Schema) -> Any:
        """Return a value that fits."""
        self._num_values_left -= 1
        if self._num_values_left < 0:
            raise ValueError(f"it asks for more than {_MOST_VALUES} values")
        if (inner := self._elsewhere(schema)) is not None:
            return self.value(inner)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][0]
        return self._of_type(_type_of(schema), schema)

    def _of_type(self, name: str, schema: Schema) -> Any:
        match name:
            case "object":
                return {key: self.value(each) for key, each in _members(schema)}
            case "array":
                items = cast("Schema", schema.get("items") or {})
                num_items = max(1, int(schema.get("minItems") or 1))
                return [self.value(items) for _ in range(num_items)]
            case "integer" | "number":
                return max(3, schema.get("minimum", 3))
            case "boolean" | "null":
                return True if name == "boolean" else None
            case _:
                return self._text()[: schema.get("maxLength")]

    def _text(self) -> str:
        self._at += _NUM_WORDS
        return prose_tape().text(self._at - _NUM_WORDS, self._at).strip()

    def _elsewhere(self, schema: Schema) -> Schema | None:
        """The schema that this one stands for; of several, the first."""
        if (reference := schema.get("$ref")) is not None:
            found: Any = self._root
            for name in str(reference).removeprefix("#").strip("/").split("/"):
                found = found[name] if name else found
            return cast("Schema", found)
        for several in ("anyOf", "oneOf", "allOf"):
            if schema.get(several):
                return cast("Schema", schema[several][0])
        return None


def _type_of(schema: Schema) -> str:
    named: Any = schema.get("type")
    if isinstance(named, list):
        named = cast("list[Any]", named)[0]
    return str(named or ("object" if "properties" in schema else "string"))


def _members(schema: Schema) -> list[tuple[str, Schema]]:
    """The members that must be there, or all where none must, in their order."""
    properties = cast("dict[str, Schema]", schema.get("properties") or {})
    required: Any = schema.get("required") or properties
    return [(name, each) for name, each in properties.items() if name in required]
