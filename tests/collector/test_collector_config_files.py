"""Files that hold no configuration, or hold it elsewhere, are told from clean ones."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest
from sound_config import SOUND

from otel_specdecode.collector import check_configuration
from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("before", "part"),
    [
        ("mode: deployment\nconfig:\n", "under config, as its own file"),
        ("kind: Collector\nspec:\n  config:\n", "under spec.config, as its own"),
        ("kind: ConfigMap\ndata:\n  relay: |\n", "the text under data"),
    ],
)
def test_what_a_configuration_is_wrapped_in_is_not_passed_over(
    before: str, part: str, tmp_path: Path
) -> None:
    path = tmp_path / "wrapped.yaml"
    path.write_text(before + textwrap.indent(SOUND, "    "))
    (found,) = check_configuration([path], {})
    assert (found.code, part in found.message) == ("C025", True)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "service:\n  pipelines:\n"])
def test_a_file_that_starts_nothing_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text(text)
    (found,) = check_configuration([path], {})
    assert found.message.startswith("no pipeline under service")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[otlp]", "${env:RECEIVERS:-[otlp]}"),
        ("[otlp_http]", "${file:exporters.yaml}"),
    ],
)
def test_a_list_that_stands_elsewhere_is_taken_for_one(
    old: str, new: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SOUND.replace(old, new))
    assert {one.code for one in check_configuration([path], {})} == {"C002"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [", "not YAML"),
        ("receivers", "expected a mapping of sections"),
        ("a: &x {b: *x}", "an alias stands inside of what it names"),
        ("a: 1\nb: 2\na: 3\n", "3: the key a is there a second time, after line 1"),
        ("a:\n  {{ .Values.x }}\n", "2: a key is no text; if this is a template"),
        ("a: " + 2000 * "[" + 2000 * "]", "nested too deeply"),
        ("a: 1\n---\nb: 2\n", "a single document"),
        (None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_name(
    text: str | None, part: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=part) as caught:
        check_configuration([path], {})
    assert str(path) in str(caught.value)


def test_aliases_of_aliases_of_aliases_are_not_followed_for_hours(
    tmp_path: Path,
) -> None:
    path = tmp_path / "aliases.yaml"
    tens = [f"a{n + 1}: &a{n + 1} [{', '.join(10 * [f'*a{n}'])}]" for n in range(9)]
    path.write_text("\n".join(["a0: &a0 [1]", *tens]))
    with pytest.raises(ConfigError, match="more than 100000 values"):
        check_configuration([path], {})


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_at_the_beginning_says_what_is_read(
    encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SOUND, encoding=encoding)
    assert check_configuration([path], {}) == ()
