"""`parsimon explain`: what people read, and the same as JSON."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main
from parsimon.gp import GPClassifier
from parsimon.kernels import SquaredExponential as SE
from parsimon.statistician import TableModel, save_model
from parsimon.statistician.contributions import SeenRows
from parsimon.statistician.prepare.preparation import Preparer, Screener

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame({"age": RNG.normal(50, 10, 40), "ward": RNG.choice(["a", "b", "c"], 40)})
SIGN = (TABLE["age"] > 50).to_numpy().astype(float)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    preparer = Preparer().fit(TABLE)
    numbers = preparer.transform(TABLE)
    screener = Screener().fit(numbers, SIGN)
    X = screener.transform(numbers)
    kernel = SE(0, lengthscale=10.0) + SE(1)
    model = GPClassifier(kernel, optimise=False, n_restarts=0).fit(X, SIGN)
    made = TableModel(preparer, screener, [model], ("well", "ill"), "state")
    save_model(made, "old.skops")
    made.seen = SeenRows.of(X, made.variables)
    save_model(made, "model.skops")
    TABLE.to_csv("new.csv", index=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["explain", *map(str, arguments)])


def test_people_read_what_speaks_for_and_against():
    oldest = int(TABLE["age"].argmax()) + 1
    result = run("model.skops", "new.csv", "--row", oldest)
    assert result.exit_code == 0, result.output
    first, second, *_ = result.stdout.splitlines()
    assert first.startswith(f"Row {oldest}: state is probably 'ill' (probability of 'ill': 0.")
    assert second.split()[:4] == ["for", "ill", "age", "="]
    assert "(typical " in second
    assert "0 at even odds" in result.stdout


def test_ten_rows_are_explained_unless_others_are_named():
    result = run("model.skops", "new.csv")
    assert result.stdout.count("Row ") == 10
    assert result.stderr == "30 more rows; --row N explains another.\n"


def test_json_has_every_row_and_adds_up():
    found = json.loads(run("model.skops", "new.csv", "--json").stdout)
    assert found["target"] == "state"
    assert found["exact"]
    assert len(found["rows"]) == 40
    for row in found["rows"]:
        steps = sum(one["contribution"] for one in row["contributions"])
        assert row["typical_score"] + steps == pytest.approx(row["score"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.skops", "new.csv", "--row", "41"], "rows 1 to 40; got --row 41"),
        (["old.skops", "new.csv"], "does not know its typical row"),
        (["absent.skops", "new.csv"], "does not exist"),
    ],
)
def test_mistakes_are_one_line(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_reader_who_has_seen_enough_is_no_error():
    code = "from parsimon.cli import main; main()"
    words = [sys.executable, "-c", code, "datasets", "--json"]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.close()
    assert b"Broken pipe" not in run.stderr.read()
    run.stderr.close()
    run.wait()
