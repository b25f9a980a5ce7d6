"""Puts the panels on a page, as far apart as Grafana would."""

from __future__ import annotations

import time
from html import escape
from typing import TYPE_CHECKING, Any

from preview.svg import drawn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from preview.data import Source

_STYLE = """
body{margin:0;background:#f4f5f8;color:#24292e;font:13px/1.35 system-ui,sans-serif}
header{padding:14px 20px;background:#fff;border-bottom:1px solid #d8d9dd}
header b{font-size:17px}header span{color:#6e7077;margin-left:10px}
nav{padding:8px 20px;background:#fff;border-bottom:1px solid #d8d9dd}
nav a{margin-right:16px;color:#3274d9;text-decoration:none}
h2{margin:22px 20px 2px;font-size:16px}h2+p{margin:0 20px 8px;color:#6e7077}
h3{grid-column:1/-1;margin:8px 0 0;font-size:13px;color:#6e7077}
main{display:grid;grid-template-columns:repeat(24,1fr);gap:8px;padding:0 20px}
section{background:#fff;border:1px solid #d8d9dd;border-radius:3px;padding:8px 10px;
min-width:0}
section h4{margin:0 0 6px;font-size:13px;white-space:nowrap;overflow:hidden;
text-overflow:ellipsis}
svg{width:100%;display:block}svg line{stroke:#e7e8ec}
svg text{font:11px system-ui,sans-serif;fill:#6e7077}
svg polyline{fill:none;stroke-width:1.6}
.legend{display:flex;flex-wrap:wrap;gap:2px 12px;font-size:11px;color:#464c54}
.legend i{display:inline-block;width:12px;height:3px;margin-right:5px;
vertical-align:middle}
.stat{display:flex;gap:26px;justify-content:center;padding:14px 0;flex-wrap:wrap}
.stat b{display:block;font-size:30px;text-align:center}
.stat span{display:block;text-align:center;color:#6e7077}
.bars{display:grid;grid-template-columns:auto 1fr auto;gap:5px 10px;align-items:center}
.bars i{background:#eceef2;height:14px}.bars u{display:block;height:14px}
.empty{padding:48px 0;text-align:center;color:#9a9ca3}
"""


def page(
    dashboards: Sequence[Mapping[str, Any]], source: Source, *, refresh_s: int | None
) -> str:
    """All dashboards below each other, as one page without scripts.

    Args:
        dashboards: as Grafana reads them.
        source: where the numbers come from.
        refresh_s: seconds after which a browser loads it anew; `None` for never.
    """
    again = f'<meta http-equiv="refresh" content="{refresh_s}">' if refresh_s else ""
    until = time.strftime("%H:%M:%S UTC", time.gmtime(source.end))
    minutes = (source.end - source.start) / 60
    links = "".join(
        f'<a href="#{one["uid"]}">{escape(_short(one))}</a>' for one in dashboards
    )
    body = "".join(_dashboard(one, source) for one in dashboards)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8">{again}'
        f"<title>Speculation</title><style>{_STYLE}</style>"
        f"<header><b>Speculation</b><span>{minutes:.0f} minutes until {until}, from "
        f"{escape(source.url)}</span></header><nav>{links}</nav>{body}</html>"
    )


def _short(dashboard: Mapping[str, Any]) -> str:
    return dashboard["title"].removeprefix("Speculation: ")


def _dashboard(dashboard: Mapping[str, Any], source: Source) -> str:
    panels = "".join(_panel(panel, source) for panel in dashboard["panels"])
    return (
        f'<h2 id="{dashboard["uid"]}">{escape(dashboard["title"])}</h2>'
        f"<p>{escape(dashboard['description'])}</p><main>{panels}</main>"
    )


def _panel(panel: Mapping[str, Any], source: Source) -> str:
    if panel["type"] == "row":
        return f"<h3>{escape(panel['title'])}</h3>"
    lines = [line for target in panel["targets"] for line in source.lines(target)]
    return (
        f'<section style="grid-column:span {panel["gridPos"]["w"]}" '
        f'title="{escape(panel["description"])}"><h4>{escape(panel["title"])}</h4>'
        f"{drawn(panel, lines, source.step_s)}</section>"
    )
