"""Numbers as Grafana writes them, for the units that the dashboards use."""

from __future__ import annotations

import math

_PER_SECOND = {"reqps": "/s", "cps": "/s"}


def written(value: float, unit: str, decimals: int | None = None) -> str:
    """A value with its unit, short enough for an axis."""
    if math.isnan(value):
        return "-"
    if unit == "percentunit":
        return f"{_plain(value * 100, decimals)}%"
    if unit == "s":
        return _seconds(value)
    if unit == "bytes":
        return _scaled(value, 1024, (" B", " KiB", " MiB", " GiB"))
    return _scaled(value, 1000, ("", " K", " Mil"), decimals) + _PER_SECOND.get(
        unit, ""
    )


def _seconds(value: float) -> str:
    for factor, name in ((1, " s"), (1e3, " ms"), (1e6, " µs")):
        if abs(value) * factor >= 1:
            return _plain(value * factor) + name
    return "0 s" if value == 0 else f"{_plain(value * 1e6)} µs"


def _scaled(
    value: float, base: int, names: tuple[str, ...], decimals: int | None = None
) -> str:
    at = 0
    while abs(value) >= base and at + 1 < len(names):
        value, at = value / base, at + 1
    return _plain(value, decimals) + names[at]


def _plain(value: float, decimals: int | None = None) -> str:
    if decimals is not None:
        return f"{value:.{decimals}f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
