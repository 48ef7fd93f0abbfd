from pathlib import Path

import pytest
from click.testing import CliRunner

from parsimon.cli import main
from parsimon.cli.main import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


@pytest.mark.parametrize("words", [(), *((name,) for name in COMMANDS)])
def test_the_reference_shows_the_help_of_every_command(words):
    result = CliRunner().invoke(main, [*words, "--help"], prog_name="parsimon", terminal_width=78)
    assert result.exit_code == 0
    assert result.output.strip() in PAGE.read_text()


def test_the_version_is_printed():
    assert "parsimon, version" in CliRunner().invoke(main, ["--version"]).output


def test_an_unknown_command_is_a_usage_error():
    result = CliRunner().invoke(main, ["fronts"])
    assert result.exit_code == 2
    assert "No such command 'fronts'" in result.stderr
