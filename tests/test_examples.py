"""The scripts in examples/ are listed, short and say what they do; CI runs them."""

import ast
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def test_the_list_has_every_script_once():
    listed = re.findall(r"^\| \[`(\w+\.py)`\]\(\1\)", (EXAMPLES / "README.md").read_text(), re.M)
    assert sorted(listed) == [script.name for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_says_what_to_look_at(script):
    text = script.read_text()
    assert "\nLook at" in ast.get_docstring(ast.parse(text))
    assert 15 <= len(text.splitlines()) <= 50
