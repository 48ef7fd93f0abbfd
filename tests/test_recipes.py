"""What the recipes and the map of packages name is there."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"(?:src|tests|docs|tools|benchmarks)/[\w/.-]*")


def test_every_file_of_a_recipe_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {
        place for place in PLACE.findall(text) if "NAME" not in place and "_build" not in place
    }
    assert len(named) > 40
    assert [place for place in sorted(named) if not (ROOT / place).exists()] == []


def test_every_module_in_the_table_of_packages_exists():
    page = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, flags=re.MULTILINE)
    named = [(package, name) for package, text in rows for name in re.findall(r"`([\w/]+)`", text)]
    assert len(rows) == 17
    missing = [
        f"{package}/{name}"
        for package, name in named
        if not (path := ROOT / "src" / "parsimon" / package / name).is_dir()
        and not path.with_suffix(".py").exists()
    ]
    assert missing == []


def test_the_map_shows_the_layers_and_modules_that_there_are(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "docs")])
    import package_map

    package_map.check_layers()
    package_map.check_rooms()
