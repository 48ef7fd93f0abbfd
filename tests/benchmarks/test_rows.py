"""What a row says of a bar: ratios of any sign, and bars that nobody could miss."""

import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.rows import Row, ratio_of, without_rivals

from benchmarks import command, rivals, rows


def accuracy(ours, bar, **fields):
    return Row("a table", "accuracy %", ours, 80.0, higher_is_better=True, bar=bar, **fields)


@pytest.mark.parametrize("name", ["constant", "guess", "logistic regression"])
def test_a_bar_that_a_rival_meets_is_refused_whatever_ours_is(name):
    below = {"constant": 50.0, "guess": 40.0, "logistic regression": 60.0}
    assert accuracy(90.0, 0.9, rivals=below).ok
    row = accuracy(90.0, 0.9, rivals=below | {name: 72.0})
    assert (row.ok, row.verdict, row.passed_by) == (False, "CANNOT FAIL", (name,))


def test_a_bar_is_raised_above_those_who_would_meet_it():
    low = accuracy(75.0, 0.9, rivals={"constant": 76.0, "guess": 50.0})
    raised = low.above_rivals()
    assert (low.verdict, raised.verdict) == ("CANNOT FAIL", "NO")
    assert raised.bar > 0.95
    assert accuracy(77.0, 0.9, rivals=low.rivals).above_rivals().ok
    # One that they miss, or none at all, stays as it was.
    assert accuracy(75.0, 0.96, rivals=low.rivals).above_rivals().bar == 0.96
    assert accuracy(75.0, None, rivals=low.rivals).above_rivals().bar is None


def test_a_bar_that_says_nothing_is_taken_away_and_the_row_says_who_met_it():
    idle = accuracy(80.0, 0.99, rivals={"constant": 79.5, "guess": 50.0}).without_empty_bar()
    assert (idle.bar, idle.note) == (None, "no bar, since met by constant")
    able = accuracy(80.0, 0.99, rivals={"constant": 79.0})
    assert able.without_empty_bar() == able
    # What ours misses stays missed, whoever else meets it.
    missed = accuracy(70.0, 0.99, rivals=idle.rivals).without_empty_bar()
    assert (missed.bar, missed.verdict, missed.ok) == (0.99, "NO", False)


def test_nobody_who_has_nothing_passes_as_the_smallest():
    """A constant needs no vectors: fewer than any, so that a bar on their number says nothing."""
    row = Row("a table", "vectors", 3.0, 5.0, bar=1.0, rivals={"constant": 0.0})
    assert (row.above_rivals().verdict, row.ok) == ("CANNOT FAIL", False)


def test_a_promise_without_anybody_who_must_miss_it_is_found():
    named = accuracy(80.0, 1.0, rivals={"constant": 50.0})
    assert without_rivals([accuracy(80.0, 1.0), named, accuracy(80.0, None)]) == [
        accuracy(80.0, 1.0)
    ]


def test_the_command_refuses_a_promise_that_nobody_must_miss(monkeypatch, capsys):
    """Of what is reached; of what is spent the peer is the only rival."""
    made = [
        accuracy(90.0, 0.9, rivals={"constant": 50.0}),
        Row("c", "seconds; R", 1.0, 2.0, bar=1.0),
    ]
    module = SimpleNamespace(rows=lambda quick: list(made))  # noqa: ARG005
    monkeypatch.setitem(sys.modules, "benchmarks.reproduce.fearn_3", module)
    monkeypatch.setattr(sys, "argv", ["reproduce", "fearn-3", "--quick"])

    def code():
        with pytest.raises(SystemExit) as ended:
            command.run("benchmarks.reproduce")
        return ended.value.code

    assert code() == 0
    made.append(accuracy(90.0, 0.9))
    assert code() == 1
    assert "NO RIVALS: a table, accuracy %" in capsys.readouterr().out
    made[-1] = accuracy(90.0, 0.9, rivals={"constant": 75.0})
    assert code() == 1
    assert "3 bars: 2 met, 0 missed, 1 that cannot fail." in capsys.readouterr().out


def test_rivals_are_lines_of_the_table_and_of_the_file(tmp_path, capsys):
    row = accuracy(90.0, 0.9, rivals={"constant": 76.0, "guess": 50.0})
    assert [line.case.strip() for line in row.lines()] == ["a table", "constant", "guess"]
    assert [line.bar for line in row.lines()] == [0.9, None, None]
    rows.show([row], "t")
    shown = capsys.readouterr().out
    assert "CANNOT FAIL" in shown
    assert "meets the bar" in shown
    rows.save([row], tmp_path / "rows.json")
    (saved,) = json.loads((tmp_path / "rows.json").read_text())
    assert saved["rivals"] == {"constant": 76.0, "guess": 50.0}
    assert (saved["ok"], saved["verdict"]) == (False, "CANNOT FAIL")


def test_the_file_is_strict_json_whatever_could_not_be_measured(tmp_path):
    """A correlation of constants is no number, and a bar may be beyond every figure."""
    unmeasured = accuracy(math.nan, math.inf, rivals={"constant": math.nan})
    rows.save([unmeasured, accuracy(math.nan, None)], tmp_path / "rows.json")
    text = (tmp_path / "rows.json").read_text()
    assert not {"NaN", "Infinity"} & set(text.replace(",", " ").split())
    barred, free = json.loads(text)
    assert (barred["ours"], barred["bar"], barred["rivals"]) == (None, None, {"constant": None})
    assert [(one["verdict"], one["ok"]) for one in (barred, free)] == [("NO", False), ("", True)]


@pytest.mark.parametrize(
    ("ours", "peer", "higher", "ratio"),
    [
        (2.0, 1.0, True, 2.0),
        (2.0, 1.0, False, 0.5),
        # Below zero the size counts, the other way round.
        (-400.0, -420.0, True, 1.05),
        (-420.0, -400.0, True, 400 / 420),
        (-3.0, -2.0, False, 1.5),
        (0.0, 0.0, False, 1.0),
        (0.0, 94.0, True, 0.0),
        (94.0, 0.0, False, 0.0),
        (-1.0, 0.0, True, 0.0),
        # Of figures that shall agree none is above 1, and nothing has nothing of something.
        (2.0, 4.0, None, 0.5),
        (4.0, 2.0, None, 0.5),
        (0.0, 94.0, None, 0.0),
        (-1.0, 1.0, None, 0.0),
    ],
)
def test_the_ratio_says_how_many_times_better(ours, peer, higher, ratio):
    assert ratio_of(ours, peer, higher) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("ours", "peer", "higher"),
    [(0.0, 94.0, False), (94.0, 0.0, True), (0.0, -1.0, True)]
    + [(*pair, higher) for pair in ((1.0, -1.0), (-1.0, 1.0)) for higher in (True, False)],
)
def test_zero_and_figures_of_two_signs_have_no_ratio_but_an_order(ours, peer, higher, capsys):
    row = Row("t", "m", ours, peer, higher, bar=0.5)
    assert math.isnan(row.ratio)
    assert row.ok is ((ours > peer) == higher)
    assert row.to_dict()["ratio"] is None
    rows.show([row], "t")
    assert "inf" not in capsys.readouterr().out


def test_what_cannot_be_measured_meets_no_bar():
    assert not accuracy(math.nan, 0.5).ok
    assert not Row("t", "m", math.nan, 1.0, None, bar=0.5).ok


def test_the_plain_classifiers_are_those_of_scikit_learn(rng):
    from sklearn.dummy import DummyClassifier

    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0.7).astype(int)
    part = (X[:200], y[:200], X[200:], y[200:])
    found = rivals.classify_plainly([part, part], per_cent=False)
    constant = DummyClassifier().fit(*part[:2])
    assert found["constant"] == pytest.approx(1 - constant.score(*part[2:]))
    drawn = [
        1 - DummyClassifier(strategy="stratified", random_state=k).fit(*part[:2]).score(*part[2:])
        for k in range(400)
    ]
    assert found["guess"] == pytest.approx(np.mean(drawn), abs=0.01)
    assert found["logistic regression"] < found["constant"]
    percent = rivals.classify_plainly([part])
    assert percent == pytest.approx(rivals.turned(found, lambda share: 100 * share))


def test_bars_of_two_standard_errors_lie_on_the_right_side():
    ours = Row("t", "m", 10.4, 10.0, bar=rivals.allowed_above(10.0, 0.2) * (1 - 1e-12))
    assert ours.met
    assert not Row("t", "m", 10.41, 10.0, bar=ours.bar).met
    clear = rivals.clearly_below(10.0, 0.2)
    assert Row("t", "m", 9.59, 10.0, bar=clear).met
    assert not Row("t", "m", 9.61, 10.0, bar=clear).met
    # Where two standard errors are all there is, nothing is clearly below.
    assert not Row("t", "m", 0.1, 1.0, bar=rivals.clearly_below(1.0, 0.5)).met
    assert rivals.standard_error(np.array([1.0, 2.0, 3.0])) == pytest.approx(1 / np.sqrt(3))
    error = rivals.error_between(np.array([1.0, 2.0, 3.0]), 2.0, 50)
    assert error == pytest.approx(np.sqrt(1 / 3 + 4 / 50))


def test_more_tasks_are_won_than_a_coin_wins():
    """Of ten a coin wins eight in 5.5 % of throws, and nine in 1.1 %."""
    assert [rivals.beyond_chance(n) for n in (5, 10)] == [5, 9]
    # Of three even all are no news: an eighth of throws has them.
    assert rivals.beyond_chance(3) == 4
