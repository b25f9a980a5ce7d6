"""Options that name a server of the user's own, the same in every subcommand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from otel_specdecode.errors import ConfigError

if TYPE_CHECKING:
    from otel_specdecode.cli._server_address import Address

_Command = TypeVar("_Command", bound=Callable[..., Any])


def server_options(purpose: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds `--base-url`, `--model` and `--api-key`.

    Args:
        purpose: what the subcommand does with that server, for the help.
    """
    base_url = click.option(
        "--base-url",
        default=None,
        help=f"{purpose}, such as http://localhost:8000/v1.",
    )
    model = click.option(
        "--model", default=None, help="Its model; the only one by default."
    )
    api_key = click.option(
        "--api-key",
        default=None,
        envvar="OPENAI_API_KEY",
        show_envvar=True,
        help="Its key; never shown.",
    )
    return lambda command: base_url(model(api_key(command)))


def address_of(
    base_url: str | None, model: str | None, api_key: str | None
) -> Address | None:
    """Return the server that the options name; `None` when they name none.

    Raises:
        click.UsageError: a model without a server, or no address, or no key.
    """
    from otel_specdecode.cli._server_address import Address

    if base_url is None:
        if model is not None:
            raise click.UsageError("--model needs --base-url")
        return None
    try:
        return Address.of(base_url, api_key)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
