"""Files that are broken, odd or built to hurt: a message, never a traceback."""

from __future__ import annotations

import errno
import json
import os
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from .conftest import COUNTS_CHUNKS, Lint

if TYPE_CHECKING:
    from pathlib import Path

MARKERS = 'm = {"stream": True, "messages": []}\n'
"""What makes the linter parse a file at all."""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (MARKERS.encode() + b"def f(:\n", "syntax error"),
        (MARKERS.encode() + b"print 'python 2'\n", "syntax error"),
        (MARKERS.encode() + b"x = '\x00'\n", "null bytes"),
        (b"# coding: klingon\n" + MARKERS.encode(), "unknown encoding"),
        (b"x = '\xff\xfe'\n" + MARKERS.encode(), "not valid utf-8"),
        (b"# coding: undefined\n" + MARKERS.encode(), "not valid undefined"),
        (b"# coding: rot13\n" + MARKERS.encode(), "unknown encoding"),
        (MARKERS.encode() + b"x = '" + b"a" * 8_000_000 + b"'", "larger than 8 mil"),
        (MARKERS.encode() + b"(" * 5000 + b")" * 5000, "nested"),
        (MARKERS.encode() + b"if 1:\n" + b" " * 9 + b"x\n  y\n", "unindent"),
        (MARKERS.encode() + b"x = " + b"9" * 5000 + b"\n", "digits"),
    ],
)
def test_a_file_that_is_not_python_is_a_finding_of_its_own(
    project: Path, lint: Lint, content: bytes, message: str
) -> None:
    (project / "bad.py").write_bytes(content)
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("--output-format", "concise")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].startswith("bad.py:")
    assert ": SPD000 " in result.stdout.splitlines()[0]
    assert message in result.stdout.splitlines()[0].lower()
    assert "bench.py:12:22: SPD001" in result.stdout  # the rest is still read


@pytest.mark.parametrize(
    "program",
    [
        "x = " + "+".join(["y"] * 4000),
        "x = " + "f(" * 90 + ")" * 90,
        "x = a" + ".b" * 3000,
        "x = [" + "[" * 80 + "]" * 80 + "]",
        "x = '" + "a" * 2_000_000 + "'",
        "x = {" + ", ".join(f"'{n}': {n}" for n in range(20_000)) + "}",
        "\n".join("    " * n + f"for i{n} in s:" for n in range(18))
        + "\n"
        + " " * 80
        + "n += 1",
        "\n".join(
            f"def f{n}(x): return f{(n + 1) % 60}(x) + f{(n + 7) % 60}(x)"
            for n in range(60)
        ),
        "class A(A): pass\nclass B(C): pass\nclass C(B): pass\nC().x.y",
        "x = x\ndef f(): return f\nf()()()()\nlambda: (yield)",
        "def g(n):\n    for c in g(g(n)):\n        yield from g(c)\ng(g)",
        "import bench\nfrom . import bad\nfrom .... import z\nfrom bad import *",
        "del x\n__import__('os')\nasync def f():\n    async with a as b, c: [x async for x in y]\n",
        "match x:\n    case {'a': [1, *r], **k} | A(b=1) as z if z: pass",
        "try:\n    pass\nexcept* ValueError as e:\n    raise\nfinally:\n    pass",
        "".join(f"a{n} = a{n + 1}.child\n" * 200 for n in range(6))
        + "".join(f"b{n} = b{n + 1}\n" * 200 for n in range(6))
        + "b6 = {'completion_tokens': 1}\n"
        + "x = sum([b0.get('completion_tokens', 0), a0.usage.output_tokens or 0])",
    ],
    ids=range(16),
)
def test_odd_programs_are_read_to_the_end(
    project: Path, lint: Lint, program: str
) -> None:
    # The stream makes the analysis take its long way, rounds and all.
    (project / "bad.py").write_text(f"{COUNTS_CHUNKS}\n{MARKERS}\n{program}\n")

    result = lint("--output-format", "concise", "--select", "ALL")

    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "bad.py:12:22: SPD001" in result.stdout or "SPD000" in result.stdout
    assert "SPD000" not in result.stdout or "deep" in result.stdout


def test_a_directory_that_ends_in_py_is_searched(project: Path, lint: Lint) -> None:
    (project / "odd.py").mkdir()
    (project / "odd.py/bench.py").write_text(COUNTS_CHUNKS)

    assert "odd.py/bench.py:12:22" in lint("--output-format", "concise").stdout


def test_a_broken_link_is_reported(project: Path, lint: Lint) -> None:
    (project / "gone.py").symlink_to(project / "nowhere")

    result = lint("--output-format", "concise")

    assert result.stdout == "gone.py:1:1: SPD000 No such file or directory\n"


def test_a_directory_that_cannot_be_listed_is_reported(
    project: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "closed").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> object:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = lint("--output-format", "concise")

    assert result.exit_code == 1
    assert result.stdout.startswith("closed:1:1: SPD000 ")


def test_a_pipe_in_a_directory_is_not_waited_for(project: Path, lint: Lint) -> None:
    os.mkfifo(project / "pipe.py")
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    assert lint("--output-format", "concise").stdout.count("bench.py") == 2


def test_a_device_without_an_end_is_not_read_to_it(lint: Lint) -> None:
    result = lint("--output-format", "concise", "/dev/zero")

    assert result.stdout == "/dev/zero:1:1: SPD000 larger than 64 MB, not read\n"


def test_a_named_pipe_is_read(project: Path, lint: Lint) -> None:
    pipe = project / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=(COUNTS_CHUNKS,), daemon=True)
    writer.start()

    assert "pipe:12:22: SPD001" in lint("--output-format", "concise", "pipe").stdout
    writer.join(timeout=10)


def test_links_in_a_circle_end(project: Path, lint: Lint) -> None:
    (project / "self.py").symlink_to(project / "self.py")
    (project / "around").symlink_to(project)

    result = lint("--output-format", "concise")

    assert result.stdout == "self.py:1:1: SPD000 Too many levels of symbolic links\n"


@pytest.mark.parametrize("form", ["text", "concise", "json", "sarif", "github"])
def test_a_file_name_that_is_no_text_is_reported(
    form: str, project: Path, lint: Lint
) -> None:
    (project / os.fsdecode(b"bench\xff.py")).write_text(COUNTS_CHUNKS)

    result = lint("--output-format", form)

    assert (result.exit_code, result.stdout.count("SPD001") > 0) == (1, True)


def test_a_file_too_large_to_be_followed_whole_is_told_of(
    project: Path, lint: Lint
) -> None:
    function = (
        "def f{n}(client):\n"
        "    for c in client.chat.completions.create(model='m', stream=True):\n"
    ) + "        pass\n" * 5_000
    text = "import openai\n" + "".join(function.format(n=n) for n in range(7))
    (project / "large.py").write_text(text)
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("--output-format", "concise")

    assert result.stderr == (
        "note: large.py: too large to be followed whole; findings in the rest of it "
        "may be missing\n"
    )


def test_nothing_that_is_read_is_run(project: Path, lint: Lint) -> None:
    (project / "evil.py").write_text(f"open('ran', 'w')\n{MARKERS}import evil_helper\n")
    (project / "evil_helper.py").write_text(f"open('ran', 'w')\n{MARKERS}")

    lint()

    assert not (project / "ran").exists()


def notebook(*cells: str, **extra: object) -> str:
    return json.dumps(
        {
            "cells": [
                {"cell_type": "code", "source": source.splitlines(keepends=True)}
                if not source.startswith("# text")
                else {"cell_type": "markdown", "source": source}
                for source in cells
            ],
            "metadata": {},
            "nbformat": 4,
            **extra,
        }
    )


def test_a_notebook_is_one_scope_with_positions_in_cells(
    project: Path, lint: Lint
) -> None:
    (project / "bench.ipynb").write_text(
        notebook(
            "%pip install openai\nimport time\nfrom openai import OpenAI",
            "# text",
            "%%bash\necho stream",
            "%%time\nt0, n = time.time(), 0\n!ls\n"
            "for c in OpenAI().chat.completions.create(messages=[], stream=True):\n"
            "    n += 1",
            "rate = n / (time.time() - t0)\nprint(rate, 'tok/s')\nrate?",
        )
    )

    result = lint("--output-format", "concise")
    entries = json.loads(lint("--output-format", "json").stdout)

    assert [line.split(" SPD")[0] for line in result.stdout.splitlines()] == [
        "bench.ipynb:cell 4:4:10:",
        "bench.ipynb:cell 5:1:8:",
    ]
    assert [(entry["cell"], entry["location"]["row"]) for entry in entries] == [
        (4, 4),
        (5, 1),
    ]


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "null", '{"cells": 3}', "{", '{"cells": [3, null, {}]}', "\x00"],
)
def test_a_file_that_is_no_notebook_is_said_to_be_none(
    project: Path, lint: Lint, content: str
) -> None:
    (project / "bad.ipynb").write_text(content)

    result = lint("--output-format", "concise")

    assert result.exit_code == (0 if content.startswith('{"cells": [') else 1)
    assert result.exit_code == 0 or "not a Jupyter notebook" in result.stdout


def test_a_notebook_of_another_language_is_left_alone(
    project: Path, lint: Lint
) -> None:
    (project / "r.ipynb").write_text(
        notebook("x <- stream(messages)", metadata={"kernelspec": {"language": "R"}})
    )

    assert lint().exit_code == 0
