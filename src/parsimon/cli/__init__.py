"""The `parsimon` command: one module per subcommand, loaded only when it is called."""

from parsimon.cli.main import main

__all__ = ["main"]
