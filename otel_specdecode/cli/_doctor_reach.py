"""Why is there no OpenAI API to ask, and what mends that?"""

from __future__ import annotations

import http.client
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit, urlunsplit

from otel_specdecode.cli._doctor_http import shown_url
from otel_specdecode.cli._doctor_identity import models_of
from otel_specdecode.cli._doctor_reading import message_of

if TYPE_CHECKING:
    from otel_specdecode.cli._doctor_http import Address, Exchanges, Reply

KEY_OPTION = "--api-key KEY, or OPENAI_API_KEY"
REFUSES_KEY = frozenset({401, 403})
_MODELS = "/models"
_API = "/v1"
# OpenSSL's words for an answer that is no TLS, as plain HTTP is not.
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"})
# X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
_OTHER_NAME = frozenset({62, 64})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """No API to ask.

    Attributes:
        why: in words.
        fix: an option or variable that mends it; `None` when none does.
    """

    why: str
    fix: str | None = None


def unreachable(exchanges: Exchanges, address: Address, listed: Reply) -> Unreachable:
    """Say why the page of models is none.

    Args:
        exchanges: asks once more, where the URL may be a little off.
        address: the server.
        listed: what came in the place of the page.
    """
    if listed.status is None:
        return _no_answer(listed, secure=address.base_url.startswith("https:"))
    if listed.status in REFUSES_KEY:
        return Unreachable(
            why=f"answered {listed.status}: it refuses the key, or wants one",
            fix=KEY_OPTION,
        )
    if 300 <= listed.status < 400 and "location" in listed.headers:
        asked = f"{address.base_url}{_MODELS}"
        location = shown_url(urljoin(asked, listed.headers["location"]))
        return Unreachable(
            why=f"/models answered {listed.status}, to {location}; that is not"
            " followed, since the key is for the server that was named",
            fix=f"--base-url {location.removesuffix(_MODELS)}",
        )
    said = message_of(listed.json())
    what = listed.headers.get("content-type", "no content type")
    answered = f"{listed.status}: {said}" if said else f"{listed.status} with {what}"
    return Unreachable(
        why=f"/models answered {answered}; that is no list of models",
        # One that fails to answer has the page, but not now.
        fix=fix_of_url(exchanges, address) if listed.status < 500 else None,
    )


def fix_of_url(exchanges: Exchanges, address: Address) -> str:
    """Say which URL has an API, where this one has none: one more request tells."""
    parts = urlsplit(address.base_url)
    before, found, _ = parts.path.partition(_API)
    nearby = urlunsplit(parts._replace(path=f"{before}{_API}"))
    if nearby != address.base_url and (
        models_of(exchanges.get(f"{nearby}{_MODELS}")) is not None
    ):
        return f"--base-url {shown_url(nearby)}"
    ends = "" if found else ", most often with /v1 at its end"
    return f"the base URL of an OpenAI API{ends}; --model MODEL where it lists none"


def _no_answer(listed: Reply, *, secure: bool) -> Unreachable:
    error, why = listed.error, listed.failure or "no answer"
    if isinstance(error, ConnectionRefusedError):
        return Unreachable(
            why="nothing listens there (connection refused)",
            fix="start the server, or another host or port in --base-url",
        )
    if isinstance(error, socket.gaierror):
        return Unreachable(
            why=f"no such host ({error.strerror})", fix="another host in --base-url"
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        other = error.verify_code in _OTHER_NAME
        return Unreachable(
            why=f"its certificate is not trusted: {error.verify_message}",
            fix="the certificate's own host name in --base-url"
            if other
            else "SSL_CERT_FILE=FILE with the certificate of its authority",
        )
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return Unreachable(
            why="it speaks no TLS on that port", fix="http:// in --base-url"
        )
    hung_up = isinstance(error, (ConnectionResetError, http.client.BadStatusLine))
    if hung_up and not secure:
        return Unreachable(
            why=f"it closed the connection without an answer ({why})",
            fix="https:// in --base-url, if it speaks TLS",
        )
    return Unreachable(why=why)
