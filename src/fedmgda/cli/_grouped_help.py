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
        width = max(map(len, self.commands))
        for panel, commands in self.panels().items():
            lines.append(panel)
            lines += [f"  {name:<{width}}  {_short(one)}" for name, one in commands.items()]
        options = " ".join(option.opts[0] for option in self.get_params(ctx))
        lines += [f"Options: {options}", "More: fedmgda COMMAND --help; fedmgda explain NAME"]
        formatter.write("\n".join(lines) + "\n")

    def panels(self) -> dict[str, dict[str, Any]]:
        """Return the commands by their names, by their panels in the order of the help."""
        shown: dict[str, dict[str, Any]] = {panel: {} for panel in _ORDER}
        for name, command in self.commands.items():
            shown[getattr(command, "rich_help_panel", None) or RUN][name] = command
        return shown


def _short(command: Any) -> str:
    """Return what a command does, in its first sentence."""
    return str(command.get_short_help_str(limit=66))
