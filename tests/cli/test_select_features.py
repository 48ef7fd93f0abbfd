import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main


@pytest.fixture
def genes(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 320)), columns=[f"g{k}" for k in range(320)])
    frame["ill"] = np.repeat(["no", "yes"], 15)
    frame["g7"] += 3.0 * (frame["ill"] == "yes")
    frame["age"] = rng.normal(50, 10, size=30)
    frame["site"] = "north"
    frame.loc[3, "g9"] = np.nan
    path = tmp_path / "genes.csv"
    frame.to_csv(path, index=False)
    return path


def run(*words):
    return CliRunner().invoke(main, list(map(str, words)))


def test_a_page_says_which_columns_are_chosen_again(genes, tmp_path):
    page = tmp_path / "page.html"
    words = ["--splits", "10", "--fixed", "age", "--out", page, "--json", "--jobs", "1"]
    result = run("select-features", genes, "--target", "ill", *words)
    assert result.exit_code == 0, result.output
    assert "1 column was chosen in at least" in result.stdout
    text = page.read_text()
    assert "g7" in text
    marks = re.findall(r'\sid="([^"]+)"', text)
    assert len(marks) == len(set(marks))
    found = json.loads(page.with_suffix(".json").read_text())
    assert found["format"] == "parsimon-wide-findings"
    assert found["columns"][0]["name"] == "g7"
    assert found["columns"][0]["permuted"] <= 0.01
    assert found["screened"] == []
    assert found["table"]["fixed"] == ["age"]
    assert found["table"]["n_filled"] == 1
    assert "site" in found["table"]["left_out"]


def test_report_sends_wide_tables_on_and_says_so(genes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--target", "ill", "--out", "page.html", "--jobs", "1"]
    result = run("report", genes, *words)
    assert result.exit_code == 0, result.output
    assert "select-features" in result.stderr
    assert re.search("w(as|ere) chosen in at least|No column surely", result.stdout)


def test_what_cannot_be_done_is_said(genes):
    result = run("select-features", genes, "--target", "ill", "--fixed", "sex")
    assert result.exit_code == 1
    assert "no column 'sex'" in result.stderr
    result = run("select-features", genes, "--target", "ill", "--splits", "0")
    assert "at least 1" in result.stderr


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """An ordinary table: numbers, a category, empty cells, labels that are words."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=["age", "dose", "mass", "noise"])
    frame["site"] = rng.choice(["north", "south", "west"], 120)
    latent = 2 * frame["dose"] - frame["age"] + (frame["site"] == "west")
    frame["ill"] = np.where(latent + rng.normal(size=120) > 0, "yes", "no")
    frame["power"] = frame["dose"] * frame["mass"] + 0.1 * rng.normal(size=120)
    frame.loc[[3, 8], "mass"] = np.nan
    path = tmp_path_factory.mktemp("tables") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


def test_an_ordinary_table_gets_the_front_of_columns(patients, tmp_path):
    page = tmp_path / "page.html"
    words = ["--max-features", "3", "--outer", "3", "--out", page, "--json", "--jobs", "1"]
    result = run("select-features", patients, "--target", "ill", *words)
    assert result.exit_code == 0, result.output
    assert "subsets of 8 columns were tried" in result.stdout
    assert "was wrong in" in result.stdout
    assert "the linear model of all columns" in result.stdout
    assert "gradient boosting of all columns" in result.stdout
    found = json.loads(page.with_suffix(".json").read_text())
    assert found["format"] == "parsimon-selection-findings"
    sizes = found["front"]["sizes"]
    assert [one["size"] for one in sizes] == sorted({one["size"] for one in sizes})
    assert max(one["size"] for one in sizes) <= 3
    assert sizes[0]["features"] == ["dose"]
    assert sum(one["chosen"] for one in sizes) == 1
    assert found["front"]["exact"]
    names = {one["name"] for one in found["comparison"]["models"]}
    assert names == {"guessing", "linear model", "gradient boosting", "few columns"}
    text = page.read_text()
    marks = re.findall(r'\sid="([^"]+)"', text)
    assert len(marks) == len(set(marks))
    assert "What each column buys" in text


def test_fixed_columns_are_in_every_subset(patients, tmp_path):
    words = ["--outer", "0", "--out", tmp_path / "page.html", "--json", "--jobs", "1", "--quiet"]
    given = ["select-features", patients, "--target", "ill"]
    result = run(*given, "--fixed", "site", *words)
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "page.json").read_text())
    for one in found["front"]["sizes"]:
        assert sum(name.startswith("site") for name in one["features"]) >= 2
    assert "no column 'sex'" in run(*given, "--fixed", "sex").stderr
    assert "does not go with --splits" in run(*given, "--construct", "--splits", "5").stderr
    assert "do not go with formulas" in run(*given, "--construct", "--fixed", "age").stderr
    assert "max_features" in run(*given, "--max-features", "0").stderr


def test_constructed_formulas_are_said_and_drawn(patients, tmp_path):
    page = tmp_path / "page.html"
    words = ["--construct", "--outer", "0", "--out", page, "--json", "--jobs", "1"]
    result = run("select-features", patients, "--target", "power", *words, "--time-limit", "30")
    assert result.exit_code == 0, result.output
    assert "Chosen: power as" in result.stdout
    assert "No honest error was measured" in result.stdout
    found = json.loads(page.with_suffix(".json").read_text())
    chosen = next(one for one in found["front"]["sizes"] if one["chosen"])
    assert chosen["features"] == ["dose*mass"]
    assert chosen["words"] == "dose times mass"
    assert "feature-1" in found["front"]["drawings"]
    assert "dose times mass" in page.read_text()


def test_splits_are_asked_of_any_table(patients, tmp_path):
    words = ["--splits", "4", "--out", tmp_path / "page.html", "--jobs", "1"]
    result = run("select-features", patients, "--target", "ill", *words)
    assert result.exit_code == 0, result.output
    assert "fits to halves of the rows" in result.stdout


def test_a_time_limit_leaves_splits_out(patients, tmp_path):
    words = ["--splits", "100000", "--out", tmp_path / "page.html", "--json", "--jobs", "1"]
    result = run("select-features", patients, "--target", "ill", *words, "--time-limit", "1")
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "page.json").read_text())
    assert 1 <= found["n_splits"] < 100_000
    assert f"{2 * found['n_splits']} fits to halves of the rows" in result.stdout


def test_a_formula_of_few_rows_is_short_and_says_how_it_was_chosen(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 3)), columns=["body mass", "a*b", "c"])
    frame["dose"] = 3 * frame["a*b"] + rng.normal(size=12)
    frame.to_csv(tmp_path / "few.csv", index=False)
    words = ["--construct", "--outer", "0", "--out", tmp_path / "few.html", "--jobs", "1", "--json"]
    result = run("select-features", tmp_path / "few.csv", "--target", "dose", *words)
    assert result.exit_code == 0, result.output
    assert "too few rows to set some apart" in " ".join(result.stdout.split())
    text = (tmp_path / "few.html").read_text()
    assert "The rows are too few to set some apart to choose by." in text
    assert "A quarter of the rows" not in text
