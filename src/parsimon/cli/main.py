"""The command group: finds subcommands lazily and turns our errors into one line."""

import importlib
import sys
import time
from typing import Any

import click

from parsimon import __version__
from parsimon._checks import did_you_mean
from parsimon.cli.printing import INTERRUPTED, STARTED, say, say_standing, visible
from parsimon.exceptions import ParsimonError

# Each is a function of a module of that name; beside it the help that the list shows.
COMMANDS = {
    "report": "Search a table for what predicts a column, and report it.",
    "compare": "Measure all models of a table on the same new rows.",
    "fit": "Fit one model to a table, and save it.",
    "predict": "Predict new rows with a saved model.",
    "explain": "Say what speaks for and against each prediction.",
    "select-features": "Find which columns of a table are needed, or a formula of them.",
    "series": "Find the few features of series that predict a target.",
    "phylo": "Explain a trait of related species: report --tree.",
    "front": "Find the Pareto front of a table of results.",
    "datasets": "List the data sets that can be loaded by name.",
    "completion": "Print what makes a shell complete commands.",
}


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they run, so that `--help` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        return getattr(importlib.import_module(f"parsimon.cli.{name}"), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        ctx.meta[STARTED] = time.monotonic()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say(f"Stopped; {say_standing(ctx)}.", err=True)
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            # Who reads has seen enough; click ends quietly.
            raise
        except (ParsimonError, OSError) as error:
            from parsimon.cli.row_widths import say_line

            say(f"Error: {visible(say_line(ctx, error), one_line=True)}", err=True)
            sys.exit(1)
        except click.UsageError as error:
            said = error.format_message()
            if visible(said) == said:
                raise
            raise click.UsageError(visible(said), ctx=error.ctx) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="parsimon")
def main() -> None:
    """Search a table for structure, keep every useful trade-off, and explain it.

    \b
    Try it:
        parsimon report pima
        parsimon front --demo
    """
