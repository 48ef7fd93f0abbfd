import numpy as np
import pandas as pd
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PhyRVM, brownian_traits, read_tree, yule_tree
from parsimon.rvm import RVR


@pytest.fixture(scope="module")
def tree():
    return yule_tree(60, random_state=1)


@pytest.fixture(scope="module")
def wide(tree):
    """One column that matters among a hundred that do not."""
    trait = brownian_traits(tree, random_state=1)
    noise = np.random.default_rng(1).normal(size=(60, 100))
    return trait.join(pd.DataFrame(noise, trait.index, [f"x{i}" for i in range(100)]))


@pytest.fixture(scope="module")
def target(tree, wide):
    return 2.0 * wide["trait1"] + brownian_traits(tree, pagel_lambda=0.7, random_state=51)["trait1"]


def test_a_smooth_prior_is_sparse_where_columns_outnumber_rows(tree, wide, target):
    plain = PhyRVM(tree, prior="ard").fit(wide, target)
    assert plain.degrees_of_freedom_ > 50
    smooth = PhyRVM(tree, prior="smooth").fit(wide, target)
    assert smooth.degrees_of_freedom_ < 6
    assert smooth.ranking().names[0] == "trait1"
    sparser = PhyRVM(tree, prior="smooth", smoothness="ric").fit(wide, target)
    assert sparser.degrees_of_freedom_ < smooth.degrees_of_freedom_


def test_the_default_keeps_few_columns_that_tell_nothing(tree):
    kept = {"auto": 0, "ard": 0}
    for seed in range(5):
        table = brownian_traits(tree, 11, pagel_lambda=0.5, random_state=seed)
        for prior in kept:
            model = PhyRVM(tree, prior=prior, pagel_lambda=0.5).fit(
                table.iloc[:, 1:], table["trait1"]
            )
            kept[prior] += np.count_nonzero(np.isfinite(model.alpha_))
    assert kept["ard"] > 0.2 * 50
    assert kept["auto"] < 0.1 * 50


def test_a_column_stays_if_it_is_worth_its_price(tree, wide, target):
    few = wide.iloc[:, :8]
    model = PhyRVM(tree, prior="priced").fit(few, target)
    ranking = model.ranking()
    assert ranking.names[0] == "trait1"
    assert (ranking.loss >= 2.0).all()
    # What is left is the published machine of the columns that are left.
    alone = PhyRVM(tree, prior="ard").fit(few[list(ranking.names)], target)
    assert model.log_evidence_ == pytest.approx(alone.log_evidence_, abs=1e-3)
    assert model.lambda_ == pytest.approx(alone.lambda_, abs=1e-3)
    np.testing.assert_allclose(model.predict(few), alone.predict(few[list(ranking.names)]))
    whole = PhyRVM(tree, prior="ard").fit(few, target)
    assert np.isfinite(model.alpha_).sum() < np.isfinite(whole.alpha_).sum()
    assert model.profile(n_points=3).maximum == pytest.approx(model.log_evidence_)


def test_what_auto_is(tree, wide, target):
    few = wide.iloc[:, :4]
    options = {"pagel_lambda": 0.5}
    auto = PhyRVM(tree, **options).fit(few, target)
    priced = PhyRVM(tree, prior="priced", **options).fit(few, target)
    assert auto.prior_ == priced.prior_ == "priced"
    np.testing.assert_array_equal(auto.coef_, priced.coef_)
    assert PhyRVM(tree, **options).fit(wide, target).prior_ == "smooth"
    assert PhyRVM(tree, kernel="rbf", **options).fit(few, target).prior_ == "ard"


def test_lambda_maximises_evidence_less_the_penalty(tree, wide, target):
    model = PhyRVM(tree, prior="smooth").fit(wide.iloc[:, :6], target)
    cost = 0.5 * np.log(60)
    best = model.log_evidence_ - cost * model.degrees_of_freedom_
    assert model.posterior_.objective == pytest.approx(best)
    for share in np.linspace(0.0, 1.0, 11):
        other = PhyRVM(tree, prior="smooth", pagel_lambda=share).fit(wide.iloc[:, :6], target)
        assert other.log_evidence_ - cost * other.degrees_of_freedom_ <= best + 1e-3
    assert model.profile(n_points=5).maximum == pytest.approx(best)


def test_unit_tips_at_lambda_zero_are_the_smooth_rvr(wide, target):
    star = read_tree("(" + ",".join(f"{name}:1" for name in wide.index) + ");")
    ours = PhyRVM(star, prior="smooth", pagel_lambda=0.0).fit(wide, target)
    plain = RVR(kernel="features", smoothness="bic").fit(wide, target)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(ours.alpha_)), plain.relevance_)
    np.testing.assert_allclose(ours.coef_, plain.coef_, rtol=1e-4, atol=1e-9)


def test_options_of_the_prior_are_checked(tree, wide, target):
    with pytest.raises(InvalidInputError, match="prior must be"):
        PhyRVM(tree, prior="flat").fit(wide, target)
    with pytest.raises(InvalidInputError, match="smoothness must be"):
        PhyRVM(tree, prior="smooth", smoothness="least").fit(wide, target)
