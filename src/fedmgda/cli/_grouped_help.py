"""The first help: every command in its group, on one screen of 80 x 24."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

if TYPE_CHECKING:
    from click import Context, HelpFormatter

__all__ = ["DATA", "LOOK", "OWN", "PAPER", "RUN", "GroupedHelp"]

OWN = "Your own data"
RUN = "Run"
LOOK = "Look and check"
PAPER = "The paper"
DATA = "Data and federations"

_ORDER = (OWN, RUN, LOOK, PAPER, DATA)


class GroupedHelp(TyperGroup):
    """A group of commands that shows them by their panels, without boxes, which take a screen."""

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the usage, what it is, the commands by group, and the options in one line."""
        lines = [f"Usage: {ctx.command_path} [OPTIONS] COMMAND [ARGS]...", str(self.help)]
        shown: dict[str, list[Any]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                shown.setdefault(command.rich_help_panel or RUN, []).append((name, command))
        width = max(len(name) for commands in shown.values() for name, _ in commands)
        for panel in sorted(shown, key=_ORDER.index):
            lines.append(panel)
            lines += [f"  {name:<{width}}  {_short(command)}" for name, command in shown[panel]]
        options = " ".join(option.opts[0] for option in self.get_params(ctx))
        lines += [f"Options: {options}", "More: fedmgda COMMAND --help; fedmgda explain NAME"]
        formatter.write("\n".join(lines) + "\n")


def _short(command: Any) -> str:
    """Return what a command does, in its first sentence."""
    return str(command.get_short_help_str(limit=66))
