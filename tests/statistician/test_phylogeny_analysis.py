"""What `analyse_traits` finds, against the models themselves and plain arithmetic."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import (
    PGLS,
    CladeKFold,
    PhyRVM,
    ancestral_states,
    brownian_traits,
    phylogenetic_signal,
    read_tree,
    yule_tree,
)
from parsimon.report.data import as_data
from parsimon.report.sections import write
from parsimon.statistician import TraitAnalysis, analyse_traits, load_model, save_model
from parsimon.statistician import traits as analyse
from parsimon.statistician.families.phylo import _clades as judging
from parsimon.statistician.families.phylo._clades import judge
from parsimon.statistician.families.phylo._regressions import (
    _whitened_share,
    fit_regression,
    list_ancestors,
    regression_size,
)
from parsimon.statistician.families.phylo._species import read_traits

TREE = yule_tree(24, random_state=5)


@pytest.fixture(scope="module")
def table():
    made = brownian_traits(TREE, 3, random_state=5).rename(columns={"trait3": "nothing"})
    noise = np.random.default_rng(0).normal(size=24)
    made["size"] = 3 + 2 * made["trait1"] - made["trait2"] + 0.3 * noise
    made.iloc[[3, 17], made.columns.get_loc("size")] = np.nan
    return made


@pytest.fixture(scope="module")
def analysis(table):
    return analyse_traits(table, TREE, "size", folds=3, seed=4)


@pytest.fixture(scope="module")
def traits(table):
    return read_traits(table, TREE, "size")


@pytest.fixture
def plain(monkeypatch):
    """Draw nothing: pictures take longer than small analyses."""
    monkeypatch.setattr(analyse, "draw_figures", lambda findings, _: findings)


def scaled(model):
    return make_pipeline(StandardScaler().set_output(transform="pandas"), model)


def test_the_signal_is_that_of_the_library(analysis, table):
    known = table["size"].dropna()
    seed = np.random.SeedSequence(4).spawn(2)[0]
    expected = phylogenetic_signal(analysis.tree, known, random_state=seed)
    found = analysis.findings.signal
    assert found.pagel_lambda.estimate == pytest.approx(expected.pagel_lambda)
    assert found.pagel_lambda.low == pytest.approx(expected.lambda_interval[0])
    assert (found.K, found.K_p_value) == pytest.approx((expected.K, expected.K_p_value))
    assert found.n_species == 22


def test_coefficients_are_those_of_pgls_for_one_standard_deviation(analysis, traits):
    raw = PGLS(traits.tree).fit(traits.X, traits.y)
    found = analysis.findings.pgls
    sizes = np.array([one.deviation for one in analysis.findings.table.features])
    estimates = np.array([one.estimate.estimate for one in found.coefficients])
    np.testing.assert_allclose(estimates / sizes, raw.coef_, rtol=1e-4)
    np.testing.assert_allclose([one.t for one in found.coefficients], raw.t_values_[1:], rtol=1e-3)
    assert found.r_squared == pytest.approx(raw.r_squared_, rel=1e-5)
    assert found.log_likelihood == pytest.approx(raw.log_likelihood_)
    assert found.aic == pytest.approx(raw.aic_)
    first = min(found.coefficients, key=lambda one: one.p_value)
    assert first.adjusted_p_value == pytest.approx(3 * first.p_value)


def test_weights_are_those_of_phyrvm(analysis, traits):
    model = scaled(PhyRVM(traits.tree)).fit(traits.X, traits.y)
    ranking = model[-1].ranking()
    found = analysis.findings.phyrvm
    assert tuple(one.feature for one in found.weights) == ranking.names
    np.testing.assert_allclose([one.weight.estimate for one in found.weights], ranking.coef)
    np.testing.assert_allclose([one.loss for one in found.weights], ranking.loss)
    assert found.pagel_lambda.estimate == pytest.approx(model[-1].lambda_)
    assert [one.feature for one in found.weights][:2] == ["trait1", "trait2"]


def test_the_share_explained_is_that_of_pgls_for_its_line(traits):
    model = PGLS(traits.tree).fit(traits.X, traits.y)
    share = _whitened_share(traits.tree, traits.y, model.fitted_values_, model.lambda_)
    assert share == pytest.approx(model.r_squared_)


def test_folds_are_whole_clades(analysis):
    fold = {one.tip: one.fold for one in analysis.findings.error.species}
    tree = analysis.tree
    # In a Yule tree most cherries are tips of one fold; none may be divided.
    for one in analysis.findings.ancestors:
        if one.n_tips == 2 and {one.first, one.last} <= set(fold):
            assert fold[one.first] == fold[one.last]
    assert set(fold.values()) == {1, 2, 3}
    assert len(fold) == tree.n_tips - 2


def test_lambda_of_phyrvm_has_one_interval(analysis):
    curve = next(one for one in analysis.findings.curves if one.of == "phyrvm")
    assert curve.best == analysis.findings.phyrvm.pagel_lambda
    assert curve.best.low <= curve.best.estimate <= curve.best.high


def test_kept_counts_folds(analysis, traits):
    counts = dict.fromkeys(traits.X.columns, 0)
    for train, _ in CladeKFold(traits.tree, 3).split(traits.X):
        model = scaled(PhyRVM(traits.tree)).fit(traits.X.iloc[train], traits.y.iloc[train])
        for name in model[-1].ranking().names:
            counts[name] += 1
    for one in analysis.findings.phyrvm.weights:
        assert one.n_kept == counts[one.feature]


def test_workers_change_nothing(table, monkeypatch):
    few = read_traits(table[["trait1", "size"]].iloc[:16], TREE, "size")

    def judged(n_jobs):
        seed = np.random.SeedSequence(1)
        # Threads begin at once, and the calls are the same.
        with parallel_config(backend="threading"):
            found = judge(few, "pgls", 2, seed, lambda _: None, n_jobs=n_jobs)
        return as_data(found.error)

    alone = judged(1)
    monkeypatch.setattr(judging, "_WORTH_PROCESSES", 0)
    assert judged(2) == alone


def test_species_without_a_value_are_predicted(analysis, traits):
    model = scaled(PhyRVM(traits.tree)).fit(traits.X, traits.y)
    mean, sd = model.predict(traits.new, return_std=True)
    found = analysis.findings.predictions
    assert [one.tip for one in found] == list(traits.new.index)
    np.testing.assert_allclose([one.predicted.estimate for one in found], mean)
    half = [0.5 * (one.predicted.high - one.predicted.low) for one in found]
    np.testing.assert_allclose(half, 1.959963984540054 * sd)
    np.testing.assert_allclose(analysis.model.predict(traits.new), mean)


@pytest.mark.usefixtures("plain")
def test_all_models_stand_on_one_front(analysis):
    models = {model.name: model for model in analysis.comparison.models}
    assert {"PhyRVM", "PGLS", "RVM without tree", "tree alone", "guessing"} <= set(models)
    assert {"linear model", "decision tree", "random forest", "gradient boosting"} <= set(models)
    assert sum(model.recommended for model in models.values()) == 1
    errors = {one.model: one.rmse.estimate for one in analysis.findings.error.clades}
    share = models["PGLS"].error.estimate
    assert share == pytest.approx(errors["pgls"] ** 2 / errors["mean"] ** 2, rel=1e-9)
    assert models["PhyRVM"].variables == 2
    # A model without a tree has a constant and weights; with it, what relatives say comes on top.
    assert models["RVM without tree"].size < models["PhyRVM"].size
    assert analysis.comparison.recommended.worse < 0.25


def test_degrees_of_freedom_of_relatives_are_a_trace(traits):
    fitted = fit_regression("pgls", traits.tree, traits.X, traits.y)
    gaussian, share = fitted.regressor.gaussian_, fitted.regressor.lambda_
    V = gaussian.covariance()
    smoother = (V - (1 - share) * np.diag(np.diag(V))) @ np.linalg.inv(V)
    names = list(traits.X.columns)
    size = regression_size(fitted, names, len(traits.y))
    assert size.numbers == round(len(names) + 2 + np.trace(smoother))


def test_the_recommended_model_takes_tables_of_species(analysis, table, tmp_path):
    for fitted in (
        analysis.recommended,
        analysis._trait_model(
            fit_regression("phyrvm", analysis.traits.clade, analysis.X, analysis.y)
        ),
    ):
        rows = table.rename_axis("tip").reset_index().iloc[[3, 17, 5]]
        rows.loc[5, "trait1"] = np.nan
        save_model(fitted, tmp_path / "model.skops")
        again = load_model(tmp_path / "model.skops")
        assert (again.predict(rows) == fitted.predict(rows)).all()
        assert np.isfinite(fitted.predict_deviation(rows)).all()
        found = fitted.contributions(rows)
        np.testing.assert_allclose(found.score, fitted.predict(rows))
        assert set(found.columns) <= {"trait1", "trait2", "nothing", "relatives"}
    told = {one.tip: one.predicted.estimate for one in analysis.findings.predictions}
    np.testing.assert_allclose(fitted.predict(rows)[:2], [told[tip] for tip in rows["tip"][:2]])
    with pytest.raises(InvalidInputError, match="no species of the model's tree: nobody"):
        fitted.predict(rows.assign(tip=["nobody", *rows["tip"][1:]]))


def test_rivals_are_the_users_choice(table, plain):
    found = analyse_traits(table, TREE, "size", folds=2, n_jobs=1, rivals="linear").comparison
    assert "linear model" in {model.name for model in found.models}
    assert "random forest" not in {model.name for model in found.models}


def test_the_root_in_several_ways(table):
    found = analyse_traits(table, TREE, "size", features=["trait1"], model="pgls", folds=0)
    known = table["size"].dropna()
    root = {one.way: one.value.estimate for one in found.findings.root}
    states = ancestral_states(found.tree, known, model="lambda")
    assert root["lambda"] == pytest.approx(states.mean[0, 0])
    assert root["brownian"] == pytest.approx(ancestral_states(found.tree, known).mean[0, 0])
    x = table.loc[known.index, "trait1"]
    line = PGLS(found.tree).fit(x.to_frame(), known)
    feature = ancestral_states(found.tree, x).mean[0, 0]
    assert root["line"] == pytest.approx(line.intercept_ + line.coef_[0] * feature, rel=1e-4)


def test_ancestors_are_named_by_tips_that_meet_there():
    tree = yule_tree(15, random_state=2)
    trait = brownian_traits(tree, random_state=0)["trait1"]
    for one in list_ancestors(ancestral_states(tree, trait)):
        paths = []
        for tip in (one.first, one.last):
            node, path = tree.name.index(tip), []
            while node >= 0:
                path.append(node)
                node = tree.parent[node]
            paths.append(path)
        assert next(node for node in paths[0] if node in paths[1]) == one.node


@pytest.mark.usefixtures("plain")
def test_the_same_seed_gives_the_same_data(table):
    asked = {"features": [], "folds": 2, "rivals": "linear"}

    def data(seed):
        found = analyse_traits(table, TREE, "size", seed=seed, **asked).findings
        return as_data(replace(found, run=replace(found.run, seconds=0.0)))

    first, other = data(4), data(5)
    assert data(4) == first
    assert other["error"]["random"] != first["error"]["random"]
    assert other["error"]["clades"] == first["error"]["clades"]


@pytest.mark.usefixtures("plain")
def test_pgls_leads_when_asked(table):
    few = table[["trait1", "size"]].iloc[:16]
    found = analyse_traits(few, TREE, "size", model="pgls", folds=2, rivals="none").findings
    assert found.model == "pgls"
    assert found.error.of("pgls").difference is None
    assert found.error.of("phyrvm").difference is not None


@pytest.mark.usefixtures("plain")
def test_the_tree_alone(table):
    found = analyse_traits(table, TREE, "size", features=[], folds=2, rivals="none").findings
    assert (found.model, found.pgls, found.phyrvm) == ("relatives", None, None)
    assert {one.model for one in found.error.clades} == {"mean", "relatives"}
    assert len(found.predictions) == 2
    assert [one.of for one in found.curves] == ["target"]


@pytest.mark.usefixtures("plain")
def test_more_features_than_species(table, rng):
    wide = table.join(pd.DataFrame(rng.normal(size=(24, 40)), index=table.index).add_prefix("n"))
    found = analyse_traits(wide, TREE, "size", folds=0).findings
    assert found.pgls is None
    assert "needs at least 46 species, and there are 22" in found.pgls_failure
    assert found.phyrvm is not None
    with pytest.raises(InvalidInputError, match="PGLS cannot lead the page: Least squares with 43"):
        analyse_traits(wide, TREE, "size", model="pgls", folds=0)


def test_a_model_that_a_fold_is_too_small_for_is_not_judged(table):
    few = read_traits(table.dropna().iloc[:7], TREE, "size")

    def judged(leading):
        return judge(few, leading, 2, np.random.SeedSequence(0), lambda _: None)

    error = judged("mean").error
    assert dict(error.failures).keys() == {"ols", "pgls"}
    assert error.of("pgls") is None
    assert error.of("phyrvm") is not None
    leads = judged("pgls")
    assert leads.error is None
    assert "needs at least 6 species" in leads.failure


def test_shares_that_add_up_to_one_are_regressed_on(rng):
    shares = pd.DataFrame(rng.dirichlet(np.ones(5), size=24), index=TREE.tip_names)
    shares.columns = list("abcde")
    y = pd.Series(3 * shares["a"] - shares["b"] + 0.05 * rng.normal(size=24), name="y")
    traits = read_traits(shares.assign(y=y), TREE, "y")
    model = fit_regression("pgls", traits.tree, traits.X, traits.y)
    assert len(model.columns) == 4
    rows = traits.X.iloc[:5].add([0.01, -0.01, 0, 0, 0])
    # Which column is left out changes nothing about predictions.
    other = next(name for name in "abcde" if name not in traits.table.redundant)
    without = fit_regression("pgls", traits.tree, traits.X.drop(columns=other), traits.y)
    assert len(without.columns) == 4
    np.testing.assert_allclose(model.predict(rows)[0], without.predict(rows)[0], rtol=1e-5)


@pytest.mark.parametrize("folds", [1, -1, 23])
def test_folds_that_cannot_be_are_refused(table, folds):
    with pytest.raises(InvalidInputError, match="folds must be 0, for none, or between 2 and"):
        analyse_traits(table, TREE, "size", folds=folds)


def test_an_unknown_model_is_refused(table):
    with pytest.raises(InvalidInputError, match="model must be"):
        analyse_traits(table, TREE, "size", model="ols")


@pytest.mark.usefixtures("plain")
def test_five_species_and_one_feature(tmp_path):
    tree = tmp_path / "tree.nwk"
    tree.write_text("((a:1,b:1):1,(c:1.5,(d:1,e:1):0.5):0.5);")
    rows = {"tip": list("abcde"), "x": [1.0, 2.0, 4.0, 3.0, 6.0], "y": [2.0, 4.1, 7.7, 6.5, 12.0]}
    found = analyse_traits(pd.DataFrame(rows), tree, "y")
    assert isinstance(found, TraitAnalysis)
    assert found.findings.error.n_folds == 3
    assert write(found.findings).title == "What explains y in table"
    assert repr(found) == "TraitAnalysis of table: y of 5 species"


def test_a_tree_of_height_zero_is_refused():
    tree = read_tree("(a:0,b:0,c:0,d:0);")
    rows = pd.DataFrame({"tip": list("abcd"), "y": [1.0, 2.0, 4.0, 3.0]})
    with pytest.raises(InvalidInputError, match="height zero"):
        analyse_traits(rows, tree, "y")


def test_files_are_written(analysis, tmp_path):
    page = analysis.to_html(tmp_path / "a.html").read_text()
    assert "<h1>What explains size in table</h1>" in page
    assert len(page) < 1_000_000
    assert analysis.to_pdf(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF-")
    assert json.loads(analysis.to_json(tmp_path / "a.json").read_text())["model"] == "phyrvm"
    assert analysis.to_markdown(tmp_path / "a.md").read_text().startswith("# What explains")
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "a.pdf", "a.json", "a.md"}
