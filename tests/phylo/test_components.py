import numpy as np
import pytest
from scipy.stats import matrix_normal, multivariate_normal
from sklearn.decomposition import PCA

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import P3CA, PhyloPCA, brownian_traits, covariance, read_tree, yule_tree
from tests.contract import contract


@contract(PhyloPCA(), P3CA(), PhyloPCA(mode="correlation"), P3CA(centre="sample"))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def tree():
    return yule_tree(40, random_state=5)


@pytest.fixture(scope="module")
def table(tree):
    frame = brownian_traits(tree, 5, pagel_lambda=0.7, random_state=6)
    mix = np.random.default_rng(0).normal(size=(5, 5))
    return 10.0 + frame @ (mix * [3.0, 2.0, 1.0, 1.0, 1.0])


def rates(tree, table, share):
    """Return mean and scatter with matrices."""
    inverse = np.linalg.inv(covariance(tree, pagel_lambda=share))
    X, ones = table.to_numpy(), np.ones(len(table))
    mean = ones @ inverse @ X / (ones @ inverse @ ones)
    return mean, (X - mean).T @ inverse @ (X - mean)


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_phylogenetic_components_are_those_of_the_rate_matrix(tree, table, share):
    model = PhyloPCA(tree, pagel_lambda=share).fit(table)
    mean, scatter = rates(tree, table, share)
    R = scatter / 39
    np.testing.assert_allclose(model.mean_, mean)
    np.testing.assert_allclose(model.covariance_, R)
    np.testing.assert_allclose(
        model.components_ @ R @ model.components_.T, np.diag(model.explained_variance_), atol=1e-9
    )
    scores = model.transform(table)
    np.testing.assert_allclose(scores, (table.to_numpy() - mean) @ model.components_.T)
    # Loadings are correlations of columns with scores, both whitened by the tree.
    inverse = np.linalg.inv(covariance(tree, pagel_lambda=share))
    crossed = (table.to_numpy() - mean).T @ inverse @ scores / 39
    size = np.sqrt(np.outer(np.diag(R), np.diag(scores.T @ inverse @ scores / 39)))
    np.testing.assert_allclose(model.loadings_, crossed / size, atol=1e-9)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)
    density = matrix_normal.logpdf(
        table.to_numpy(), np.tile(mean, (40, 1)), covariance(tree, pagel_lambda=share), scatter / 40
    )
    assert model.log_likelihood_ == pytest.approx(density)


def test_correlation_ignores_units(tree, table):
    one = PhyloPCA(tree, pagel_lambda=0.5, mode="correlation", n_components=2).fit(table)
    two = PhyloPCA(tree, pagel_lambda=0.5, mode="correlation", n_components=2).fit(
        table * [1, 9, 1, 1, 5]
    )
    np.testing.assert_allclose(one.explained_variance_, two.explained_variance_)
    np.testing.assert_allclose(one.transform(table), two.transform(table * [1, 9, 1, 1, 5]))
    plain = PhyloPCA(tree, pagel_lambda=0.5, n_components=2).fit(table)
    assert np.abs(plain.components_ - one.components_).max() > 0.01
    root = np.sqrt(np.diag(one.covariance_))
    R = one.covariance_ / np.outer(root, root)
    np.testing.assert_allclose(R @ one.components_.T, one.components_.T * one.explained_variance_)


@pytest.mark.parametrize("kind", [PhyloPCA, P3CA])
def test_lambda_is_the_most_likely(tree, table, kind):
    model = kind(tree).fit(table)
    assert 0.3 < model.lambda_ < 1.0
    for share in [*np.linspace(0, 1, 9), model.lambda_ - 1e-3, model.lambda_ + 1e-3]:
        other = kind(tree, pagel_lambda=share).fit(table)
        assert other.log_likelihood_ <= model.log_likelihood_ + 1e-9
    assert kind(tree, bounds=(0.0, 0.1)).fit(table).lambda_ == pytest.approx(0.1, abs=1e-6)


def test_without_a_tree_they_are_ordinary_components(table):
    X = table.to_numpy()
    theirs = PCA(n_components=2).fit(X)
    for ours in (PhyloPCA(n_components=2).fit(X), P3CA(n_components=2).fit(X)):
        signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
        np.testing.assert_allclose(ours.components_ * signs[:, None], theirs.components_, atol=1e-9)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_ * 39 / 40)


@pytest.mark.parametrize("form", ["corrected", "printed"])
def test_unit_tips_at_lambda_zero_are_probabilistic_components(table, form):
    names = list(table.index)
    pairs = [f"({a}:0.4,{b}:0.4):0.6" for a, b in zip(names[::2], names[1::2], strict=True)]
    tree = read_tree("(" + ",".join(pairs) + ");")
    model = P3CA(tree, pagel_lambda=0.0, form=form).fit(table)
    C = model.loadings_ @ model.loadings_.T + model.noise_variance_ * np.eye(5)
    density = multivariate_normal.logpdf(table.to_numpy(), table.mean(), C).sum()
    assert model.log_likelihood_ == pytest.approx(density)
    theirs = PCA(n_components=2).fit(table.to_numpy())
    assert model.noise_variance_ == pytest.approx(theirs.noise_variance_ * 39 / 40)
    # Expected hidden traits, by the formula with matrices (Tipping and Bishop 1999).
    W = model.loadings_
    left = table.to_numpy() - model.mean_
    inner = np.linalg.inv(W.T @ W + model.noise_variance_ * np.eye(2))
    np.testing.assert_allclose(model.transform(table), left @ W @ inner)


def test_the_likelihood_without_a_tree_is_that_of_scikit_learn(table):
    X = table.to_numpy()
    # Variances with n - 1 in the denominator of these rows are those with n of the given ones.
    shrunk = X.mean(axis=0) + (X - X.mean(axis=0)) * np.sqrt(39 / 40)
    theirs = PCA(n_components=2).fit(shrunk)
    ours = P3CA(n_components=2).fit(X)
    assert ours.log_likelihood_ == pytest.approx(theirs.score_samples(X).sum())
    C = ours.loadings_ @ ours.loadings_.T + ours.noise_variance_ * np.eye(5)
    np.testing.assert_allclose(C, theirs.get_covariance())


@pytest.mark.parametrize("kind", [PhyloPCA, P3CA])
def test_the_order_of_tips_does_not_matter(table, kind):
    frame = table[:6].set_axis(list("abcdef"))
    one = read_tree("((a:1,b:2):1,(c:1,(d:1,(e:2,f:1):1):0.5):2);")
    two = read_tree("(((( f:1,e:2):1,d:1):0.5,c:1):2,(b:2,a:1):1);")
    ours = kind(one, n_components=2, pagel_lambda=0.7).fit(frame)
    for tree, rows in [(two, frame), (one, frame[::-1]), (two, frame.loc[list("cafebd")])]:
        other = kind(tree, n_components=2, pagel_lambda=0.7).fit(rows)
        np.testing.assert_allclose(other.components_, ours.components_, atol=1e-10)
        np.testing.assert_allclose(other.loadings_, ours.loadings_, atol=1e-10)
        np.testing.assert_allclose(other.transform(frame), ours.scores_, atol=1e-9)
        at = [list(rows.index).index(name) for name in frame.index]
        np.testing.assert_allclose(other.scores_[at], ours.scores_, atol=1e-9)


@pytest.mark.parametrize("n_components", [1, 3, 5])
def test_the_likelihood_is_that_of_a_matrix_normal_table(tree, table, n_components):
    model = P3CA(tree, pagel_lambda=0.6, n_components=n_components).fit(table)
    mean, _ = rates(tree, table, 0.6)
    C = model.loadings_ @ model.loadings_.T + model.noise_variance_ * np.eye(5)
    V = covariance(tree, pagel_lambda=0.6)

    def density(C):
        return matrix_normal.logpdf(table.to_numpy(), np.tile(mean, (40, 1)), V, C)

    assert model.log_likelihood_ == pytest.approx(density(C))
    # No covariance of this form is more likely.
    rng = np.random.default_rng(0)
    for _ in range(5):
        W = model.loadings_ + 0.01 * rng.normal(size=model.loadings_.shape)
        near = W @ W.T + model.noise_variance_ * 1.01 * np.eye(5)
        if n_components < 5:
            assert density(near) < density(C)
    assert model.transform(table).shape == (40, n_components)


def test_the_printed_form_has_the_matrix_where_its_inverse_belongs(tree, table):
    model = P3CA(tree, pagel_lambda=0.6, form="printed", centre="sample").fit(table)
    V = covariance(tree, pagel_lambda=0.6)
    left = table.to_numpy() - table.to_numpy().mean(axis=0)
    values = np.linalg.eigvalsh(left.T @ V @ left / 40)[::-1]
    np.testing.assert_allclose(model.explained_variance_, values[:2])
    log_C = np.log(values[:2]).sum() + 3 * np.log(values[2:].mean())
    printed = 2.5 * np.linalg.slogdet(V)[1] - 20 * (5 * np.log(2 * np.pi) + log_C + 5)
    assert model.log_likelihood_ == pytest.approx(printed)
    np.testing.assert_allclose(model.mean_, table.mean())
    right = P3CA(tree, pagel_lambda=0.6, centre="sample").fit(table)
    assert abs(right.log_likelihood_ - printed) > 1.0
    assert np.abs(right.components_ - model.components_).max() > 0.01
    # The tree of which both are sure is another one.
    other = P3CA(tree, form="printed", centre="sample").fit(table)
    best = P3CA(tree, centre="sample").fit(table)
    assert abs(other.lambda_ - best.lambda_) > 0.1


def test_a_column_of_tips_is_no_feature(tree, table):
    named = table.rename_axis("species").reset_index()
    named.columns = named.columns.astype(str)
    for kind in (PhyloPCA, P3CA):
        ours = kind(tree, tips="species", n_components=2).fit(named)
        other = kind(tree, n_components=2).fit(table)
        np.testing.assert_allclose(ours.transform(named), other.transform(table))
    assert list(ours.get_feature_names_out()) == ["p3ca0", "p3ca1"]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PhyloPCA, {"mode": "cor"}, "mode must be"),
        (P3CA, {"centre": "root"}, "centre must be"),
        (P3CA, {"form": "right"}, "form must be"),
        (P3CA, {"n_components": 6}, "n_components=6 is more than n_features=5"),
        (P3CA, {"n_components": 0}, "n_components must be"),
        (PhyloPCA, {"pagel_lambda": "REML"}, 'pagel_lambda must be a number or "ML"'),
        (PhyloPCA, {"pagel_lambda": -1.0}, "pagel_lambda must be zero or a positive"),
        (PhyloPCA, {"tree": "(A:1,B:1);"}, "tree must be a Tree"),
    ],
)
def test_options_that_make_no_sense_are_refused(tree, table, kind, options, message):
    with pytest.raises(InvalidInputError, match=message):
        kind(**{"tree": tree, **options}).fit(table)


def test_too_few_tips_for_lambda_are_said(tree, table):
    few = table[:4]
    with pytest.raises(InvalidInputError, match="lambda cannot be estimated: 4 tips"):
        PhyloPCA(tree).fit(few)
    assert PhyloPCA(tree, pagel_lambda=1.0).fit(few).log_likelihood_ == np.inf
    assert 0 <= P3CA(tree, n_components=1).fit(few).lambda_ <= 1


def test_scores_are_drawn_on_their_tree(tree, table):
    named = table.set_axis([f"c{j}" for j in range(5)], axis=1)
    model = P3CA(tree, n_components=3).fit(named[:30])
    np.testing.assert_array_equal(model.scores_, model.transform(named[:30]))
    axes = model.plot(components=(2, 0), colour=named["c0"][:30])
    lines, points = axes.collections[:2]
    np.testing.assert_allclose(points.get_offsets(), model.scores_[:, [2, 0]])
    # One branch above each node but the root, and each tip is the end of one.
    ends = np.array([segment[1] for segment in lines.get_segments()])
    for score in model.scores_[:, [2, 0]]:
        assert np.abs(ends - score).max(axis=1).min() < 1e-8
    length = np.linalg.norm(model.loadings_[:, [2, 0]], axis=1)
    long = {f"c{j}" for j in np.flatnonzero(length >= 0.2 * length.max())}
    assert {text.get_text() for text in axes.texts} - {""} == long
    assert axes.get_title(loc="left").startswith("lambda 0.")
    plain = PhyloPCA().fit(named.to_numpy()).plot()
    assert len(plain.collections) == 1
    assert plain.get_title(loc="left") == "principal components"
    with pytest.raises(InvalidInputError, match="components must be two numbers below 3"):
        model.plot(components=(0, 3))
    with pytest.raises(InvalidInputError, match="colour has 2 numbers for 30 rows"):
        model.plot(colour=[1.0, 2.0])


def overlaps(one, two):
    return one.overlaps(two) and min(one.x1, two.x1) - max(one.x0, two.x0) > 0.5


@pytest.mark.parametrize("size", [(7.2, 5.2), (4.5, 3.6)])
def test_labels_cover_neither_each_other_nor_tips(tree, size):
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(3)
    table = brownian_traits(tree, 9, random_state=1)
    # Columns that hardly differ: arrows lie on each other.
    table = (table["trait1"].to_numpy()[:, None] + 0.2 * table).set_axis(
        [f"trait {j}" for j in range(8)] + ["one with a very long name"], axis=1
    )
    table.iloc[:, 5:] *= -1
    figure, axes = plt.subplots(figsize=size)
    P3CA(tree, pagel_lambda=1.0).fit(table).plot(ax=axes, colour=rng.normal(size=40))
    figure.canvas.draw()
    labels = [text for text in axes.texts if text.get_text()]
    assert len(labels) == 8
    boxes = [super(type(text), text).get_window_extent() for text in labels]
    for place, box in enumerate(boxes):
        assert not any(overlaps(box, other) for other in boxes[:place])
        assert axes.get_window_extent().padded(12).contains(*box.min)
        assert axes.get_window_extent().padded(12).contains(*box.max)
        for point in axes.transData.transform(axes.collections[1].get_offsets()):
            assert not box.contains(*point)
    plt.close(figure)


def test_long_names_are_cut_and_flat_scores_are_drawn(tree, table):
    named = table.set_axis([f"a very long name of column {j}" for j in range(5)], axis=1)
    axes = P3CA(tree).fit(named).plot(colour=named.iloc[:, 0])
    cut = {text.get_text() for text in axes.texts} - {""}
    assert all(text.startswith("a very") and text.endswith("…") for text in cut)
    assert {len(text) <= 16 for text in cut} == {True}
    assert axes.figure.axes[1].get_ylabel() == named.columns[0]
    line = np.column_stack([np.arange(6.0), 2 * np.arange(6.0)])
    axes = P3CA(n_components=2).fit(line).plot()
    assert np.ptp(axes.get_ylim()) > 0
    assert {text.get_text() for text in axes.texts} == {"", "x0", "x1"}


def test_phylo_pca_refuses_constants_where_a_likelihood_is_needed():
    tree = yule_tree(20, random_state=0)
    table = brownian_traits(tree, 2, random_state=0).assign(same=0.1)
    with pytest.raises(InvalidInputError, match=r"These columns are constant: same\. Leave"):
        PhyloPCA(tree).fit(table)
    with pytest.raises(InvalidInputError, match="These columns are constant: same"):
        PhyloPCA(tree, pagel_lambda=1.0).fit(table.mask(table == table.loc["t1", "trait1"]))
    found = PhyloPCA(tree, pagel_lambda=1.0).fit(table)
    assert found.explained_variance_[2] == 0
    np.testing.assert_allclose(found.components_[:2, 2], 0.0, atol=1e-12)
