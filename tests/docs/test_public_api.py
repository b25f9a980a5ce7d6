"""The public names are the same everywhere, and cost nothing until used."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from documents import DOCS, ROOT, rows

import otel_specdecode

if TYPE_CHECKING:
    from collections.abc import Mapping

TYPING = ROOT / "tests" / "typing" / "api.py"
HEAVY = ("openai", "opentelemetry.sdk", "wrapt", "click", "rich", "httptools")
namespace: Mapping[str, Any] = vars(otel_specdecode)


def _imported_in_typing() -> set[str]:
    tree = ast.parse(TYPING.read_text(encoding="utf-8"))
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "otel_specdecode"
        for alias in node.names
    }


def _used_in_typing() -> set[str]:
    tree = ast.parse(TYPING.read_text(encoding="utf-8"))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _documented() -> set[str]:
    return {
        name.partition("(")[0]
        for row in rows(DOCS / "index.md")
        if row.heading == "The public names"
        for name in row.names
    }


def test_all_homes_documents_and_types_hold_the_same_names() -> None:
    public = set(otel_specdecode.__all__)
    assert {
        "homes": set(namespace["_HOMES"]),
        "documents": _documented(),
        "types": _imported_in_typing() & _used_in_typing(),
    } == {"homes": public, "documents": public, "types": public}


def test_dir_lists_the_public_names_before_any_is_loaded() -> None:
    assert _in_bare_interpreter("print(*dir(otel_specdecode))").split() == sorted(
        otel_specdecode.__all__
    )


@pytest.mark.parametrize("name", otel_specdecode.__all__)
def test_a_public_name_is_the_one_of_its_home(name: str) -> None:
    value = getattr(otel_specdecode, name)
    assert value.__name__ == name


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rap'"):
        _ = otel_specdecode.rap  # pyright: ignore[reportAttributeAccessIssue]


def test_the_import_pulls_in_neither_openai_nor_the_sdk_nor_wrapt() -> None:
    loaded = _in_bare_interpreter(f"print(*(m for m in {HEAVY} if m in sys.modules))")
    assert loaded.split() == []


def test_wrap_and_capture_need_no_sdk() -> None:
    program = f"""
from otel_specdecode import capture, record_of, wrap
print(*(m for m in {HEAVY} if m != "wrapt" and m in sys.modules))
"""
    assert _in_bare_interpreter(program).split() == []


def _in_bare_interpreter(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys, otel_specdecode\n{program}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout
