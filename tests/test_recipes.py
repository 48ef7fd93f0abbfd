"""What the recipes and the map of packages name is there."""

import re
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest

from parsimon.statistician import compare_models, fit_model, load_model, save_model
from parsimon.statistician.families import registered

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


@pytest.fixture
def neighbours(monkeypatch):
    """Make the family of the recipe, and register it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"   ```python\n(.*?)   ```", text, flags=re.DOTALL)
    names = {}
    exec(dedent(code), names)
    monkeypatch.setattr(registered, "RIVALS", (*registered.RIVALS, names["NEIGHBOURS"]))


@pytest.mark.usefixtures("neighbours")
@pytest.mark.parametrize("kind", ["classes", "a number"])
def test_the_family_of_the_recipe_is_compared_saved_and_predicts(kind, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(-2, 2, 80), "site": rng.choice(["a", "b"], 80)})
    table["y"] = np.sin(2 * table["x"]) + 0.1 * rng.normal(size=80)
    if kind == "classes":
        table["y"] = np.where(table["y"] > 0, "high", "low")
    found = compare_models(
        table, "y", families="none", rivals="linear,neighbours", outer=2, n_jobs=1
    )
    errors = {one.name: one.error.estimate for one in found.models}
    assert errors["nearest rows"] < errors["linear model"]
    fitted = fit_model(table, "y", "neighbours", outer=2, n_jobs=1)
    save_model(fitted.model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(table), fitted.model.predict(table))
