"""The page draws what Prometheus says, and a gap where it says nothing."""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from typing import TYPE_CHECKING, Any

import generate
import pytest
import requests
import show
from generator.dashboard_json import Dashboard, Panel, Row, Target, to_json
from loopback import Quiet, serving
from preview.data import Line, Source
from preview.page import page
from preview.svg import drawn
from preview.units import written

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.6379, "percentunit", "63.8%"),
        (1.0, "percentunit", "100%"),
        (0.0, "s", "0 s"),
        (0.00004, "s", "40 µs"),
        (0.0125, "s", "12.5 ms"),
        (2.5, "s", "2.5 s"),
        (1536, "bytes", "1.5 KiB"),
        (123456, "short", "123 K"),
        (0.25, "reqps", "0.25/s"),
        (float("nan"), "short", "-"),
    ],
)
def test_a_number_is_written_with_its_unit(value: float, unit: str, text: str) -> None:
    assert written(value, unit) == text


def panel(kind: str = "timeseries", **changes: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"unit": "short", **changes}
    one = Panel(
        title="T",
        description="D",
        kind=kind,
        targets=(Target(expr="x", legend="{{l}}"),),
        **settings,
    )
    dashboard = Dashboard(
        uid="u", title="T", description="D", rows=(Row(title="R", panels=(one,)),)
    )
    drawn_panel: dict[str, Any] = to_json(dashboard)["panels"][1]
    return drawn_panel


def line(*points: tuple[float, float], name: str = "a") -> Line:
    return Line(name=name, points=points)


def test_a_line_is_cut_where_points_are_missing() -> None:
    text = drawn(panel(), [line((0, 1), (1, 2), (9, 3), (10, 4))], 1.0)
    assert text.count("<polyline") == 2


@pytest.mark.parametrize(
    ("unit", "largest", "ticks"),
    [
        ("bytes", 80 * 2**20, ["0 B", "32 MiB", "64 MiB", "96 MiB"]),
        ("bytes", 3 * 2**30, ["0 B", "1 GiB", "2 GiB", "3 GiB"]),
        ("short", 90, ["0", "25", "50", "75", "100"]),
        ("percentunit", 0.0004, ["0%", "0.01%", "0.02%", "0.03%", "0.04%"]),
    ],
)
def test_an_axis_has_round_numbers_in_the_unit_that_is_written(
    unit: str, largest: float, ticks: list[str]
) -> None:
    text = drawn(panel(unit=unit), [line((0, 0), (1, largest))], 1.0)
    assert re.findall(r'"end">([^<:]+)</text>', text) == ticks


def test_a_point_by_itself_is_a_dot() -> None:
    assert drawn(panel(), [line((0, 1))], 1.0).count("<circle") == 1


def test_what_is_no_number_is_not_drawn() -> None:
    assert "No data" in drawn(panel(), [line((0, float("nan")))], 1.0)


def test_stacked_lines_stand_on_each_other() -> None:
    lines = [line((0, 1), (1, 1)), line((0, 2), (1, 2), name="b")]
    text = drawn(panel(stacked=True), lines, 1.0)
    lower, upper = re.findall(r'points="[\d.]+,([\d.]+)', text)
    plain = drawn(panel(), [line((0, 3), (1, 3))], 1.0)
    assert upper == re.findall(r'points="[\d.]+,([\d.]+)', plain)[0]
    assert float(lower) > float(upper)


@pytest.mark.parametrize("kind", ["timeseries", "stat", "bargauge"])
def test_without_series_a_panel_says_so(kind: str) -> None:
    assert drawn(panel(kind), [], 1.0) == '<div class="empty">No data</div>'


def test_a_bar_is_as_long_as_its_share_of_the_largest() -> None:
    text = drawn(panel("bargauge", largest=2), [line((0, 0.5))], 1.0)
    assert "width:25.0%" in text


def test_names_cannot_break_out_of_the_page() -> None:
    text = drawn(panel("stat"), [line((0, 1), name="<script>")], 1.0)
    assert "<script>" not in text


def prometheus(
    answer: Callable[[str, dict[str, str]], Any],
) -> AbstractContextManager[str]:
    class Handler(Quiet):
        def get(self) -> None:
            path, _, query = self.path.partition("?")
            fields = dict(urllib.parse.parse_qsl(query))
            body = {"data": {"result": answer(path, fields)}}
            self.reply(json.dumps(body).encode())

    return serving(Handler)


def test_the_page_has_each_panel_of_each_dashboard_with_its_variables_filled() -> None:
    asked: list[str] = []

    def answer(path: str, fields: dict[str, str]) -> Any:
        asked.append(fields["query"])
        values = {"values": [[0, "1"]]} if "range" in path else {"value": [0, "1"]}
        return [{"metric": {"model_name": "m"}, **values}]

    with prometheus(answer) as url:
        text = show.render(url, minutes=1)
    titles = [
        one["title"]
        for name in generate.rendered()
        for one in json.loads(generate.rendered()[name])["panels"]
        if one["type"] != "row"
    ]
    assert re.findall(r"<h4>([^<]+)</h4>", text) == titles
    assert not [query for query in asked if re.search(r"\$[a-z_]", query)]


def test_lines_are_in_the_order_of_their_names() -> None:
    def answer(_: str, __: dict[str, str]) -> Any:
        return [{"metric": {"l": name}, "values": [[0, "1"]]} for name in "ba"]

    with prometheus(answer) as url:
        source = Source(url=url, start=0, end=1, step_s=1)
        names = [one.name for one in source.lines(panel()["targets"][0])]
    assert names == ["a", "b"]


def test_a_page_that_is_served_asks_to_be_loaded_again() -> None:
    source = Source(url="http://nowhere", start=0, end=60, step_s=1)
    assert 'content="5"' in page([], source, refresh_s=5)
    assert "refresh" not in page([], source, refresh_s=None)


AWAY = "http://127.0.0.1:1 does not answer: [Errno 111] Connection refused"


def test_the_served_page_says_which_prometheus_does_not_answer() -> None:
    with show.server("http://127.0.0.1:1", 0, minutes=1) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            answer = requests.get(f"http://127.0.0.1:{server.server_port}", timeout=30)
        finally:
            server.shutdown()
            thread.join()
    assert (answer.status_code, answer.text) == (502, AWAY)


def test_a_page_that_cannot_be_written_for_want_of_data_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    arguments = ["show.py", "http://127.0.0.1:1", "--out", str(out)]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit, match=re.escape(AWAY)):
        show.main()
    assert not out.exists()
