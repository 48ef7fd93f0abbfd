"""What reaches a terminal: text in which nothing can steer it, and what stands after Ctrl-C.

Names and cells come from files that others made. A terminal takes some characters in them for
commands that change colours, titles or the text above; here they are written as their codes.
"""

import sys
import unicodedata

import click

# Marks that turn the direction of what follows, so that a line reads otherwise than it is.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_STEERING = frozenset({"Cc", "Cs", "Zl", "Zp"})


def visible(text: object, *, one_line: bool = False) -> str:
    r"""Return text with ``\u001b`` and the like in place of characters that steer a terminal.

    Tabs and new lines stay, unless it must be one line. JSON with these codes is the same JSON.
    """
    whole = str(text)
    if whole.isascii() and whole.isprintable():
        return whole
    kept = "" if one_line else "\n\t"
    return "".join(_code(one) if _steers(one) and one not in kept else one for one in whole)


def say(text: object = "", *, err: bool = False) -> None:
    """Print text, to the standard error if asked."""
    click.echo(visible(text), err=err)


def as_markup(text: object) -> str:
    """Return text on one line that neither the terminal nor rich takes for a command."""
    from rich.markup import escape

    return escape(visible(text, one_line=True))


def give(data: str) -> None:
    """Print data: as they are into a file or a pipe, made visible on a terminal."""
    # Without `color` click takes escape codes out of what goes into a file.
    click.echo(visible(data) if sys.stdout.isatty() else data, nl=False, color=True)


def _steers(character: str) -> bool:
    return character in _TURNING or unicodedata.category(character) in _STEERING


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}"


# What shells make of Ctrl-C.
INTERRUPTED = 130
# What a command keeps in mind: the moment it began, and what stands if it is stopped.
STARTED, _STANDS = "parsimon.started", "parsimon.stands"


def note_standing(words: str) -> None:
    """Keep in mind what stands if the command is stopped from now on."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_STANDS] = words


def say_standing(context: click.Context) -> str:
    """Return what stands now that a command is stopped."""
    return str(context.meta.get(_STANDS, "nothing was written"))
