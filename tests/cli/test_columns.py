"""Which columns a command looks at, and what is said of the others."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli.main import main


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 5)), columns=["a", "dose_1", "dose_2", "b, c", "id"])
    frame["ill"] = np.where(frame["a"] + 0.3 * rng.normal(size=40) > 0, "yes", "no")
    frame.to_csv("rows.csv", index=False)
    return frame


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def fit(*more):
    options = ["--target", "ill", "--family", "linear", "--outer", "0", "--jobs", "1"]
    return run("fit", "rows.csv", *options, *more)


def columns_of_model(monkeypatch, *more):
    """Return the columns that a fit is asked with."""
    seen = []

    def remember(frame, *given, **options):
        seen.append(list(frame))
        raise KeyboardInterrupt

    monkeypatch.setattr("parsimon.statistician.fit_model", remember)
    fit(*more)
    return seen[0]


@pytest.mark.parametrize(
    ("more", "left"),
    [
        (["--drop", "id"], ["a", "dose_1", "dose_2", "b, c", "ill"]),
        (["--drop", "id,dose_*"], ["a", "b, c", "ill"]),
        (["--drop", "b, c", "--drop", "a"], ["dose_1", "dose_2", "id", "ill"]),
        (["--drop", "2-3,5"], ["a", "b, c", "ill"]),
        (["--drop", "*d*"], ["a", "b, c", "ill"]),
        (["--keep", "a"], ["a", "ill"]),
        (["--keep", "dose_?", "--drop", "dose_2"], ["dose_1", "ill"]),
        (["--keep", "1-6", "--drop", "2-6"], ["a", "ill"]),
    ],
)
def test_columns_are_named_matched_or_counted(more, left, monkeypatch):
    assert columns_of_model(monkeypatch, *more) == left


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--drop", "doze_1"], "Did you mean 'dose_1'?"),
        (["--keep", "z*"], "--keep 'z*' is no column; the table has a, dose_1"),
        (["--drop", "7"], "the table has columns 1 to 6"),
        (["--drop", "ill"], "--drop 'ill': that column is needed"),
        (["--drop", "*"], "No column is left to predict with"),
        (["--keep", "ill"], "No column is left to predict with"),
    ],
)
def test_what_no_column_answers_to_is_one_sentence(more, words):
    result = fit(*more)
    assert result.exit_code == 1
    assert words in result.output
    assert result.output.count("\n") == 1


def test_a_page_says_what_was_left_out_and_its_command_does_it_again():
    options = ["--target", "ill", "--fast", "--jobs", "1", "--json", "--quiet", "--outer", "2"]
    result = run("report", "rows.csv", *options, "--drop", "id,dose_*", "--out", "my page.html")
    assert result.exit_code == 0, result.output
    # Every file has the name of the page.
    assert Path("my page-model.skops").exists()
    found = json.loads(Path("my page.json").read_text())
    page = Path("my page.html").read_text()
    assert "Three columns were left out as asked: dose_1, dose_2 and id." in page
    assert "--drop 'id,dose_*'" in found["run"]["command"]
    assert "dose_1 matters" not in page


def test_a_fit_says_what_was_left_out_and_predicts_tables_that_still_have_it():
    result = fit("--drop", "id")
    assert result.exit_code == 0, result.output
    assert result.output.count("One column was left out as asked: id.") == 1
    assert run("predict", "rows-model.skops", "rows.csv").exit_code == 0


def test_the_series_a_row_belongs_to_cannot_be_dropped(table):
    long = pd.DataFrame({"who": np.repeat(range(20), 4), "t": np.tile(range(4), 20), "x": 1.0})
    long["ill"] = long["who"] % 2
    long.to_csv("long.csv", index=False)
    given = ["--id", "who", "--time", "t", "--value", "x", "--target", "ill"]
    result = run("series", "long.csv", *given, "--drop", "who")
    assert result.exit_code == 1
    assert "'who': that column is needed" in result.output
