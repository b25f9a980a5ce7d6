"""`otel-specdecode rule`: what a lint rule is about."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@click.option("--all", "list_all", is_flag=True, help="List every rule.")
@click.option(
    "--pages", type=click.Path(path_type=Path, file_okay=False),
    help="Write every rule's page into this directory.",
)  # fmt: skip
@click.pass_context
def command(
    context: click.Context,
    codes: tuple[str, ...],
    *,
    list_all: bool,
    pages: Path | None,
) -> None:
    """Explain lint rules, such as SPD001."""
    from otel_specdecode.lint.registry import CODES, all_rules

    if pages is not None:
        pages.mkdir(parents=True, exist_ok=True)
        for rule in all_rules():
            page = pages / f"{rule.code}.md"
            page.write_text(rule.documentation, encoding="utf-8")
        return
    if list_all or not codes:
        for rule in all_rules():
            state = "" if rule.is_default else "  (off by default)"
            click.echo(f"{rule.code}  {rule.summary}{state}")
        return
    asked = [code.upper() for code in codes]
    unknown = [code for code in codes if code.upper() not in CODES]
    if unknown:
        known = ", ".join(CODES)
        click.echo(f"error: unknown rule {unknown[0]!r}; known are {known}", err=True)
        context.exit(2)
    pages_of = {rule.code: rule.documentation for rule in all_rules()}
    click.echo("\n".join(pages_of[code] for code in asked), nl=False)
