"""How the target goes with what is claimed: directions, turns, pictures, and honest flat ones."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata, spearmanr

from parsimon.datasets import load
from parsimon.statistician.claimed_effects import (
    effect_findings,
    judged_part,
    quantiles,
    slope_weights,
    turning_share,
)
from parsimon.statistician.families.family import Question
from parsimon.statistician.looking import table_structures
from parsimon.statistician.prepare import Preparer

HOSTILE = "<script>$x$</script>"


def test_the_slope_is_that_of_least_squares_over_the_ranks_of_the_rows():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 12, 60)
    paths = rng.normal(size=(50, 12))
    places, counts = np.unique(values, return_counts=True)
    slopes = np.polyfit(rankdata(values), paths[:, values].T, 1)[0]
    found = paths[:, places] @ slope_weights(counts)
    np.testing.assert_allclose(found / slopes, (found / slopes)[0])
    assert (found / slopes)[0] > 0


def _drawn(mean, spread, seed=1):
    return np.random.default_rng(seed).multivariate_normal(mean, spread, 1000, method="eigh")


def test_a_turn_must_be_one_that_all_draws_share():
    places = np.linspace(-1, 1, 40)
    rough = np.exp(-0.5 * (places - places[:, None]) ** 2 / 0.1**2)
    # Every draw of noise turns somewhere; nothing says where.
    assert turning_share(_drawn(0 * places, rough)) < 0.5
    assert turning_share(_drawn(4 * places**2, 0.1 * rough)) > 0.99
    assert turning_share(_drawn(4 * places, 0.1 * rough)) < 0.01
    # A fall by less than a fifth of the range is no turn.
    dip = np.where(places > 0.8, 0.8 - (places - 0.8), places)
    assert turning_share(_drawn(dip, 1e-9 * rough)) == 0.0
    # A response hides what it flattens.
    turning = (8 * places - 16 * np.maximum(places - 0.6, 0))[None]
    assert (turning_share(turning), turning_share(norm.cdf(turning))) == (1.0, 0.0)


def test_many_rows_are_stood_for_by_their_quantiles():
    values = np.random.default_rng(0).exponential(size=5000)
    places, counts = quantiles(values)
    assert len(places) == 100
    assert np.isin(places, values).all()
    assert counts.sum() == 100
    low, high = judged_part(values)
    assert np.mean(values < low) == pytest.approx(0.05, abs=1e-3)
    assert np.mean(values > high) == pytest.approx(0.05, abs=1e-3)


def looked(table, y, positive="yes", target="outcome"):
    """Return what is found, and the pictures."""
    y = np.asarray(y, dtype=float)
    is_number = len(np.unique(y)) > 2
    question = Question(
        table=table,
        X=table,
        y=y,
        values=y,
        task="regression" if is_number else "classification",
        target=target,
        positive="" if is_number else positive,
        negative="" if is_number else "no",
        rows=np.arange(1, len(y) + 1),
        seed=np.random.SeedSequence(0),
    )
    preparer = Preparer().fit(table)
    X = preparer.transform(table)
    structures = table_structures(question, preparer, X, np.arange(len(y)))
    return effect_findings(replace(question, X=X, structures=structures), preparer)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("function", "way"),
    [
        (lambda u: 2.5 * u, "rising"),
        (lambda u: np.minimum(3 * u, 1.2), "rising"),
        (lambda u: 1.5 * (u > 0.5), "rising"),
        (lambda u: 14 * (u - 0.5) ** 2, "turning"),
    ],
    ids=["line", "saturation", "step", "valley"],
)
def test_ways_of_known_truths(function, way, sign):
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=300)
    u = (rankdata(x) - 0.5) / 300
    g = sign * (function(u) - function(u).mean())
    [found], _ = looked(pd.DataFrame({"x": np.log(x)}), g + 0.7 * rng.normal(size=300) > 0)
    goes = {"linear": "rising" if found.rising > 0.95 else "falling"}.get(found.way, found.way)
    assert goes == ("falling" if way == "rising" and sign < 0 else way)


def test_a_line_has_a_slope_and_a_wave_a_period():
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"t": rng.uniform(0, 20, 300), "x": rng.normal(5, 2, 300)})
    y = 100 + 3 * table["x"] + 5 * np.sin(2 * np.pi * table["t"] / 3.3) + rng.normal(size=300)
    found = {one.columns: one for one in looked(table, y)[0]}
    assert found["x",].way == "linear"
    assert found["x",].slope == pytest.approx(3, abs=0.2)
    assert found["t",].way == "periodic"
    assert found["t",].period == pytest.approx(3.3, rel=0.01)


def test_outlying_rows_decide_neither_direction_nor_turn():
    """The function falls in a tenth of the range that holds 4 % of the rows."""
    rng = np.random.default_rng(1)
    x = np.append(rng.uniform(0, 1, 240), rng.uniform(8, 10, 10))
    y = np.where(x < 2, 3 * x, 0.0) + 0.3 * rng.normal(size=250)
    [found], _ = looked(pd.DataFrame({"x": x}), y)
    assert found.rising > 0.95
    assert found.turning < 0.05


def test_variables_of_real_tables_that_go_one_way_get_that_direction():
    """Each numeric column with a rank correlation of p < 1e-4, alone."""
    said = []
    for name in ("pima", "bupa", "iris"):
        data = load(name)
        frame = data.data.assign(target=list(data.target)).dropna()
        frame = frame.sample(min(len(frame), 300), random_state=0)
        y = frame["target"] == frame["target"].iloc[0]
        for column in data.data.select_dtypes("number"):
            correlation, p = spearmanr(frame[column], y)
            if p < 1e-4:
                [found], _ = looked(frame[[column]].reset_index(drop=True), y)
                said.append((found.rising if correlation > 0 else found.falling) >= 0.95)
    assert len(said) >= 6
    assert np.mean(said) > 0.85


def mixed(n=300):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=[HOSTILE, "b", "c"])
    table["town"] = rng.choice(["Rome", "Oslo", "Bern", None], n)
    table["sex"] = rng.choice(["f", "m"], n)
    latent = 2 * table[HOSTILE] * table["b"] + 2 * (table["town"] == "Oslo")
    return table, latent + 1.5 * (table["sex"] == "m") * table["c"], rng


@pytest.fixture(scope="module")
def numbers():
    table, latent, rng = mixed()
    return looked(table, 10 * latent + 5 * rng.normal(size=len(latent)), target=HOSTILE)


@pytest.fixture(scope="module")
def classes():
    table, latent, rng = mixed()
    return looked(table, latent + rng.logistic(size=len(latent)) / 2 > 1, positive="<b>ill</b> $y$")


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_every_claim_has_a_picture_that_is_small_and_holds_no_foreign_code(kind, request):
    found, pictures = request.getfixturevalue(kind)
    about = {one.columns for one in found}
    assert {(HOSTILE,), ("b",), ("c",), ("town",), ("sex",)} <= about
    joined = {frozenset(one.columns) for one in found if len(one.columns) == 2}
    assert joined == {frozenset({HOSTILE, "b"}), frozenset({"c", "sex"})}
    assert [one.picture for one in found if one.picture] == [one.name for one in pictures]
    assert len({one.name for one in pictures}) == len(pictures)
    for one in pictures:
        assert re.fullmatch(r"study-1-effect-\d+", one.name)
        assert len(one.svg) < 60_000
        assert "<script" not in one.svg
        assert ElementTree.fromstring(one.svg)[0].text == one.title
        assert one.caption.endswith(" All else is as on average over the rows.")


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_what_acts_only_with_others_is_drawn_with_them(kind, request):
    found = {one.columns: one for one in request.getfixturevalue(kind)[0]}
    for name in (HOSTILE, "b", "c"):
        assert bool(found[name,].picture) == (found[name,].way != "joined")
    [pair] = [one for columns, one in found.items() if set(columns) == {HOSTILE, "b"}]
    assert pair.picture


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_levels_are_drawn_beside_what_was_observed(kind, request):
    found, pictures = request.getfixturevalue(kind)
    [town] = [one for one in found if one.columns == ("town",)]
    assert [one.level for one in town.levels] == ["Bern", "Oslo", "Rome", "missing"]
    assert sum(one.n_rows for one in town.levels) == 300
    [drawn] = [one for one in pictures if one.name == town.picture]
    assert "diamonds: observed" in drawn.caption
    most = max(town.levels, key=lambda one: one.value.estimate)
    assert most.level == "Oslo"


def test_where_nothing_is_claimed_the_likeliest_column_is_flat():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    [found], [picture] = looked(table, rng.normal(size=100))
    assert found.way == "unclear"
    assert found.picture == picture.name


def test_dates_say_their_unit():
    rng = np.random.default_rng(5)
    days = pd.Series(pd.date_range("2024-01-01", periods=120).astype(str))
    [found], [picture] = looked(pd.DataFrame({"seen": days}), np.arange(120) + rng.normal(size=120))
    assert found.way == "linear"
    assert found.slope == pytest.approx(1, abs=0.05)
    assert "days since the first" in picture.svg
