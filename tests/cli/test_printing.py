"""Nothing that a file holds steers the terminal: names, classes, cells, file names, errors."""

import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main
from parsimon.cli.printing import give, say, visible
from parsimon.cli.running import remaining_seconds

RED, BELL, TITLE, C1 = "\x1b[31mred\x1b[0m", "bell\x07", "\x1b]0;title\x07", "\x9b31mhigh"
TURNED = "\u202eteg\u202c"


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def harmless(text):
    steering = {one for one in text if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp")}
    assert steering <= {"\n", "\t"}
    assert "\u202e" not in text


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARSIMON_DATA", raising=False)
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    frame = pd.DataFrame(
        {
            RED: x,
            TURNED: rng.normal(size=40),
            TITLE: rng.choice(["a", BELL, "c"], 40),
            "state": np.where(x + 0.2 * rng.normal(size=40) > 0, C1, BELL),
        }
    )
    frame.to_csv("rows.csv", index=False)
    frame.to_csv(f"{TITLE.replace(chr(7), '')}.csv".replace("/", ""), index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve 価格 👩‍🔬", "naïve 価格 👩‍🔬"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        (RED, r"\u001b[31mred\u001b[0m"),
        (C1, r"\u009b31mhigh"),
        (BELL, r"bell\u0007"),
        (TURNED, r"\u202eteg\u202c"),
        ("a\rb\u2028c\x7f\udcff", r"a\u000db\u2028c\u007f\udcff"),
    ],
)
def test_characters_that_steer_are_written_as_codes(text, shown):
    assert visible(text) == shown


def test_an_error_stays_on_one_line():
    assert visible("a\nError: b", one_line=True) == r"a\u000aError: b"


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "rows.csv", "--target", "absent"],
        ["report", "rows.csv"],
        ["report", f"{RED}.csv", "--target", "state"],
        ["report", RED],
        ["report", "rows.csv", "--target", "state", "--positive", RED],
        ["report", "rows.csv", "--target", "state", "--task", RED],
        ["report", "rows.csv", f"--{RED}"],
        ["front", "rows.csv"],
        ["front", "rows.csv", "--maximise", "state"],
        ["front", "rows.csv", "--maximise", RED, "--minimise", TITLE],
        ["phylo", "rows.csv", "--tree", f"{RED}.nwk", "--target", RED],
        ["predict", f"{RED}.skops", "rows.csv"],
        [RED],
    ],
)
def test_errors_are_harmless(arguments):
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    harmless(result.stderr)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_front_is_harmless(more):
    result = run("front", "rows.csv", "--maximise", RED, "--minimise", TURNED, *more)
    assert result.exit_code == 0, result.output
    assert "red" in result.stdout
    harmless(result.output)
    if more:
        found = json.loads(result.stdout)
        assert found["objectives"][0]["name"] == RED
        assert set(found["chosen_row"]) == {RED, TURNED, TITLE, "state"}
        assert found["chosen_row"]["state"] in (C1, BELL)


def test_a_report_and_its_predictions_are_harmless():
    [name] = [path.name for path in Path().iterdir() if path.name != "rows.csv"]
    options = ["--target", "state", "--fast", "--depth", 1, "--jobs", 1, "--out", "rows.html"]
    result = run("report", name, *options)
    assert result.exit_code == 0, result.output
    harmless(result.output)
    pd.read_csv("rows.csv").assign(**{RED: 99.0, TITLE: "\x1bnew"}).to_csv("new.csv", index=False)
    result = run("predict", "rows-model.skops", "new.csv", "--out", f"{TURNED}.csv")
    assert result.exit_code == 0, result.output
    assert "40 cells of" in result.stderr
    assert "red" in result.stderr
    harmless(result.output)
    assert Path(f"{TURNED}.csv").is_file()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_data_are_made_visible_on_a_terminal_only(is_terminal, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    give(f"a,b\n{RED},1\n")
    assert capsys.readouterr().out == f"a,b\n{visible(RED) if is_terminal else RED},1\n"
    say(RED, err=True)
    assert capsys.readouterr().err == f"{visible(RED)}\n"


def test_data_sets_with_such_names_are_listed_harmlessly(tmp_path, monkeypatch):
    monkeypatch.setenv("PARSIMON_DATA", f"{tmp_path}/{RED}")
    harmless(run("datasets").output)


def test_what_is_left_of_a_limit_is_what_has_not_passed_and_never_nothing(clock):
    started = clock()
    clock.now += 4.0
    assert remaining_seconds(10.0, started) == 6.0
    clock.now += 50.0
    assert remaining_seconds(10.0, started) == 1.0
    assert remaining_seconds(None, started) is None
    assert remaining_seconds(0.0, started) == 0.0
