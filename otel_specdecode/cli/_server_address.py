"""The address of a server of the user's own: what is sent, and what is shown of it."""

from __future__ import annotations

import base64
import urllib.parse
from dataclasses import dataclass, field

from otel_specdecode.errors import ConfigError

HIDDEN = "***"
_LONGEST_SHOWN = 160
# A path may carry an account's token; a name is shorter than that.
_LONGEST_SEGMENT = 20
_IN_A_PATH = "/%:@!$&'()*+,;="


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An OpenAI base URL, with what must not be shown kept apart.

    Attributes:
        base_url: without credentials and without a slash at its end.
        authorization: the header to send; `None` to send none.
        secrets: texts that are blotted out wherever they occur.
    """

    base_url: str
    authorization: str | None = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, base_url: str, api_key: str | None) -> Address:
        """Take a base URL apart.

        Raises:
            ConfigError: it is none, or no header can hold the key.
        """
        # Asked here, since an HTTP library that refuses a key quotes it.
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise ConfigError(
                "--api-key, or OPENAI_API_KEY: expected printable ASCII; is there a"
                " line break at its end?"
            )
        try:
            parts = urllib.parse.urlsplit(base_url)
            port = parts.port
        except ValueError:
            parts, port = urllib.parse.urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
            raise ConfigError(
                "--base-url: expected a URL such as http://127.0.0.1:8000/v1"
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        netloc = host if port is None else f"{host}:{port}"
        user = urllib.parse.unquote(parts.username or "")
        password = urllib.parse.unquote(parts.password or "")
        # As the client sends it.
        path = urllib.parse.quote(parts.path.rstrip("/"), safe=_IN_A_PATH)
        return cls(
            base_url=f"{parts.scheme}://{netloc}{path}",
            authorization=_authorization(user, password, api_key),
            secrets=tuple(s for s in (api_key, password) if s),
        )

    @property
    def root_url(self) -> str:
        """The base URL without the `/v1` of the OpenAI API."""
        return self.base_url.removesuffix("/v1")

    @property
    def shown(self) -> str:
        """The base URL for people."""
        return self.blot(shown_url(self.base_url))

    def blot(self, text: str) -> str:
        """Return one short line of a text, without the secrets."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return one_line(text, _LONGEST_SHOWN)


def _authorization(user: str, password: str, api_key: str | None) -> str | None:
    # As the client does: credentials in the URL win over the key.
    if user or password:
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        return f"Basic {pair}"
    return f"Bearer {api_key}" if api_key else None


def one_line(text: str, longest: int) -> str:
    """Return a text for people: on one line, printable, cut after so many characters.

    Args:
        text: whatever a server or a variable held.
        longest: characters that are kept; three dots stand for the rest.
    """
    line = " ".join(text.split())
    if len(line) > longest:
        line = f"{line[:longest]}..."
    return "".join(c if c.isprintable() else "?" for c in line)


def shown_url(url: str) -> str:
    """Return a URL for people: no credentials, no query, no long path segments."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return HIDDEN
    netloc = parts.netloc.rpartition("@")[2]
    path = "/".join(
        s if len(s) < _LONGEST_SEGMENT else HIDDEN for s in parts.path.split("/")
    )
    return urllib.parse.urlunsplit((parts.scheme, netloc, path, "", ""))
