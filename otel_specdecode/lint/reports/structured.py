"""For programs: JSON, SARIF 2.1.0 and GitHub's workflow commands."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from otel_specdecode.lint._modules import split_lines
from otel_specdecode.lint.registry import UNREADABLE, all_rules, rule_of

if TYPE_CHECKING:
    from otel_specdecode.lint.findings import Edit, Finding
    from otel_specdecode.lint.run import Report

TOOL = "otel-specdecode"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def _position(text: str, index: int) -> tuple[int, int]:
    """1-based line and column of a character."""
    before = split_lines(text[:index])
    if not before or before[-1].endswith(("\n", "\r")):
        return len(before) + 1, 1
    return len(before), len(before[-1]) + 1


def _edit(edit: Edit, text: str) -> dict[str, Any]:
    line, column = _position(text, edit.start)
    end_line, end_column = _position(text, edit.end)
    return {
        "content": edit.text,
        "location": {"row": line, "column": column},
        "end_location": {"row": end_line, "column": end_column},
    }


def as_json(report: Report) -> str:
    """A list of findings; lines and columns are 1-based."""
    return json.dumps([_entry(f, report) for f in report.findings], indent=2) + "\n"


def _entry(finding: Finding, report: Report) -> dict[str, Any]:
    rule = rule_of(finding.code)
    source = report.texts.get(finding.path)
    fix = None
    if finding.fix is not None and source is not None:
        fix = {
            "message": finding.fix.title,
            "applicability": "safe" if finding.fix.is_safe else "unsafe",
            "edits": [_edit(edit, source.text) for edit in finding.fix.edits],
        }
    return {
        "code": finding.code,
        "name": rule.name if rule else "unreadable",
        "message": finding.message,
        "filename": finding.path,
        "cell": finding.cell,
        "location": {"row": finding.line, "column": finding.column},
        "end_location": {"row": finding.end_line, "column": finding.end_column},
        "path": [
            {"filename": step.path, "row": step.line, "message": step.note}
            for step in finding.steps
        ],
        "fix": fix,
        "url": rule.url if rule else None,
    }


def as_github(report: Report) -> str:
    """Workflow commands that GitHub shows beside the changed lines."""
    return "".join(_annotation(finding) for finding in report.findings)


def _annotation(finding: Finding) -> str:
    properties = {
        "title": f"{TOOL} ({finding.code})",
        "file": finding.path,
        "line": finding.line,
        "col": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    if finding.cell is not None:
        # A cell's line is no line of the file that GitHub shows.
        for name in ("line", "col", "endLine", "endColumn"):
            del properties[name]
    listed = ",".join(f"{k}={_escape(str(v))}" for k, v in properties.items())
    text = f"{finding.place}: {finding.code} {finding.message}"
    return f"::error {listed}::{_escape(text, is_property=False)}\n"


def _escape(text: str, *, is_property: bool = True) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def as_sarif(report: Report, version: str) -> str:
    """SARIF 2.1.0, as code scanning takes it."""
    rules: list[dict[str, Any]] = [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.summary},
            "help": {"text": rule.documentation, "markdown": rule.documentation},
            "helpUri": rule.url,
            "properties": {"tags": ["speculative-decoding", "measurement"]},
            "defaultConfiguration": {"level": "warning", "enabled": rule.is_default},
        }
        for rule in all_rules()
    ]
    rules.append(
        {
            "id": UNREADABLE,
            "shortDescription": {"text": "File cannot be read as Python"},
        }
    )
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    seen: dict[str, int] = {}
    document = {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": TOOL,
                        "version": version,
                        "informationUri": "https://github.com/otel-specdecode/otel-specdecode",
                        "rules": rules,
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {
                    "SRCROOT": {"description": {"text": "Where the linter ran"}}
                },
                "results": [
                    _result(finding, report, numbers[finding.code], seen)
                    for finding in report.findings
                ],
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _artifact(path: str) -> dict[str, Any]:
    """A relative URI under the run's directory, or an absolute one outside it."""
    place = Path(path)
    if place.is_absolute():
        try:
            place = place.relative_to(Path.cwd())
        except ValueError:
            return {"uri": place.as_uri()}
    return {"uri": quote(os.fsencode(place.as_posix())), "uriBaseId": "SRCROOT"}


def _result(
    finding: Finding, report: Report, number: int, seen: dict[str, int]
) -> dict[str, Any]:
    source = report.texts.get(finding.path)
    lines = split_lines(source.text) if source else []
    line = lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""
    # The line's text, not its number: the finding stays itself when lines move.
    key = f"{finding.code}:{finding.path}:{line.strip()}"
    seen[key] = seen.get(key, 0) + 1
    told = f"{key}:{seen[key]}".encode(errors="surrogatepass")  # a name in bytes, say
    digest = hashlib.sha256(told).hexdigest()[:32]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": "error" if finding.code == UNREADABLE else "warning",
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": _location(finding)}],
        "partialFingerprints": {"primaryLocationLineHash/v1": digest},
    }
    if finding.cell is not None:
        result["properties"] = {"cell": finding.cell}
    if finding.steps:
        result["codeFlows"] = [_flow(finding)]
    if finding.fix is not None and source is not None:
        result["fixes"] = [_sarif_fix(finding, source.text)]
    return result


def _location(finding: Finding) -> dict[str, Any]:
    return {
        "artifactLocation": _artifact(finding.path),
        "region": {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
        },
    }


def _flow(finding: Finding) -> dict[str, Any]:
    return {
        "threadFlows": [
            {
                "locations": [
                    {
                        "location": {
                            "message": {"text": step.note},
                            "physicalLocation": {
                                "artifactLocation": _artifact(step.path),
                                "region": {"startLine": step.line},
                            },
                        }
                    }
                    for step in finding.steps
                ]
            }
        ]
    }


def _sarif_fix(finding: Finding, text: str) -> dict[str, Any]:
    fix = finding.fix
    edits = fix.edits if fix else ()
    replacements: list[dict[str, Any]] = []
    for edit in edits:
        line, column = _position(text, edit.start)
        end_line, end_column = _position(text, edit.end)
        replacements.append(
            {
                "deletedRegion": {
                    "startLine": line,
                    "startColumn": column,
                    "endLine": end_line,
                    "endColumn": end_column,
                },
                "insertedContent": {"text": edit.text},
            }
        )
    return {
        "description": {"text": fix.title if fix else ""},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(finding.path),
                "replacements": replacements,
            }
        ],
    }
