"""Options that name a server of the user's own, the same in every subcommand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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


def check_server_options(base_url: str | None, model: str | None) -> None:
    """Refuse a model without a server.

    Raises:
        click.UsageError: `model` is given, and `base_url` is not.
    """
    if model is not None and base_url is None:
        raise click.UsageError("--model needs --base-url")
