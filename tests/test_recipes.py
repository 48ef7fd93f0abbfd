"""The recipes of CONTRIBUTING.md name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"(?:src|tests|docs|tools|benchmarks)/[\w/.-]*")


@pytest.mark.xfail(strict=True, reason="statistician/families is not there yet")
def test_every_file_of_a_recipe_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {
        place for place in PLACE.findall(text) if "NAME" not in place and "_build" not in place
    }
    assert len(named) > 40
    assert [place for place in sorted(named) if not (ROOT / place).exists()] == []
