"""What the page about a trait says of errors, and when."""

from dataclasses import replace

import pytest

from parsimon.report.findings import Interval
from parsimon.report.sections import write
from tests.report import trait_samples as samples
from tests.report.reading import rows, tables
from tests.report.trait_samples import said


def test_the_error_stands_beside_the_mean_and_random_folds():
    text = said(samples.findings())
    assert "PhyRVM is off by 0.200 (95 % interval 0.100 to 0.300)" in text
    assert "the mean of the other species is off by 0.500" in text
    assert "That removes 80.0 % of the mean's squared error." in text
    assert "Random folds would have said 0.120, which is too good for a new clade" in text
    assert "Random folds leak through the tree" in text
    assert "so that none of these clades was ever on both sides" in text
    assert "The tree alone is clearly worse than PhyRVM." in text
    assert "Least squares without the tree is not clearly better or worse" in text


def test_a_model_that_is_no_better_than_the_mean_is_called_so():
    bad = replace(samples.error().of("phyrvm"), explained=-0.2)
    clades = (*samples.error().clades[:3], bad)
    text = said(samples.findings(error=samples.error(clades=clades)))
    assert "PhyRVM does no better than that mean." in text
    assert "say nothing" not in text
    alone = samples.tree_alone()
    own = replace(alone.error.of("relatives"), explained=-0.2)
    error = replace(alone.error, clades=(alone.error.of("mean"), own))
    assert "The tree alone does no better than that mean." in said(replace(alone, error=error))


def test_a_gain_that_is_not_sure_is_called_so():
    base = replace(samples.error().of("mean"), difference=Interval(estimate=1, low=-1, high=3))
    clades = (base, *samples.error().clades[1:])
    assert "the gain is not sure" in said(samples.findings(error=samples.error(clades=clades)))


def test_a_model_with_a_smaller_error_than_the_leading_one_is_named():
    better = samples.judged("ols", 0.1, Interval(estimate=-0.1, low=-0.2, high=-0.05))
    own = samples.error()
    clades = (*own.clades[:2], better, own.clades[3])
    text = said(samples.findings(error=samples.error(clades=clades)))
    assert "The smallest error, 0.100, is that of least squares without the tree: clearly" in text
    assert "Least squares without the tree is clearly better than PhyRVM." in text


def none(model):
    """Return findings whose leading model does not use the tree."""
    zero = Interval(estimate=0.0, low=0.0, high=0.3)
    changes = {
        "phyrvm": {"phyrvm": samples.phyrvm(pagel_lambda=zero)},
        "pgls": {"pgls": samples.pgls(pagel_lambda=zero)},
        "relatives": {"signal": samples.signal(pagel_lambda=zero)},
    }[model]
    own = samples.error()
    led = (*own.clades[:3], samples.judged(model, 0.2))
    random = (*own.random[:3], samples.judged(model, 0.1))
    if model == "relatives":
        led, random = (led[0], led[3]), (random[0], random[3])
    error = samples.error(clades=led, random=random)
    return samples.findings(model=model, error=error, **changes)


def test_random_folds_that_do_not_surely_leak_are_not_said_to():
    unsure = samples.error(leak=Interval(estimate=0.08, low=-0.02, high=0.18))
    text = said(samples.findings(error=unsure))
    assert "that they leak through the tree is not sure: the errors differ by −0.0200" in text
    assert "though here that is not sure" in text
    assert "too good" not in text
    assert "folds leak" not in text


@pytest.mark.parametrize("model", ["phyrvm", "pgls", "relatives"])
def test_a_model_that_does_not_use_the_tree_does_not_leak_through_it(model):
    text = said(none(model))
    assert "Random folds say 0.1" in text
    assert "which is less, though lambda is near zero" in text
    assert "they leak" not in text
    assert "folds leak" not in text


@pytest.mark.parametrize(
    ("coverage", "n", "narrow"), [(0.7, 40, True), (0.875, 24, False), (0.875, 240, True)]
)
def test_intervals_are_called_narrow_if_chance_does_not_explain_it(coverage, n, narrow):
    own = replace(samples.error().of("phyrvm"), coverage=coverage)
    clades = (*samples.error().clades[:3], own)
    found = samples.findings(table=samples.table(n_fitted=n), error=samples.error(clades=clades))
    text = said(found)
    assert f"{100 * coverage:.1f} % hold the true value" in text
    assert ("too narrow" in text) == narrow


def test_differences_of_rounding_are_nought_and_not_tested():
    tiny = Interval(estimate=-3e-11, low=-1.264e-10, high=-9.8e-11)
    own = samples.error()
    same = samples.judged("ols", 0.2 - 3e-11, tiny)
    found = samples.findings(error=samples.error(clades=(*own.clades[:2], same, own.clades[3])))
    cells = {row[0]: row for row in rows(tables(write(found))["table-errors"])}
    assert cells["least squares without tree"][4] == "0"
    text = said(found)
    assert "Least squares without the tree makes the same errors as PhyRVM." in text
    assert "clearly better" not in text
    assert "The smallest error" not in text
    assert "e−" not in text


def test_clearly_is_explained_where_it_is_said():
    words = "This allows for the number of models compared (Bonferroni)."
    assert words in said(samples.findings())
    assert words not in said(samples.tree_alone())


def test_that_the_mean_is_better_is_said_once():
    own = samples.error()
    base = samples.judged("mean", 0.1, Interval(estimate=-0.1, low=-0.2, high=-0.05), explained=0)
    bad = replace(own.of("phyrvm"), explained=-3.0)
    text = said(samples.findings(error=samples.error(clades=(base, *own.clades[1:3], bad))))
    assert "PhyRVM does no better than that mean." in text
    assert "The smallest error" not in text
