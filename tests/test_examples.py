"""The scripts in examples/ are listed, short and say what they do; CI runs them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize(
    ("page", "entry"),
    [
        ("examples/README.md", r"^\| \[`(\w+\.py)`\]\(\1\)"),
        ("docs/how-to/examples.md", r"^```\{literalinclude\} \.\./\.\./examples/(\w+\.py)$"),
    ],
)
def test_every_script_is_listed_once(page, entry):
    listed = re.findall(entry, (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == [script.name for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_says_what_to_look_at(script):
    text = script.read_text(encoding="utf-8")
    assert "\nLook at" in ast.get_docstring(ast.parse(text))
    assert 15 <= len(text.splitlines()) <= 50
