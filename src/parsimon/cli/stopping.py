"""What stands when Ctrl-C ends a command; noted on the way, and said by `main`."""

import click

# What shells make of Ctrl-C.
INTERRUPTED = 130
_STANDS = "parsimon.stands"


def note_standing(words: str) -> None:
    """Keep in mind what stands if the command is stopped from now on."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_STANDS] = words


def say_standing(context: click.Context) -> str:
    """Return what stands now that a command is stopped."""
    return str(context.meta.get(_STANDS, "nothing was written"))
