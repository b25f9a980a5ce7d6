"""Shows the dashboards in a browser, fed by any Prometheus, without Grafana.

python collector/grafana/show.py http://127.0.0.1:9090 --serve 8900
python collector/grafana/show.py http://127.0.0.1:9090 --out page.html
"""

from __future__ import annotations

import argparse
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import generate
from generator.dashboard_json import to_json
from preview.data import Source
from preview.page import page

REFRESH_S = 5


def render(
    prometheus: str,
    *,
    minutes: float,
    rate_interval: str = "1m",
    refresh_s: int | None = None,
    end: float | None = None,
) -> str:
    """The page of the minutes before `end` (Unix seconds; `None` is now), as HTML."""
    end = time.time() if end is None else end
    source = Source(
        url=prometheus,
        start=end - minutes * 60,
        end=end,
        step_s=max(1.0, minutes * 60 / 240),
        rate_interval=rate_interval,
    )
    dashboards = [to_json(one) for one in generate.DASHBOARDS]
    return page(dashboards, source, refresh_s=refresh_s)


def server(prometheus: str, port: int, *, minutes: float) -> ThreadingHTTPServer:
    """A server of that page on loopback; 0 takes a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind = 200, "text/html"
            try:
                text = render(prometheus, minutes=minutes, refresh_s=REFRESH_S)
            except OSError as error:
                status, kind, text = 502, "text/plain", _unreachable(prometheus, error)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet: whoever looks at the page sees that it was asked for."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def _unreachable(prometheus: str, error: OSError) -> str:
    return f"{prometheus} does not answer: {getattr(error, 'reason', error)}"


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("prometheus", help="base URL")
    parser.add_argument("--minutes", type=float, default=15)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, help="write the page to this file")
    where.add_argument("--serve", type=int, metavar="PORT", help="serve it")
    options = parser.parse_args()
    if options.out:
        try:
            text = render(options.prometheus, minutes=options.minutes)
        except OSError as error:
            sys.exit(_unreachable(options.prometheus, error))
        options.out.write_text(text, "utf-8")
        return
    with server(options.prometheus, options.serve, minutes=options.minutes) as running:
        print(f"http://127.0.0.1:{running.server_port}")
        running.serve_forever()


if __name__ == "__main__":
    main()
