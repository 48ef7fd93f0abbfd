"""`parsimon completion`: what makes a shell complete commands, options and names of data sets."""

import click

from parsimon.cli.printing import give

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes SHELL (bash, zsh or fish) complete the words of parsimon.

    \b
    Examples:
        parsimon completion bash >> ~/.bashrc
        parsimon completion zsh >> ~/.zshrc
        parsimon completion fish > ~/.config/fish/completions/parsimon.fish
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    assert found is not None
    made = found(context.find_root().command, {}, "parsimon", "_PARSIMON_COMPLETE")
    # Not `made.source()`: that runs a bash to ask for its version.
    give(made.source_template % made.source_vars() + "\n")
