"""`--fix` adds `include_usage`, and nothing else in the file changes."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from otel_specdecode.lint import fixing

from .conftest import ASKS_AND_COUNTS_TOKENS, COMMAND, COUNTS_CHUNKS, Lint

if TYPE_CHECKING:
    from otel_specdecode.lint.reading import SourceText

GUARDED_LOOP = "for c in stream:\n    if c.choices:\n        print(c.choices[0])\n"
BARE_LOOP = "for c in stream:\n    print(c.choices[0].delta.content)\n"


def fixed(project: Path, lint: Lint, text: str, *options: str) -> str:
    file = project / "bench.py"
    file.write_bytes(text.encode())
    lint("--select", "SPD003", *(options or ("--fix", "--unsafe-fixes")), "bench.py")
    ast.parse(file.read_bytes())
    return file.read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'client.completions.create(prompt="x", stream=True)\n',
            (
                'client.completions.create(prompt="x", stream=True, '
                'stream_options={"include_usage": True})\n'
            ),
        ),
        (
            'client.completions.create(stream=True, prompt="x")\n',
            (
                "client.completions.create(stream=True, "
                'stream_options={"include_usage": True}, prompt="x")\n'
            ),
        ),
        (
            "client.completions.create(\n    prompt='x',\n    stream=True\n)\n",
            (
                "client.completions.create(\n    prompt='x',\n    stream=True,\n"
                '    stream_options={"include_usage": True}\n)\n'
            ),
        ),
        (
            "client.completions.create(\n\tstream=True,  # live\n\tprompt='x',\n)\n",
            (
                "client.completions.create(\n\tstream=True,  # live\n"
                "\tstream_options={\"include_usage\": True},\n\tprompt='x',\n)\n"
            ),
        ),
        (
            "client.completions.create(prompt='x', stream=True, stream_options=None)\n",
            (
                "client.completions.create(prompt='x', stream=True, "
                'stream_options={"include_usage": True})\n'
            ),
        ),
        (
            (
                "client.completions.create(stream=True, "
                "stream_options={'include_usage': False})\n"
            ),
            (
                "client.completions.create(stream=True, "
                "stream_options={'include_usage': True})\n"
            ),
        ),
        (
            (
                "client.completions.create(stream=True, "
                "stream_options={'include_obfuscation': False})\n"
            ),
            (
                "client.completions.create(stream=True, stream_options="
                "{'include_obfuscation': False, \"include_usage\": True})\n"
            ),
        ),
        (
            "client.completions.create(prompt=('ä' + 'ö'), stream=(True), n=1)\n",
            (
                "client.completions.create(prompt=('ä' + 'ö'), stream=(True), "
                'stream_options={"include_usage": True}, n=1)\n'
            ),
        ),
        (
            "client.completions.create(\n    prompt='x',\n    stream=True  # (on)\n)\n",
            (
                "client.completions.create(\n    prompt='x',\n    stream=True,  # (on)\n"
                '    stream_options={"include_usage": True}\n)\n'
            ),
        ),
        (
            (
                "client.completions.create(stream=True, "
                "stream_options={'include_obfuscation': (False)})\n"
            ),
            (
                "client.completions.create(stream=True, stream_options="
                "{'include_obfuscation': (False), \"include_usage\": True})\n"
            ),
        ),
        (
            (
                "import requests\n"
                "requests.post(u + '/v1/completions', json={'stream': (\n"
                "    True  # (on)\n"
                "), 'n': 1})\n"
            ),
            (
                "import requests\n"
                "requests.post(u + '/v1/completions', json={'stream': (\n"
                "    True  # (on)\n"
                '), "stream_options": {"include_usage": True}, \'n\': 1})\n'
            ),
        ),
        (
            (
                "import requests\n"
                "requests.post(u + '/v1/completions', json={\n"
                "    'prompt': 'x',\n"
                "    'stream': True,\n"
                "    'n': 1,\n"
                "})\n"
            ),
            (
                "import requests\n"
                "requests.post(u + '/v1/completions', json={\n"
                "    'prompt': 'x',\n"
                "    'stream': True,\n"
                '    "stream_options": {"include_usage": True},\n'
                "    'n': 1,\n"
                "})\n"
            ),
        ),
        (
            "R = {'model': 'm', 'stream': True}\nclient.completions.create(**R)\n",
            (
                "R = {'model': 'm', 'stream': True}\nclient.completions.create(**R, "
                'stream_options={"include_usage": True})\n'
            ),
        ),
    ],
)
def test_the_option_is_written_where_a_reader_would_write_it(
    project: Path, lint: Lint, before: str, after: str
) -> None:
    assert fixed(project, lint, before) == after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            'x = f"{list(client.completions.create(prompt=p, stream=True))}"\n',
            id="quotes would end the f-string",
        ),
        pytest.param(
            "client.chat.completions.stream(x for x in y)\n",
            id="a generator without parentheses of its own",
        ),
        pytest.param(
            "client.completions.create(stream=True, stream_options=dict())\n",
            id="options that are built",
        ),
    ],
)
def test_a_request_that_has_no_place_for_the_option_is_left_to_the_reader(
    project: Path, lint: Lint, text: str
) -> None:
    assert fixed(project, lint, text) == text
    assert lint("--select", "SPD003", "bench.py").exit_code == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_line_endings_and_encoding_are_kept(
    project: Path, lint: Lint, ending: str, bom: str
) -> None:
    text = bom + 'x = "é"\nclient.completions.create(\n    stream=True,\n)\n'.replace(
        "\n", ending
    )

    after = fixed(project, lint, text)

    added = f'    stream_options={{"include_usage": True}},{ending}'
    assert after == text.replace(
        f"    stream=True,{ending}", f"    stream=True,{ending}{added}"
    )


@pytest.mark.parametrize("first", ["", f"#{' long' * 99}\n"])
def test_a_declared_encoding_is_written_back(
    project: Path, lint: Lint, first: str
) -> None:
    text = (
        f"{first}# -*- coding: latin-1 -*-\n"
        'x = "é"\nclient.completions.create(stream=True)\n'
    )
    file = project / "bench.py"
    file.write_bytes(text.encode("latin-1"))

    lint("--fix", "--unsafe-fixes")

    assert 'x = "é"' in file.read_bytes().decode("latin-1")
    assert "include_usage" in file.read_bytes().decode("latin-1")


def test_a_file_with_two_names_is_fixed_once(project: Path, lint: Lint) -> None:
    file = project / "bench.py"
    file.write_text(COUNTS_CHUNKS)
    (project / "link.py").symlink_to(file)

    result = lint("--select", "SPD003", "--fix")

    assert (result.exit_code, file.read_text().count("include_usage")) == (0, 1)


@pytest.fixture(
    params=[
        pytest.param(
            b"# coding: utf-7\nx = '+AGE-'\nclient.completions.create(stream=True)\n",
            id="one character in two ways",
        ),
        pytest.param(
            b"# coding: idna\nclient.completions.create(n=1,\n  stream=True)\n",
            id="the option makes a label too long",
        ),
    ]
)
def not_encoded_again_as_it_was(request: pytest.FixtureRequest) -> bytes:
    return request.param


def test_a_file_that_is_not_encoded_again_as_it_was_stays_as_it_is(
    project: Path, lint: Lint, not_encoded_again_as_it_was: bytes
) -> None:
    file = project / "bench.py"
    file.write_bytes(not_encoded_again_as_it_was)

    result = lint("--unsafe-fixes")

    assert (file.read_bytes(), result.exit_code) == (not_encoded_again_as_it_was, 2)
    assert result.stderr.startswith("error: bench.py: changed meanwhile, or not")


def test_a_source_that_is_not_encoded_again_as_it_was_goes_back_as_it_is(
    lint: Lint, not_encoded_again_as_it_was: bytes
) -> None:
    result = lint("-", "--unsafe-fixes", stdin=not_encoded_again_as_it_was)

    assert result.stdout_bytes == not_encoded_again_as_it_was
    assert result.exit_code == 1
    assert "not fixed" in result.stderr
    assert "SPD003" in result.stderr


def test_a_pipe_is_not_replaced_by_a_file(project: Path, lint: Lint) -> None:
    pipe = project / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_text, args=(COUNTS_CHUNKS,), daemon=True)
    writer.start()

    result = lint("--fix", "pipe")

    assert (result.exit_code, pipe.is_fifo()) == (2, True)
    assert result.stderr == "error: pipe: not a regular file: not fixed\n"
    writer.join(timeout=10)


def test_what_was_written_to_a_file_meanwhile_is_not_lost(
    project: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "bench.py"
    file.write_text(COUNTS_CHUNKS)
    write = fixing.write

    def write_late(source: SourceText, text: str) -> None:
        file.write_text("x = 1\n")
        write(source, text)

    monkeypatch.setattr(fixing, "write", write_late)
    result = lint("--fix")

    assert (file.read_text(), result.exit_code) == ("x = 1\n", 2)


@pytest.mark.parametrize(
    ("loop", "is_safe"),
    [
        (GUARDED_LOOP, True),
        ("for c in stream:\n    pass\n", True),
        (
            (
                "for c in stream:\n    if not c.choices:\n        continue\n"
                "    print(c.choices[0])\n"
            ),
            True,
        ),
        ("for c in stream:\n    print(c.choices[0] if c.choices else '')\n", True),
        (BARE_LOOP, False),
        ("for c in stream:\n    if c.id:\n        print(c.choices[0])\n", False),
        ("for c in stream:\n    print(c.choices[i])\n", False),
        ("for c in stream:\n    (choice,) = c.choices\n", False),
        ("for c in stream:\n    choice = c.choices.pop()\n", False),
        ("for c in stream:\n    choices = c.choices\n    print(choices[0])\n", False),
        (
            (
                "for c in stream:\n    choices = c.choices\n"
                "    if len(choices) < 1:\n        continue\n    print(choices[0])\n"
            ),
            True,
        ),
        (
            (
                "for c in stream:\n    if choices := c.choices:\n"
                "        print(choices[0])\n"
            ),
            True,
        ),
        ("for c in stream:\n    print(c.choices[:1])\n", True),
        ("", False),
        ("consume(stream)\n", False),
    ],
)
def test_a_fix_is_safe_only_if_no_loop_trips_over_an_empty_choices(
    project: Path, lint: Lint, loop: str, is_safe: bool
) -> None:
    text = f"stream = client.chat.completions.create(model='m', stream=True)\n{loop}"

    after = fixed(project, lint, text, "--fix")

    assert ("include_usage" in after) is is_safe


def test_diff_shows_the_change_and_writes_nothing(project: Path, lint: Lint) -> None:
    file = project / "bench.py"
    file.write_text(COUNTS_CHUNKS)

    result = lint("--diff")

    assert (result.exit_code, file.read_text()) == (1, COUNTS_CHUNKS)
    assert result.stdout == snapshot("""\
--- bench.py
+++ bench.py
@@ -5,7 +5,7 @@
     start = time.perf_counter()
     n = 0
     for chunk in client.chat.completions.create(
-        model="m", messages=messages, stream=True
+        model="m", messages=messages, stream=True, stream_options={"include_usage": True}
     ):
         if chunk.choices:
             n += 1
""")


def test_diff_exits_with_0_when_nothing_would_change(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)
    lint("--fix")

    assert lint("--diff").exit_code == 0


def test_what_a_fix_leaves_is_reported(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("--fix", "--output-format", "concise")

    assert [line.split(" ")[1] for line in result.stdout.splitlines()] == ["SPD001"]
    assert (result.exit_code, result.stderr) == (1, "Fixed 1 finding.\n")


def test_a_source_on_standard_input_is_handed_on_fixed(lint: Lint) -> None:
    result = lint(
        "-", "--fix", "--unsafe-fixes",
        stdin=b"client.completions.create(prompt='x', stream=True)\n",
    )  # fmt: skip

    assert result.stdout == (
        "client.completions.create(prompt='x', stream=True, "
        'stream_options={"include_usage": True})\n'
    )
    assert result.exit_code == 0


def test_a_file_that_cannot_be_replaced_stays_whole(
    project: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "bench.py"
    file.write_text(COUNTS_CHUNKS)

    def refuse(_self: Path, _target: Path) -> Path:
        raise PermissionError(13, "Permission denied", "bench.py")

    monkeypatch.setattr(Path, "replace", refuse)
    result = lint("--fix")

    assert file.read_text() == COUNTS_CHUNKS
    assert [path.name for path in project.iterdir()] == ["bench.py"]
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr


def test_one_file_that_cannot_be_written_does_not_keep_others_from_their_fix(
    project: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.py", "b.py"):
        (project / name).write_text(COUNTS_CHUNKS)
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: path.name != "a.py" and may(path, mode)
    )

    result = lint("--fix")

    assert (project / "a.py").read_text() == COUNTS_CHUNKS
    assert "include_usage" in (project / "b.py").read_text()
    assert result.exit_code == 2
    assert "a.py: Permission denied" in result.stderr


def test_a_file_with_the_longest_name_there_is_can_be_fixed(
    project: Path, lint: Lint
) -> None:
    name = "n" * 252 + ".py"
    (project / name).write_text(COUNTS_CHUNKS)
    lint("--fix")

    assert "include_usage" in (project / name).read_text()


def test_a_diff_is_encoded_as_its_file_is(project: Path, lint: Lint) -> None:
    text = "# coding: latin-1\nx = 'é'\ncompletions.create(prompt=x, stream=True)\n"
    (project / "a.py").write_bytes(text.encode("latin-1"))
    (project / "b.py").write_bytes(b"\xef\xbb\xbf" + text[18:].encode())

    result = lint("--diff", "--unsafe-fixes")

    assert b" x = '\xe9'\n" in result.stdout_bytes
    assert b"\n x = '\xc3\xa9'\n" in result.stdout_bytes
    assert b"\xef\xbb\xbf" not in result.stdout_bytes


def test_mode_and_symbolic_links_are_kept(project: Path, lint: Lint) -> None:
    target = project / "real.txt"
    target.write_text(COUNTS_CHUNKS)
    target.chmod(0o755)
    (project / "bench.py").symlink_to(target)

    lint("--fix")

    assert (project / "bench.py").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o755
    assert "include_usage" in target.read_text()


def test_fixing_twice_changes_nothing_more(project: Path, lint: Lint) -> None:
    once = fixed(project, lint, COUNTS_CHUNKS)

    assert fixed(project, lint, once) == once


def test_a_process_killed_while_it_writes_leaves_the_old_file_or_the_new(
    project: Path,
) -> None:
    """Killed at the moment when a half-written file would be seen."""
    source = project / "bench.py"
    source.write_text(COUNTS_CHUNKS)
    script = (
        "import os, signal, sys\n"
        "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from otel_specdecode.cli.lint import command\n"
        "command(['--unsafe-fixes', 'bench.py'])\n"
    )

    killed = subprocess.run([sys.executable, "-c", script], cwd=project, check=False)

    assert killed.returncode == -signal.SIGKILL
    assert source.read_text() == COUNTS_CHUNKS


def test_ctrl_c_while_a_file_is_written_leaves_it_as_it_was(project: Path) -> None:
    source = project / "bench.py"
    source.write_text(COUNTS_CHUNKS)
    script = (
        "import os, signal, sys\n"
        "os.fsync = lambda number: signal.raise_signal(signal.SIGINT)\n"
        "from otel_specdecode.cli.lint import main\n"
        "sys.exit(main(['--unsafe-fixes', 'bench.py']))\n"
    )

    stopped = subprocess.run(
        [sys.executable, "-c", script],
        cwd=project, check=False, capture_output=True, text=True,
    )  # fmt: skip

    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (130, "", "")
    assert source.read_text() == COUNTS_CHUNKS
    assert [path.name for path in project.iterdir()] == ["bench.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_where_there_is_nothing_to_fix_the_source_is_read_once(project: Path) -> None:
    """What comes from a pipe cannot be read a second time."""
    os.mkfifo(project / "bench.py")
    linting = subprocess.Popen(
        [COMMAND, "lint", "--fix", "bench.py"],
        cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    (project / "bench.py").write_text(ASKS_AND_COUNTS_TOKENS)

    out, err = linting.communicate(timeout=60)

    assert (linting.returncode, out, err) == (0, "", "No findings in 1 file.\n")
