"""`parsimon compare` and `parsimon fit`, on tables small enough for a few seconds."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main
from parsimon.statistician import load_model
from parsimon.statistician.finished_work import FinishedWork


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    dose = rng.uniform(0, 10, 60)
    ill = np.where(dose + rng.normal(size=60) > 5, "ill", "[red]well[/red]")
    path = tmp_path / "ward.csv"
    pd.DataFrame({"dose": dose, "noise": rng.normal(size=60), "state": ill}).to_csv(
        path, index=False
    )
    return path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_compare_prints_a_table_and_writes_rows(table, tmp_path):
    out = tmp_path / "models.json"
    options = ("--target", "state", "--families", "none", "--rivals", "linear,tree")
    result = run("compare", table, *options, "--outer", 3, "--jobs", 1, "--quiet", "--json", out)
    assert result.exit_code == 0, result.output
    assert "➜ Use the" in result.output
    rows = json.loads(out.read_text())
    names = {"family", "error", "error_low", "error_high", "log_loss", "variables", "size"}
    assert all(names | {"recommended", "name"} <= set(row) for row in rows)
    assert [row["error"] for row in rows] == sorted(row["error"] for row in rows)
    assert sum(row["recommended"] for row in rows) == 1
    assert {row["name"] for row in rows} == {"guessing", "linear model", "decision tree"}


def test_compare_prints_json_instead(table):
    options = ("--target", "state", "--families", "none", "--rivals", "tree")
    result = run("compare", table, *options, "--outer", 2, "--jobs", 1, "--json", "-")
    assert len(json.loads(result.stdout)) == 2


def test_a_first_look_asks_plain_models_on_few_folds(table, monkeypatch):
    asked = []

    def compare(frame, target, **options):
        asked.append((options["families"], options["outer"]))
        raise KeyboardInterrupt

    monkeypatch.setattr("parsimon.statistician.compare_models", compare)
    for more in ((), ("--fast",), ("--fast", "--families", "rvm", "--outer", 4)):
        run("compare", table, "--target", "state", *more)
    assert asked == [("all", None), ("none", 3), ("rvm", 4)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rivals", "oracle"), "rivals must be among linear, tree"),
        (("--families", "oracle"), "families must be among gp, rvm"),
        (("--outer", "1"), "outer must be"),
        (("--json", "nowhere/at/all.json"), "nowhere"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(table, words, said):
    result = run("compare", table, "--target", "state", "--families", "none", *words)
    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_fit_saves_a_model_that_predicts(table, tmp_path):
    out = tmp_path / "ward.skops"
    options = ("--target", "state", "--family", "linear", "--outer", 2, "--jobs", 1)
    result = run("fit", table, *options, "--out", out)
    assert result.exit_code == 0, result.output
    assert "Fitted    linear model" in result.stdout
    assert "guessing" in result.stdout
    assert len(load_model(out).predict(pd.read_csv(table))) == 60
    assert run("predict", out, table).exit_code == 0


def test_fit_without_folds_says_so(table, tmp_path):
    out = tmp_path / "ward.skops"
    options = ("--target", "state", "--family", "tree", "--outer", 0, "--jobs", 1)
    result = run("fit", table, *options, "--out", out)
    assert "not measured" in result.stdout
    assert out.exists()


def test_an_unknown_family_writes_nothing(table, tmp_path):
    out = tmp_path / "ward.skops"
    result = run("fit", table, "--target", "state", "--family", "oracle", "--out", out)
    assert result.exit_code == 1
    assert "There is no family 'oracle'" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_what_was_stopped_goes_on(command, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    words = ["--target", "state", "--outer", 3, "--jobs", 1, "--quiet", "--resume"]
    out = tmp_path / "out.skops" if command == "fit" else tmp_path / "out.json"
    more = ["--family", "linear", "--out"] if command == "fit" else ["--families", "none", "--json"]
    words = [*words[:-1], *more, out, "--resume"]
    write, written = FinishedWork.write, []

    def killed(self, stage, place, result):
        write(self, stage, place, result)
        written.append(place)
        if len(written) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(FinishedWork, "write", killed)
    stopped = run(command, table, *words)
    assert stopped.exit_code == 130
    assert "the same command goes on from here" in stopped.stderr
    (folder,) = tmp_path.glob("*.resume")
    assert len(list(folder.iterdir())) == 2
    result = run(command, table, *words)
    assert result.exit_code == 0, result.output
    # The date, and three folds.
    assert len(written) == 4
    assert not folder.exists()
    resumed = out.read_bytes()
    assert run(command, table, *words[:-1]).exit_code == 0
    assert out.read_bytes() == resumed
