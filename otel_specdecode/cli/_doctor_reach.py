"""Why is there no OpenAI API to ask, and what mends that?"""

from __future__ import annotations

import http.client
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from otel_specdecode.cli._doctor_identity import models_of
from otel_specdecode.cli._doctor_reading import answered
from otel_specdecode.cli._server_address import HIDDEN, shown_url

if TYPE_CHECKING:
    from otel_specdecode.cli._doctor_http import Exchanges, Reply
    from otel_specdecode.cli._server_address import Address

KEY_OPTION = "--api-key KEY, or OPENAI_API_KEY"
REFUSES_KEY = frozenset({401, 403})
# Too slow, too early, too often.
_NOT_NOW = frozenset({408, 425, 429})
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
    found = _without_models(exchanges, address, listed)
    parts = urlsplit(address.base_url)
    if parts.scheme not in getproxies() or proxy_bypass(parts.hostname or ""):
        return found
    return Unreachable(
        why=f"asked by way of the proxy of {parts.scheme.upper()}_PROXY: {found.why}",
        fix=f"NO_PROXY={parts.hostname}, if no proxy is between",
    )


def _without_models(
    exchanges: Exchanges, address: Address, listed: Reply
) -> Unreachable:
    if listed.status is None:
        return _no_answer(listed, secure=address.base_url.startswith("https:"))
    if listed.status in REFUSES_KEY:
        return Unreachable(
            why=f"answered {listed.status}: it refuses the key, or wants one",
            fix=KEY_OPTION,
        )
    asked = f"{address.base_url}{_MODELS}"
    if listed.location is not None:
        elsewhere = listed.location.removesuffix(_MODELS)
        return Unreachable(
            why=f"/models answered {answered(listed)}; that is not followed, since the"
            " key is for the server that was named",
            fix=None
            if listed.location in {shown_url(asked), HIDDEN}
            else f"--base-url {elsewhere}",
        )
    if listed.failure is not None:
        return Unreachable(
            why=f"/models answered {listed.status}, and broke off: {listed.failure}"
        )
    # One that fails to answer has the page, but not now.
    not_now = listed.status >= 500 or listed.status in _NOT_NOW
    return Unreachable(
        why=f"/models answered {answered(listed)}; that is no list of models",
        fix=None if not_now else fix_of_url(exchanges, address),
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
    if isinstance(error, ssl.SSLError):
        return _no_tls(error, why)
    if isinstance(error, ConnectionResetError) and not secure:
        return Unreachable(
            why=f"it closed the connection without an answer ({why})",
            fix="https:// in --base-url, if it speaks TLS",
        )
    if isinstance(error, (http.client.BadStatusLine, http.client.UnknownProtocol)):
        return Unreachable(
            why="what it answers is no HTTP/1.1",
            fix="the port of its HTTP API in --base-url",
        )
    return Unreachable(why=why)


def _no_tls(error: ssl.SSLError, why: str) -> Unreachable:
    if isinstance(error, ssl.SSLCertVerificationError):
        other = error.verify_code in _OTHER_NAME
        return Unreachable(
            why=f"its certificate is not trusted: {error.verify_message}",
            fix="the certificate's own host name in --base-url"
            if other
            else "SSL_CERT_FILE=FILE with the certificate of its authority",
        )
    if error.reason in _NO_TLS:
        return Unreachable(
            why="it speaks no TLS on that port", fix="http:// in --base-url"
        )
    return Unreachable(why=why)
