"""Options of `ParetoRVC`, limits, files, and tables that are hard."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ShuffleSplit

from parsimon.exceptions import CheckpointError, InterruptWarning, InvalidInputError
from parsimon.kernels import MultiResolution
from parsimon.pareto import dominates, nondominated
from parsimon.rvm._dictionary import make_basis
from parsimon.rvm.classifier import RVC, classifier_given
from parsimon.rvm.pareto import ParetoRVC


def rings(n, seed=0):
    """Return an inner class, "yes", and an outer one that overlap a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    inside = np.hypot(*X.T) + 0.25 * rng.normal(size=n) < 1.1
    return X, np.where(inside, "yes", "no")


@pytest.fixture(scope="module")
def data():
    X, y = rings(90)
    X.flags.writeable = False
    return X, y


@pytest.fixture(scope="module")
def folded(data):
    return ParetoRVC(gamma=0.5, cv=3, max_iter=300, random_state=0).fit(*data)


def rates(model, X, y):
    """Return true and false positive rates of class "yes"."""
    positive = model.predict(X) == "yes"
    return positive[y == "yes"].mean(), positive[y == "no"].mean()


@pytest.mark.parametrize("cv", [None, 2, "swap", "shuffle", "stratified", "homogeneous"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_front(data, cv, seed):
    first, again = (ParetoRVC(cv=cv, max_iter=40, random_state=seed).fit(*data) for _ in range(2))
    assert first.front_ == again.front_
    np.testing.assert_array_equal(first.best_estimator_.coef_, again.best_estimator_.coef_)
    assert nondominated(first.front_.minimised).all()


def test_another_seed_gives_another_front(folded, data):
    other = clone(folded).set_params(random_state=1).fit(*data)
    assert other.front_ != folded.front_


@pytest.mark.parametrize(
    "options",
    [
        {"thresholds": 0.05},
        {"complexity": "degrees_of_freedom"},
        {"bias": False},
        {"centres": 12},
        {"gamma": 3.0},
        {"kernel": MultiResolution(2.0)},
    ],
    ids=str,
)
def test_every_option_changes_the_search(data, options):
    plain = ParetoRVC(cv=2, max_iter=60, random_state=0)
    other = clone(plain).set_params(**options).fit(*data)
    assert nondominated(other.front_.minimised).all()
    assert other.front_ != plain.fit(*data).front_
    assert np.isfinite(other.predict_proba(data[0])).all()


def test_the_printed_complexity_is_that_of_the_classifier(data):
    search = ParetoRVC(cv=None, complexity="degrees_of_freedom", max_iter=80, random_state=0)
    search.fit(*data)
    printed = search.front_.values[:, 2]
    assert np.count_nonzero(printed == 0) == 2  # the classifiers that need no data
    for index in np.flatnonzero(printed)[::5]:
        assert search.select(index).complexity_ == pytest.approx(printed[index], rel=1e-9)


def test_many_columns_at_huge_precisions_do_not_win_by_default(data):
    """The trick of the printed complexity: everything on and held back, so nothing counts."""
    X, y = data
    kernel = MultiResolution(2.0)
    basis = make_basis(kernel, X)
    codes = (y == "yes").astype(int)
    trick = classifier_given(RVC(), basis, X, codes, np.unique(y), np.full(basis.n_columns, 1e11))
    scores = np.unique(trick.decision_function(X))
    cutoffs = (scores[:-1] + scores[1:]) / 2
    points = np.array([rates(trick.set_params(cutoff=cutoff), X, y) for cutoff in cutoffs])
    accuracy = np.mean(codes) * points[:, 0] + (1 - np.mean(codes)) * (1 - points[:, 1])
    tpr, fpr = points[accuracy.argmax()]
    assert accuracy.max() > 0.85  # it ranks the rows well, although all probabilities are 1/2
    assert trick.complexity_ < 1e-8
    options = {"cv": None, "max_iter": 1500, "stall": None, "random_state": 0}
    honest = ParetoRVC(kernel, **options).fit(X, y).front_
    printed = ParetoRVC(kernel, complexity="degrees_of_freedom", **options).fit(X, y).front_
    by_count, as_printed = [-tpr, fpr, len(trick.relevance_)], [-tpr, fpr, trick.complexity_]
    assert len(trick.relevance_) == 270
    assert any(dominates(row, by_count) for row in honest.minimised)
    assert not any(dominates(row, as_printed) for row in printed.minimised)


def test_sample_weights_are_repeated_rows(data):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    options = {"cv": 2, "max_iter": 60, "random_state": 0, "gamma": 1.0}
    weighted = ParetoRVC(**options).fit(X, y, sample_weight=weights)
    repeated = ParetoRVC(**options).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert weighted.front_ == repeated.front_
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_time_and_stall_end_the_search(data):
    search = ParetoRVC(cv=2, time_limit=0.2, random_state=0, stall=None).fit(*data)
    assert search.stopped_by_ == "time_limit"
    assert len(search.front_) > 2
    stalled = ParetoRVC("features", cv=None, stall=3, random_state=0).fit(*data)
    assert stalled.stopped_by_ == "stall"
    limited = ParetoRVC(cv=2, max_iter=7, random_state=0).fit(*data)
    assert (limited.stopped_by_, limited.n_iter_) == ("max_iter", 7)
    assert limited.n_evaluations_ >= 7
    assert limited.history_.n_points[0] >= 1


def test_an_interrupted_search_keeps_the_best_so_far(data, monkeypatch):
    from parsimon.rvm._search import ArchiveSearch

    step, calls = ArchiveSearch.step, []

    def interrupted(self, state, rng, deadline):
        calls.append(None)
        if len(calls) > 50:
            raise KeyboardInterrupt
        return step(self, state, rng, deadline)

    monkeypatch.setattr(ArchiveSearch, "step", interrupted)
    with pytest.warns(InterruptWarning, match="the best so far"):
        search = ParetoRVC(cv=2, random_state=0).fit(*data)
    assert search.stopped_by_ == "interrupt"
    assert search.n_iter_ == 50
    assert search.score(*data) > 0.5


def test_a_search_resumes_to_the_same_bits(data, tmp_path):
    whole = ParetoRVC(cv=2, max_iter=80, random_state=0)
    part = clone(whole).set_params(max_iter=30, checkpoint=tmp_path / "search.npz").fit(*data)
    assert part.n_iter_ == 30
    resumed = clone(part).set_params(max_iter=80).fit(*data)
    assert resumed.front_ == whole.fit(*data).front_
    assert resumed.front_ != part.front_
    with pytest.raises(CheckpointError, match="was written with"):
        clone(part).set_params(gamma=9.0).fit(*data)


def test_a_search_survives_pickle(folded, data):
    again = pickle.loads(pickle.dumps(folded))
    assert again.front_ == folded.front_
    np.testing.assert_array_equal(again.predict_proba(data[0]), folded.predict_proba(data[0]))
    np.testing.assert_array_equal(again.select(2).coef_, folded.select(2).coef_)


def test_a_search_survives_skops(folded, data):
    import skops.io

    for model in (folded, folded.select("accuracy")):
        stored = skops.io.dumps(model)
        types = skops.io.get_untrusted_types(data=stored)
        assert all(name.startswith(("parsimon.", "numpy.")) for name in types)
        again = skops.io.loads(stored, trusted=types)
        np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))
    again = skops.io.loads(
        skops.io.dumps(folded),
        trusted=types + skops.io.get_untrusted_types(data=skops.io.dumps(folded)),
    )
    assert again.front_ == folded.front_
    np.testing.assert_array_equal(again.select(2).coef_, folded.select(2).coef_)


@pytest.mark.parametrize("kind", [None, "pair", "3d", "parallel", "roc"])
def test_every_picture_marks_the_default_solution(folded, kind):
    axes = folded.plot(kind=kind)
    size = f"complexity {folded.front_.values[folded.best_index_, 2]:g}"
    texts = [text.get_text() for text in axes.figure.findobj(plt.Text)]
    plt.close("all")
    wanted = size.split()[-1] if kind == "parallel" else size
    assert any(wanted in text for text in texts)


def test_before_a_fit_there_is_no_front():
    for ask in (lambda s: s.front_, lambda s: s.select(), lambda s: s.to_frame()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(ParetoRVC())


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("cv", [None, 5])
def test_a_handful_of_rows(n, cv):
    X, y = np.arange(float(n))[:, None], np.arange(n) > (n - 1) / 2
    search = ParetoRVC(cv=cv, max_iter=30, random_state=0).fit(X, y)
    assert len(search.front_) >= 2
    assert np.isfinite(search.predict_proba(X)).all()


def test_constant_and_repeated_columns_and_rows_do_no_harm():
    X, y = rings(40)
    X = np.column_stack([X, np.full(40, 7.0), X[:, 0]]).repeat(2, axis=0)
    search = ParetoRVC(cv=2, max_iter=40, random_state=0).fit(X, y.repeat(2))
    assert search.score(X, y.repeat(2)) > 0.6


def test_a_precomputed_kernel_is_searched_like_its_columns():
    X, y = rings(60)
    gram = np.exp(-0.5 * np.square(X[:, None] - X[None]).sum(axis=2))
    search = ParetoRVC("precomputed", cv=None, max_iter=80, random_state=0).fit(gram, y)
    assert search.predict(gram[:7]).shape == (7,)
    assert search.score(gram, y) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": "halves"}, 'cv must be "swap" or "shuffle"'),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"cv": 2.5}, "cv must be an integer of at least 2"),
        ({"cv": 3j}, "cv must be None, a number of folds, a splitter"),
        ({"cv": ShuffleSplit(3)}, "hold every row out once, but it has 3 and holds rows out 0"),
        ({"complexity": "size"}, 'complexity must be "active" or'),
        ({"thresholds": "some"}, 'thresholds must be "exact"'),
        ({"thresholds": -0.1}, "thresholds must be a positive number"),
        ({"choose": "luck"}, "There is no rule 'luck'"),
        ({"max_iter": -1}, "max_iter must be an integer"),
        ({"stall": 0}, "stall must be an integer"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma must be"),
    ],
    ids=str,
)
def test_options_that_cannot_be_used(data, options, message):
    search = ParetoRVC(cv=None, max_iter=2).set_params(**options)
    with pytest.raises(InvalidInputError, match=message):
        search.fit(*data)


def test_one_class_is_refused():
    with pytest.raises(InvalidInputError, match="got 1 class: ill"):
        ParetoRVC().fit([[0.0], [1.0]], ["ill", "ill"])
