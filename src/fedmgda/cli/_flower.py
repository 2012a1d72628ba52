"""`fedmgda flower`: the same specs on Flower's engine."""

from __future__ import annotations

import typer

from fedmgda.cli._flower_schema import schema

__all__ = ["flower_app"]

flower_app = typer.Typer(
    name="flower", help="Train on other machines, with Flower's engine.", no_args_is_help=True
)
flower_app.command()(schema)
