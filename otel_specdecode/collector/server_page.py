"""Which of the series that the bundle's rules need does a server publish, and how?"""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from dataclasses import dataclass

from otel_specdecode.collector.metric_names import NEEDED_BY_RULES
from otel_specdecode.collector.probe import is_url
from otel_specdecode.errors import ConfigError

# In the order in which the scrape job brings them to the first.
_PREFIXES = ("vllm:", "vllm_", "llamacpp:", "llamacpp_", "lmdeploy:", "lmdeploy_")
_NAME = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)[{ ]", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """One series that a rule needs.

    Attributes:
        name: without a prefix.
        found_as: the name on the page; `None` where it is not there.
    """

    name: str
    found_as: str | None

    def __str__(self) -> str:
        if self.found_as is None or self.found_as.startswith("vllm:"):
            return f"vllm:{self.name}"
        return f"vllm:{self.name} as {self.found_as}"


def read_page(url: str) -> str:
    """The text of a `/metrics` page, asked for as the bundle's scrape job does.

    Raises:
        ConfigError: the address is no URL, does not answer, or answers with no text.
    """
    if not is_url(url):
        raise ConfigError(
            f"{url}: expected a URL such as http://127.0.0.1:8000/metrics"
        )
    accept = (
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,"
        "text/plain;version=0.0.4;q=0.5"
    )
    request = urllib.request.Request(url, headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode("utf-8")
    except urllib.error.HTTPError as error:
        raise ConfigError(f"{url}: answers with HTTP {error.code}") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise ConfigError(f"{url}: no answer: {reason}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{url}: answers with no text: {error.reason}") from error


def report(page: str) -> tuple[Needed, ...]:
    """What of `NEEDED_BY_RULES` the page has, in that order."""
    names = set(_NAME.findall(page))
    return tuple(
        Needed(
            name=name,
            found_as=next(
                (prefix + name for prefix in _PREFIXES if prefix + name in names), None
            ),
        )
        for name in NEEDED_BY_RULES
    )
