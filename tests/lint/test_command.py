"""`otel-specdecode lint`: what it reads, what it prints, and its exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from .conftest import ASKS_AND_COUNTS_TOKENS, COUNTS_CHUNKS, Lint

if TYPE_CHECKING:
    from pathlib import Path


def codes(output: str) -> list[str]:
    return [line.split(" ")[1] for line in output.splitlines() if ": SPD" in line]


def test_a_clean_project_exits_with_0(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(ASKS_AND_COUNTS_TOKENS)

    result = lint()

    assert (result.exit_code, result.stdout) == (0, "")


def test_findings_exit_with_1_and_name_file_line_and_column(
    project: Path, lint: Lint
) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("--output-format", "concise")

    assert result.exit_code == 1
    assert result.stdout == snapshot("""\
bench.py:7:18: SPD003 streamed request never asks for usage: token counts are lost; add `stream_options={"include_usage": True}`
bench.py:12:22: SPD001 token rate from a count of streamed chunks: one chunk can carry several tokens; divide `usage.completion_tokens` by the time, or call it a chunk rate
""")


def test_the_text_form_shows_the_line_the_way_and_the_fix(
    project: Path, lint: Lint
) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint()

    assert result.stdout == snapshot("""\
bench.py:7:18: SPD003 streamed request never asks for usage: token counts are lost; add `stream_options={"include_usage": True}`
  |
7 |     for chunk in client.chat.completions.create(
  |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  | fix: Ask for usage on the last chunk (--fix)
  | see: otel-specdecode rule SPD003

bench.py:12:22: SPD001 token rate from a count of streamed chunks: one chunk can carry several tokens; divide `usage.completion_tokens` by the time, or call it a chunk rate
   |
12 |     return {"tok_s": n / (time.perf_counter() - start)}
   |                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   | via: line 7: one turn per streamed chunk
   | via: line 11: one added per chunk
   | via: line 12: chunk count / time
   | see: otel-specdecode rule SPD001

""")
    assert result.stderr == "2 findings in 1 file, 1 fixable with --fix.\n"


def test_exit_zero_reports_and_still_succeeds(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("--exit-zero", "--output-format", "concise")

    assert (result.exit_code, codes(result.stdout)) == (0, ["SPD003", "SPD001"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--select", "SPD001"), ["SPD001"]),
        (("--select", "SPD0", "--ignore", "SPD003"), ["SPD001"]),
        (("--ignore", "SPD001,SPD003"), []),
        (("--select", "SPD001", "--extend-select", "SPD003"), ["SPD003", "SPD001"]),
        (("--select", "SPD903"), []),
        (("--assume-instrumented",), ["SPD001"]),
        (("--per-file-ignores", "bench.py:SPD001"), ["SPD003"]),
        (("--per-file-ignores", "other/*:SPD001"), ["SPD003", "SPD001"]),
        (("--exclude", "bench.py"), []),
        (("--exclude", "./bench.py"), []),
        (("--exclude", "**/bench.py"), []),
        (("--extend-ignore", "SPD003"), ["SPD001"]),
        (("--select", "ALL", "--ignore", "ALL"), []),
        (("--ignore", "ALL", "--select", "SPD001"), ["SPD001"]),
        (("--per-file-ignores", "bench.py:ALL"), []),
        (("--per-file-ignores", "a/**/bench.py:ALL"), ["SPD003", "SPD001"]),
    ],
)
def test_options_choose_rules_and_files(
    project: Path, lint: Lint, arguments: tuple[str, ...], expected: list[str]
) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("--output-format", "concise", *arguments)

    assert codes(result.stdout) == expected


def test_rules_of_the_900s_are_off_until_selected(project: Path, lint: Lint) -> None:
    program = COUNTS_CHUNKS.replace('"tok_s": n /', '"completion_tokens": n, "x": n /')
    (project / "bench.py").write_text(program)

    off = lint("--output-format", "concise")
    on = lint("--output-format", "concise", "--extend-select", "SPD9")

    assert "SPD903" not in codes(off.stdout)
    assert "SPD903" in codes(on.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--select", "XYZ1"),
        ("--ignore", "SPD1"),
        ("missing.py",),
        ("--output-format", "xml"),
        ("--no-such-option",),
        ("--per-file-ignores", "nocolon"),
        ("--per-file-ignores", "a.py:XYZ"),
        ("--select", "SPD000"),
        ("--config", "missing.toml"),
    ],
)
def test_wrong_use_exits_with_2(lint: Lint, arguments: tuple[str, ...]) -> None:
    result = lint(*arguments)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr != ""


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("select = 'SPD001'", "expected a list of strings"),
        ("selekt = []", "unknown option"),
        ("assume-instrumented = 1", "expected true or false"),
        ("per-file-ignores = []", "expected a table of patterns"),
        ("select = [", "Invalid value"),
        ("per-file-ignores = { 'a.py' = ['XYZ'] }", "unknown rule 'XYZ'"),
    ],
)
def test_a_wrong_configuration_exits_with_2_and_says_where(
    project: Path, lint: Lint, table: str, message: str
) -> None:
    (project / "pyproject.toml").write_text(f"[tool.otel-specdecode.lint]\n{table}\n")

    result = lint()

    assert result.exit_code == 2
    assert "pyproject.toml" in result.stderr or "unknown rule" in message
    assert message in result.stderr


def test_a_list_in_place_of_the_table_is_an_error(project: Path, lint: Lint) -> None:
    (project / "pyproject.toml").write_text("[[tool.otel-specdecode.lint]]\n")

    assert "must be a table" in lint().stderr


@pytest.mark.parametrize(
    "text",
    [
        "[tool]\notel-specdecode.lint = { ignore = ['SPD'] }",
        "[tool.'otel-specdecode'.lint]\nextend-ignore = ['SPD']",
        "[tool.otel-specdecode]\nlint.ignore = ['SPD']",
        "[tool.otel-specdecode.lint]\nextend-exclude = ['*.py']\nexclude = ['x']",
        "[tool.otel-specdecode.lint.per-file-ignores]\n'**/bench.py' = ['SPD']",
    ],
)
def test_every_spelling_of_the_table_is_read(
    project: Path, lint: Lint, text: str
) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)
    (project / "pyproject.toml").write_text(text)

    assert lint().exit_code == 0


@pytest.mark.parametrize(
    "text", ["ignore = ['SPD']", "[tool.otel-specdecode.lint]\nignore = ['SPD']"]
)
def test_a_named_file_holds_the_options_at_its_top_or_in_the_table(
    project: Path, lint: Lint, text: str
) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)
    (project / "options.toml").write_text(text)

    assert lint("--config", "options.toml").exit_code == 0


def test_a_pyproject_that_only_names_this_package_is_no_configuration(
    project: Path, lint: Lint
) -> None:
    (project / "inner").mkdir()
    (project / "inner/bench.py").write_text(COUNTS_CHUNKS)
    (project / "inner/pyproject.toml").write_text(
        "project = { dependencies = ['otel-specdecode'] }\ntool = 3\n"
    )
    (project / "pyproject.toml").write_text(
        "[tool.otel-specdecode.lint]\nignore = ['SPD']\n"
    )

    assert lint("inner").exit_code == 0


def test_the_nearest_pyproject_upwards_is_read(project: Path, lint: Lint) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.otel-specdecode.lint]\n"
        'ignore = ["SPD003"]\n'
        'extend-exclude = ["old"]\n'
        'per-file-ignores = { "tests/*" = ["SPD"] }\n'
    )
    for name in ("src/bench.py", "tests/bench.py", "old/bench.py"):
        (project / name).parent.mkdir()
        (project / name).write_text(COUNTS_CHUNKS)

    result = lint("--output-format", "concise", ".")
    isolated = lint("--output-format", "concise", "--isolated", "tests", "old")

    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [
        "src/bench.py"
    ]
    assert len(codes(isolated.stdout)) == 4


def test_a_named_file_is_read_even_if_excluded_unless_forced(
    project: Path, lint: Lint
) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    # With a directory the pattern holds; pre-commit names files and forces it.
    assert lint("--exclude", "bench.py", "bench.py").exit_code == 1
    assert lint("--exclude", "bench.py", "--force-exclude", "bench.py").exit_code == 0


def test_what_git_ignores_is_not_read(project: Path, lint: Lint) -> None:
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("generated/\n*_old.py\n!keep_old.py\n")
    (project / "sub").mkdir()
    (project / "sub/.gitignore").write_text("local.py\n")
    (project / "generated").mkdir()
    for name in (
        "generated/a.py", "b_old.py", "keep_old.py", "sub/local.py", "sub/seen.py",
    ):  # fmt: skip
        (project / name).write_text(COUNTS_CHUNKS)

    result = lint("--select", "SPD001", "--output-format", "concise")
    everything = lint("--select", "SPD001", "--no-respect-gitignore", "--statistics")

    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [
        "keep_old.py",
        "sub/seen.py",
    ]
    assert everything.stdout == "    5  SPD001  token-rate-from-chunks\n"


def test_a_file_is_read_once_by_whatever_name(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("bench.py", "./bench.py", str(project / "bench.py"), ".")

    assert "2 findings in 1 file" in result.stderr


def test_a_named_directory_is_searched_even_if_git_ignores_it(
    project: Path, lint: Lint
) -> None:
    (project / ".git/info").mkdir(parents=True)
    (project / ".git/info/exclude").write_text("local.py\nscratch\n")
    (project / ".gitignore").write_text("gen/\n!scratch/\n")
    for name in ("gen/a.py", "scratch/b.py", "local.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(COUNTS_CHUNKS)

    whole = lint("--select", "SPD001", "--output-format", "concise")
    named = lint("--select", "SPD001", "--output-format", "concise", "gen")

    assert [line.split(":")[0] for line in whole.stdout.splitlines()] == [
        "scratch/b.py"
    ]
    assert named.stdout.startswith("gen/a.py")


@pytest.mark.parametrize("ignored", ["SPD000", "SPD", "ALL"])
def test_files_that_cannot_be_read_can_be_ignored(
    project: Path, lint: Lint, ignored: str
) -> None:
    (project / "old").mkdir()
    (project / "old/two.py").write_text("print 'stream', messages, delta\n")
    (project / "broken.ipynb").write_text("<<<<<<<")

    assert lint("--per-file-ignores", f"old/*:{ignored}", "old").exit_code == 0
    assert lint("--ignore", ignored).exit_code == 0
    assert lint().exit_code == 1


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa", []),
        ("# noqa: SPD001", []),
        ("# NOQA:spd001", []),
        ("# noqa: E501, SPD001", []),
        ("# noqa: SPD", []),
        ("# noqa: SPD002", ["SPD001"]),
        ("# a remark", ["SPD001"]),
    ],
)
def test_noqa_comments_are_read_as_flake8_reads_them(
    project: Path, lint: Lint, comment: str, expected: list[str]
) -> None:
    text = COUNTS_CHUNKS.replace("- start)}", f"- start)}}  {comment}")
    (project / "bench.py").write_text(text)

    result = lint("--select", "SPD001", "--output-format", "concise")

    assert codes(result.stdout) == expected


def test_noqa_holds_for_lines_that_backslashes_and_strings_join(
    project: Path, lint: Lint
) -> None:
    (project / "bench.py").write_text(
        's = client.completions.create(prompt="""\n\n""", \\\n  n=1, \\\n'
        "  stream=True)  # noqa: SPD003\n"
        's = client.completions.create(prompt="x",\n  stream=True)  # noqa: SPD003\n'
    )

    result = lint("--select", "SPD003", "--output-format", "concise")

    assert [line.split(":")[1] for line in result.stdout.splitlines()] == ["6"]


def test_noqa_inside_a_string_is_no_comment(project: Path, lint: Lint) -> None:
    text = COUNTS_CHUNKS.replace('"tok_s"', '"tok_s # noqa"')
    (project / "bench.py").write_text(text)

    assert codes(lint("--select", "SPD001", "--output-format", "concise").stdout)


def test_a_file_can_be_left_out_by_a_comment(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text("# flake8: noqa\n" + COUNTS_CHUNKS)

    assert lint().exit_code == 0


def test_standard_input_is_linted_under_the_given_name(lint: Lint) -> None:
    result = lint(
        "-", "--stdin-filename", "app/bench.py", "--output-format", "concise",
        stdin=COUNTS_CHUNKS.encode(),
    )  # fmt: skip

    assert result.exit_code == 1
    assert result.stdout.startswith("app/bench.py:7:18: SPD003")


def test_a_helper_in_another_file_of_the_run_is_followed(
    project: Path, lint: Lint
) -> None:
    (project / "rates.py").write_text("def tps(n, s):\n    return n / s\n")
    (project / "bench.py").write_text(
        COUNTS_CHUNKS.replace(
            "import time\n", "import time\nfrom rates import tps\n"
        ).replace(
            "n / (time.perf_counter() - start)", "tps(n, time.perf_counter() - start)"
        )
    )

    result = lint("--select", "SPD001", "--output-format", "concise")
    alone = lint("--select", "SPD001", "rates.py")

    assert result.stdout.startswith("rates.py:2:12: SPD001")
    assert alone.exit_code == 0


def test_a_count_from_an_imported_stream_is_followed(project: Path, lint: Lint) -> None:
    (project / "client.py").write_text(
        "def ask(client, q):\n"
        "    for c in client.chat.completions.create(\n"
        '        model="m", messages=q, stream=True\n'
        "    ):\n"
        "        yield c\n"
    )
    (project / "report.py").write_text(
        "import time\n"
        "from client import ask\n\n\n"
        "def main(c):\n"
        "    t0, n = time.time(), 0\n"
        "    for piece in ask(c, []):\n"
        "        n += 1\n"
        '    print(n / (time.time() - t0), "tok/s")\n'
    )

    result = lint("--select", "SPD001", "--output-format", "concise")

    assert result.stdout.startswith("report.py:9:11: SPD001")


@pytest.mark.parametrize(("declared", "found"), [("int = 0", 0), ("int | None", 1)])
def test_a_class_is_known_through_a_package_that_hands_on_its_name(
    project: Path, lint: Lint, declared: str, found: int
) -> None:
    (project / "types_of").mkdir()
    (project / "types_of" / "__init__.py").write_text(
        "from types_of.tokens import Tokens\n"
    )
    (project / "types_of" / "tokens.py").write_text(
        f"class Tokens:\n    output_tokens: {declared}\n"
    )
    (project / "report.py").write_text(
        "from types_of import Tokens\n\n\n"
        "def add(usage: Tokens, counter):\n"
        "    counter.add(usage.output_tokens or 0)\n"
    )

    result = lint("--select", "SPD005", "--output-format", "concise")

    assert len(codes(result.stdout)) == found


def test_one_instrumented_file_speaks_for_the_run(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)
    (project / "setup_telemetry.py").write_text(
        "from otel_specdecode import SpecDecodeInstrumentor\n"
        "SpecDecodeInstrumentor().instrument()\n"
    )

    assert codes(lint("--output-format", "concise").stdout) == ["SPD001"]


def test_json_carries_the_way_and_the_fix(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    entries = json.loads(lint("--output-format", "json").stdout)

    assert entries == snapshot(
        [
            {
                "code": "SPD003",
                "name": "stream-without-usage",
                "message": 'streamed request never asks for usage: token counts are lost; add `stream_options={"include_usage": True}`',
                "filename": "bench.py",
                "cell": None,
                "location": {"row": 7, "column": 18},
                "end_location": {"row": 9, "column": 6},
                "path": [],
                "fix": {
                    "message": "Ask for usage on the last chunk",
                    "applicability": "safe",
                    "edits": [
                        {
                            "content": ', stream_options={"include_usage": True}',
                            "location": {"row": 8, "column": 50},
                            "end_location": {"row": 8, "column": 50},
                        }
                    ],
                },
                "url": "https://github.com/otel-specdecode/otel-specdecode/blob/main/docs/lint/rules/SPD003.md",
            },
            {
                "code": "SPD001",
                "name": "token-rate-from-chunks",
                "message": "token rate from a count of streamed chunks: one chunk can carry several tokens; divide `usage.completion_tokens` by the time, or call it a chunk rate",
                "filename": "bench.py",
                "cell": None,
                "location": {"row": 12, "column": 22},
                "end_location": {"row": 12, "column": 55},
                "path": [
                    {
                        "filename": "bench.py",
                        "row": 7,
                        "message": "one turn per streamed chunk",
                    },
                    {
                        "filename": "bench.py",
                        "row": 11,
                        "message": "one added per chunk",
                    },
                    {
                        "filename": "bench.py",
                        "row": 12,
                        "message": "chunk count / time",
                    },
                ],
                "fix": None,
                "url": "https://github.com/otel-specdecode/otel-specdecode/blob/main/docs/lint/rules/SPD001.md",
            },
        ]
    )


def test_github_annotations_escape_what_would_break_them(
    project: Path, lint: Lint
) -> None:
    (project / "a,b.py").write_text(COUNTS_CHUNKS)

    result = lint("--select", "SPD001", "--output-format", "github")

    assert result.stdout == snapshot(
        "::error title=otel-specdecode (SPD001),file=a%2Cb.py,line=12,col=22,endLine=12,endColumn=55::a,b.py:12:22: SPD001 token rate from a count of streamed chunks: one chunk can carry several tokens; divide `usage.completion_tokens` by the time, or call it a chunk rate\n"
    )


def test_findings_can_be_written_to_a_file(project: Path, lint: Lint) -> None:
    (project / "bench.py").write_text(COUNTS_CHUNKS)

    result = lint("--output-format", "json", "--output-file", "out.json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert len(json.loads((project / "out.json").read_text())) == 2


def test_statistics_count_by_rule(project: Path, lint: Lint) -> None:
    (project / "a.py").write_text(COUNTS_CHUNKS)
    (project / "b.py").write_text(COUNTS_CHUNKS)

    assert lint("--statistics").stdout == snapshot("""\
    2  SPD001  token-rate-from-chunks
    2  SPD003  stream-without-usage
""")
