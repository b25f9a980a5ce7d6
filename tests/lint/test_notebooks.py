"""Notebooks as people write them: magics, shell lines, odd metadata, old formats."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from .conftest import COUNTS_CHUNKS, Lint

if TYPE_CHECKING:
    from pathlib import Path


def notebook(*sources: str, **extra: object) -> str:
    cells = [{"cell_type": "code", "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, **extra})


def rates(lint: Lint) -> list[str]:
    result = lint("--select", "SPD001", "--output-format", "concise")
    return [line.partition(" SPD")[0] for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    "cell",
    [
        "!pip install \\\n    openai \\\n    httpx",
        "if True:\n    !ls -l \\\n      -a\n    x = 2",
        "files = !ls\na, b = !ls | head -2\nn = %env HOME",
        "%load_ext autoreload\n%autoreload 2",
        '!ls | grep "foo\nprint?\nprint??\n?print',
        's = """\n%notmagic\n!not shell\nwhat?\n"""',
        "x = (a\n% 3)",
        'd = {\n  "pattern": "\\d"}\n%time n = 1',
        "%%bash\nfor i in 1 2; do echo $i; done",
        "%%writefile foo.py\nx = = 1",
        "%%sql result <<\nselect 1",
        "%%timeit -n 10\nx = 1",
        "await f()\nasync for x in y: pass",
        "    x = 1\n    y = 2",
        "\n  # pasted\n  if x:\n    y = 2",
        "  # nothing else",
        "raise SystemExit('not further')",
        "",
    ],
    ids=range(18),
)
def test_a_cell_beside_does_not_hide_what_follows(
    project: Path, lint: Lint, cell: str
) -> None:
    (project / "x.ipynb").write_text(notebook(cell, COUNTS_CHUNKS))

    assert rates(lint) == ["x.ipynb:cell 2:12:22:"]


@pytest.mark.parametrize(
    ("cell", "place"),
    [
        ("x = 1\nwhat I found: = 2", "2:6"),
        ('x = """\n', "1:5"),
        ("if x:\n", "1:6"),
        ("  x = 1\n  y = = 2\n", "2:7"),
        ("x = (\n", "1:5"),
    ],
)
def test_a_cell_that_is_no_python_is_told_of_and_the_others_are_read(
    project: Path, lint: Lint, cell: str, place: str
) -> None:
    (project / "x.ipynb").write_text(
        notebook("import time", cell, "  z = 1\n", COUNTS_CHUNKS)
    )

    result = lint("--select", "SPD001", "--output-format", "concise")

    assert [line.partition(" SPD")[::2] for line in result.stdout.splitlines()] == [
        (f"x.ipynb:cell 2:{place}:", mock.ANY),
        ("x.ipynb:cell 4:12:22:", mock.ANY),
    ]
    assert result.exit_code == 1


@pytest.mark.parametrize("magic", ["%%time", "%%capture out", "%%timeit", "%%python"])
def test_the_body_of_a_magic_that_runs_python_is_read(
    project: Path, lint: Lint, magic: str
) -> None:
    (project / "x.ipynb").write_text(notebook(f"{magic}\n{COUNTS_CHUNKS}"))

    assert rates(lint) == ["x.ipynb:cell 1:13:22:"]


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        [],
        {"kernelspec": None},
        {"kernelspec": []},
        {"language_info": {"name": "python"}, "kernelspec": {"language": "Python"}},
    ],
)
def test_odd_metadata_is_no_reason_to_refuse_a_notebook(
    project: Path, lint: Lint, metadata: Any
) -> None:
    (project / "x.ipynb").write_text(notebook(COUNTS_CHUNKS, metadata=metadata))

    assert rates(lint) == ["x.ipynb:cell 1:12:22:"]


def test_another_language_is_known_by_either_of_its_names(
    project: Path, lint: Lint
) -> None:
    for name, field in (("language_info", "name"), ("kernelspec", "language")):
        text = notebook("stream <- messages", metadata={name: {field: "julia"}})
        (project / f"{name}.ipynb").write_text(text)

    assert lint().exit_code == 0


def test_the_sheets_of_format_3_are_read(project: Path, lint: Lint) -> None:
    cell = {"cell_type": "code", "input": COUNTS_CHUNKS.splitlines(keepends=True)}
    document = {"nbformat": 3, "worksheets": [{"cells": [cell]}, {}]}
    (project / "x.ipynb").write_text(json.dumps(document))

    assert rates(lint) == ["x.ipynb:cell 1:12:22:"]


def test_pictures_do_not_make_a_notebook_too_large(project: Path, lint: Lint) -> None:
    picture = {"data": {"image/png": "A" * 9_000_000}}
    cell = {"cell_type": "code", "source": COUNTS_CHUNKS, "outputs": [picture]}
    (project / "x.ipynb").write_text(json.dumps({"cells": [cell]}))

    assert rates(lint) == ["x.ipynb:cell 1:12:22:"]


def test_noqa_holds_in_a_cell(project: Path, lint: Lint) -> None:
    text = COUNTS_CHUNKS.replace("- start)}", "- start)}  # noqa: SPD001")
    (project / "x.ipynb").write_text(notebook("x = 1", text))

    assert rates(lint) == []


def test_what_is_pasted_with_its_indent_is_read_and_keeps_its_columns(
    project: Path, lint: Lint
) -> None:
    pasted = textwrap.indent(COUNTS_CHUNKS, "    ")
    (project / "x.ipynb").write_text(notebook("x = 1", pasted, "x = 2"))

    assert rates(lint) == ["x.ipynb:cell 2:12:26:"]
