"""Draws the three kinds of panel that the dashboards have."""

from __future__ import annotations

import math
import time
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from preview.data import Line
from preview.units import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

COLOURS = (
    *("#3274d9", "#e0752d", "#3f9b46", "#c4162a", "#8f3bb8", "#0a8f8f"),
    *("#b58900", "#d6336c", "#5c6bc0", "#607d8b"),
)
_LEFT, _BOTTOM, _TOP = 64, 18, 8


def drawn(panel: Mapping[str, Any], lines: Sequence[Line], step_s: float) -> str:
    """The inside of a panel as HTML; says so where there is no data."""
    if not lines:
        return '<div class="empty">No data</div>'
    field = panel["fieldConfig"]["defaults"]
    if panel["type"] == "stat":
        return _stat(field, lines)
    if panel["type"] == "bargauge":
        return _bars(field, lines)
    place = panel["gridPos"]
    return _chart(field, lines, step_s, width=place["w"] * 48, height=190) + _legend(
        lines
    )


def _stat(field: Mapping[str, Any], lines: Sequence[Line]) -> str:
    parts = (
        f'<div><b style="color:{colour}">'
        f"{escape(_written(line.points[-1][1], field))}</b>"
        f"<span>{escape(line.name)}</span></div>"
        for line, colour in _coloured(lines)
    )
    return f'<div class="stat">{"".join(parts)}</div>'


def _bars(field: Mapping[str, Any], lines: Sequence[Line]) -> str:
    largest = field.get("max") or max(line.points[-1][1] for line in lines) or 1
    parts = (
        f"<label>{escape(line.name)}</label><i><u style="
        f'"width:{100 * line.points[-1][1] / largest:.1f}%;background:{colour}"></u>'
        f"</i><b>{escape(_written(line.points[-1][1], field))}</b>"
        for line, colour in _coloured(lines)
    )
    return f'<div class="bars">{"".join(parts)}</div>'


def _written(value: float, field: Mapping[str, Any]) -> str:
    return written(value, field["unit"], field.get("decimals"))


def _coloured(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    for at, line in enumerate(lines):
        yield line, COLOURS[at % len(COLOURS)]


def _legend(lines: Sequence[Line]) -> str:
    parts = (
        f'<span><i style="background:{colour}"></i>{escape(line.name)}</span>'
        for line, colour in _coloured(lines)
    )
    return f'<div class="legend">{"".join(parts)}</div>'


def _stacked(lines: Sequence[Line]) -> list[Line]:
    below: dict[float, float] = {}
    piled: list[Line] = []
    for line in lines:
        points = []
        for at, value in line.points:
            below[at] = below.get(at, 0.0) + value
            points.append((at, below[at]))
        piled.append(Line(name=line.name, points=tuple(points)))
    return piled


def _chart(
    field: Mapping[str, Any],
    lines: Sequence[Line],
    step_s: float,
    *,
    width: int,
    height: int,
) -> str:
    if field["custom"]["stacking"]["mode"] == "normal":
        lines = _stacked(lines)
    points = [
        point for line in lines for point in line.points if math.isfinite(point[1])
    ]
    if not points:
        return '<div class="empty">No data</div>'
    first, last = min(at for at, _ in points), max(at for at, _ in points)
    low = field.get("min", min(value for _, value in points))
    high = max(field.get("max", 0), *(value for _, value in points)) or 1
    ticks = _ticks(low, high, unit=field["unit"])
    high = max(high, ticks[-1])

    def x(at: float) -> float:
        return _LEFT + (width - _LEFT - 6) * (at - first) / ((last - first) or 1)

    def y(value: float) -> float:
        share = (value - low) / ((high - low) or 1)
        return height - _BOTTOM - (height - _BOTTOM - _TOP) * share

    parts = [
        f'<line x1="{_LEFT}" x2="{width}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">'
        f"{escape(written(tick, field['unit']))}</text>"
        for tick in ticks
    ]
    parts += [
        f'<text x="{x(at):.1f}" y="{height - 3}" text-anchor="{anchor}">'
        f"{time.strftime('%H:%M:%S', time.gmtime(at))}</text>"
        for at, anchor in ((first, "start"), (last, "end"))
    ]
    for line, colour in _coloured(lines):
        for piece in _pieces(line, step_s):
            path = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in piece)
            parts.append(
                f'<polyline points="{path}" stroke="{colour}"/>'
                if len(piece) > 1
                else f'<circle cx="{x(piece[0][0]):.1f}" cy="{y(piece[0][1]):.1f}" '
                f'r="2" fill="{colour}"/>'
            )
    return f'<svg viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'


def _pieces(line: Line, step_s: float) -> Iterator[list[tuple[float, float]]]:
    """The line, cut where points are missing: a gap is no value."""
    piece: list[tuple[float, float]] = []
    finite = [point for point in line.points if math.isfinite(point[1])]
    for before, point in pairwise([None, *finite]):
        if before is not None and point and point[0] - before[0] > 1.5 * step_s:
            yield piece
            piece = []
        if point:
            piece.append(point)
    if piece:
        yield piece


def _ticks(low: float, high: float, *, unit: str) -> list[float]:
    """Round numbers from `low` to just past `high`, four or five of them."""
    raw = (high - low or 1) / 4
    if unit == "bytes":
        step = 2.0 ** math.ceil(math.log2(raw))
    else:
        size = 10 ** math.floor(math.log10(raw))
        step = next(
            size * one for one in (1, 2, 2.5, 5, 10) if size * one >= raw * 0.999
        )
    count = math.ceil((high - low) / step - 1e-9)
    return [low + step * at for at in range(count + 1)]
