"""Draw the pictures of the documentation and of the README.

    python docs/make_figures.py

The pictures are committed, so that the documentation builds without drawing. They are the same,
byte for byte, each time they are drawn with the same versions of the packages. Those of real
species need the folder of tables and trees that PARSIMON_DATA names; without it they are left as
they are.
"""

import os
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from bpm_figures import few_rows, repeated_row
from clutter_figures import clutter_posteriors
from ensemble_figures import average_of_rules, fitted_average, walk_of_errors, worth_of_members
from features_figures import (
    counts_of_columns,
    errors_by_size,
    features_of_a_formula,
    models_of_columns,
    wrong_labels,
)
from package_map import package_map
from phylo_figures import (
    ancestors,
    components_with_and_without,
    random_and_clade_folds,
    relevant_amino_acids,
    strength_of_the_tree,
)
from rvm_figures import banana_boundaries, bands_by_size, front_in_three
from series_figures import tree_of_steps, tree_of_windows, two_kinds
from svm_figures import moons, overfitting, spectra, walk
from unsupervised_figures import fronts_without_a_target

from parsimon._style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    figure_style,
    new_axes,
)
from parsimon.pareto import Front

STATIC = Path(__file__).parent / "_static"


def main():
    mpl.use("Agg")
    with figure_style():
        save(front_of_models(), "front")
        save(front_of_models(), "front", dpi=200)
        save(dominance(), "dominance")
        save(knees(), "knees")
        save(dominated_volume(), "hypervolume")
        save(operating_point(), "operating-point")
        save(two_areas(), "areas")
        save(belief_and_truth(), "belief")
    save_small(kernel_draws(), "kernel-draws", "Functions drawn from five kernels")
    save_small(one_variable(), "posterior-1d", "Probability of diabetes along glucose")
    save_small(two_variables(), "posterior-2d", "Ripley's data: probability and its band")
    save_small(parts_of_a_sum(), "components", "The parts of a sum and their bands")
    save_small(way_of_a_search(), "search-tree", "The way of a search over kernels")
    with figure_style():
        save_small(banana_boundaries(), "rvm-banana", "Two machines for the same rows")
        save_small(front_in_three(), "rvm-front", "A front of three objectives")
        save_small(bands_by_size(), "rvm-bands", "ROC curves and bands of machines of rising size")
        save_small(repeated_row(), "bpm-repeats", "One row a hundred times: three borders")
        save_small(few_rows(), "bpm-few-rows", "Error against rows kept")
        save_small(overfitting(), "svm-overfitting", "Loss and errors along a front")
        save_small(walk(), "svm-walk", "Five machines along a front")
        save_small(spectra(), "svm-spectra", "Eigenvalues of three kernels")
        save_small(moons(), "svm-moons", "Seven labels alone, and with rows without")
        average = fitted_average()
        save_small(walk_of_errors(average), "abc-walk", "Areas of hard classifiers, and chains")
        save_small(average_of_rules(average), "abc-ripley", "An average of yes/no rules")
        save_small(worth_of_members(average), "abc-sizes", "What each further member is worth")
        save_small(counts_of_columns(), "wide-counts", "Columns that come back, and models of them")
        save_small(models_of_columns(), "wide-models", "Models of a few columns beside guessing")
        save_small(wrong_labels(), "wide-labels", "What flipped labels do")
        save_small(errors_by_size(), "select-sizes", "Error by number of columns")
        save_small(features_of_a_formula(), "formula-features", "Formulas and their features")
        save_small(fronts_without_a_target(), "no-target", "Fronts of columns without a target")
        save_small(tree_of_windows(), "series-windows", "A method tree with windows, step by step")
        save_small(tree_of_steps(), "series-steps", "A method tree without windows, step by step")
        save_small(two_kinds(), "series-kinds", "Two kinds of signal by two features")
        save_small(clutter_posteriors(), "clutter-posterior", "The mean of rows amid clutter")
        save_small(package_map(), "packages", "The packages in layers; imports point down")
        save_small(random_and_clade_folds(), "phylo-folds", "Random folds and folds of clades")
        if "PARSIMON_DATA" in os.environ:
            save_real_species()


def save_real_species():
    """Draw the pictures whose data do not come with the package."""
    save_small(ancestors(), "phylo-ancestors", "Body length of anoles and of their ancestors")
    save_small(strength_of_the_tree(), "phylo-lambda", "What archaea say about lambda")
    save_small(components_with_and_without(), "phylo-p3ca", "Components of amino acids")
    save_small(relevant_amino_acids(), "phylo-amino-acids", "Relevance and correlation")


def save(ax, name, *, dpi=None):
    """Write an SVG, or with `dpi` a PNG, without a date in it."""
    path = STATIC / f"{name}.{'svg' if dpi is None else 'png'}"
    if dpi is None:
        ax.figure.savefig(path, metadata={"Date": None})
    else:
        ax.figure.savefig(path, dpi=dpi, metadata={"Software": None})
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    mpl.pyplot.close(ax.figure)


def save_small(axes, name, title):
    """Write an SVG as the report does: small, its letters kept as letters."""
    from parsimon.report.figures import svg

    first = axes.flat[0] if hasattr(axes, "flat") else axes
    path = STATIC / f"{name}.svg"
    path.write_text(svg(first.figure, salt=name, title=title) + "\n")
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    mpl.pyplot.close(first.figure)


def front_of_models():
    """The table behind `parsimon front --demo`: all candidates, the front, a knee."""
    models = pd.read_csv(files("parsimon.cli") / "demo_models.csv")
    front = Front(models[["auc", "features"]], ["auc", "features"], maximise=["auc"])
    # The model that ignores the table stretches the scale; the knee is that of the others.
    usable = front.where(features__ge=1)
    knee = int(np.flatnonzero(front.rows == usable.rows[usable.knee()])[0])
    ax = new_axes(figsize=(7.2, 4.4))
    ax.scatter(models["features"], models["auc"], s=16, color=GREY, alpha=0.45, linewidths=0)
    front.plot(ax=ax, chosen=knee)
    ax.set_title("A front instead of a winner: models for pima")
    ax.set_xlabel("columns used (fewer is better)")
    ax.set_ylabel("cross-validated AUC (higher is better)")
    return ax


def dominance():
    """What one point dominates, and which points are left."""
    points = np.array([[1, 8.2], [2, 5], [3.4, 3.6], [6, 2.2], [8.6, 1.2], [4.6, 6.2], [7.2, 4.4]])
    front = Front(points, ["error", "size"])
    ax = new_axes(figsize=(6.4, 4.2))
    corner = front.values[2]
    ax.fill_between([corner[0], 10], corner[1], 10, color=BLUE, alpha=0.14, linewidth=0)
    ax.text(3.7, 9.2, "dominated by the ringed point", color=GREY, ha="left")
    front.plot(ax=ax, chosen=None)
    beaten = points[np.setdiff1d(np.arange(len(points)), front.rows)]
    ax.scatter(*beaten.T, s=30, marker="x", color=GREY, zorder=3)
    ax.scatter(*corner, s=150, facecolor="none", edgecolor=VERMILION, linewidth=2.4, zorder=5)
    ax.set(xlim=(0, 10), ylim=(0, 10), title="Five points are left of seven")
    return ax


def knees():
    """One front on which two methods choose two points."""
    front = knee_example()
    ax = front.plot(chosen=None)
    looks = {"chord": (VERMILION, "o"), "gain": (GREEN, "s")}
    for method, (colour, marker) in looks.items():
        x, y = front.values[front.knee(method)]
        ax.scatter(
            x,
            y,
            s=150,
            marker=marker,
            facecolor="none",
            edgecolor=colour,
            linewidth=2.4,
            zorder=5,
            label=f'knee("{method}")',
        )
    ends = front.values[[0, -1]]
    ax.plot(*ends.T, color=GREY, linestyle=":", linewidth=1.2, label="chord between the ends")
    ax.legend(loc="upper right")
    ax.set_title("Two meanings of a knee")
    return ax


def knee_example():
    """Return a front with two steep steps, a slope and a flat end."""
    size = np.array([1, 2, 3, 4, 5, 6, 8, 11, 15, 20.0])
    error = np.array([42, 32, 23, 20, 17, 15, 13, 12, 11, 10.0])
    return Front(np.column_stack([error, size]), ["error", "size"])


def dominated_volume():
    """The hypervolume of a front of four points."""
    front = Front([[1, 7], [2, 4], [5, 3], [8, 1]], ["error", "size"])
    reference = (9, 8)
    ax = new_axes(figsize=(6.4, 4.2))
    x = [*np.repeat(front.values[:, 0], 2)[1:], reference[0]]
    y = np.repeat(front.values[:, 1], 2)
    ax.fill_between(x, y, reference[1], color=BLUE, alpha=0.18, linewidth=0)
    front.plot(ax=ax, chosen=None)
    ax.scatter(*reference, s=60, color=VERMILION, marker="s", zorder=4)
    ax.annotate("reference", reference, xytext=(-10, 8), textcoords="offset points", ha="right")
    volume = front.hypervolume(reference)
    ax.set(xlim=(0, 10), ylim=(0, 9), title=f"The hypervolume is the shaded area: {volume:g}")
    return ax


def operating_point():
    """The picture of the tutorial about ROC curves."""
    from parsimon.roc import RocDisplay

    y, score = pima_scores()
    display = RocDisplay.from_predictions(
        y, score, pos_label="yes", cost_fp=1, cost_fn=5, prevalence=0.1, name="logistic regression"
    )
    return display.ax_


def pima_scores():
    """Return classes and out-of-fold scores of the training part of pima, as in the tutorial."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from parsimon.datasets import load

    pima = load("pima")
    X, _, y, _ = train_test_split(
        pima.data, pima.target, test_size=0.4, stratify=pima.target, random_state=0
    )
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return y, cross_val_predict(model, X, y, cv=10, method="predict_proba")[:, 1]


def two_areas():
    """One hard classifier: the rectangle it dominates, and the triangle that mixing adds."""
    fpr, tpr = 0.3, 0.7
    ax = new_axes(figsize=(5.4, 5.4))
    ax.fill_between([fpr, 1], tpr, color=BLUE, alpha=0.2, linewidth=0)
    ax.fill_between(
        [0, fpr, fpr, 1], [0, tpr, tpr, 1], [0, 0, tpr, tpr], color=ORANGE, alpha=0.3, linewidth=0
    )
    ax.text(0.65, 0.35, "strict: T (1 - F) = 0.49", ha="center")
    ax.text(0.03, 0.93, "mid: 0.70, with both triangles")
    ax.plot([0, fpr, 1], [0, tpr, 1], color=ORANGE, linestyle="--")
    ax.scatter(fpr, tpr, s=60, color=VERMILION, zorder=4)
    ax.annotate("F 0.3, T 0.7", (fpr, tpr), xytext=(-6, 9), textcoords="offset points", ha="right")
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="False positive rate F",
        ylabel="True positive rate T",
        title="One hard classifier, two areas",
        aspect="equal",
    )
    return ax


def belief_and_truth():
    """What a search over pure noise believes, and what it is worth, for ever more candidates."""
    rng = np.random.default_rng(0)
    counts = np.array([1, 2, 5, 10, 20, 50, 100, 200, 500])
    n_rows, n_repeats = 60, 400
    rates = rng.binomial(n_rows, 0.5, size=(n_repeats, counts.max())) / n_rows
    believed = np.array([rates[:, :count].max(axis=1) for count in counts])
    ax = new_axes(figsize=(6.4, 4.2))
    low, high = np.quantile(believed, [0.05, 0.95], axis=1)
    ax.fill_between(counts, low, high, color=VERMILION, alpha=0.18, linewidth=0)
    ax.plot(counts, believed.mean(axis=1), color=VERMILION, marker="o", label="what it believes")
    ax.axhline(0.5, color=BLUE, label="what it is worth")
    ax.set_xscale("log")
    ax.set_xticks([1, 10, 100, 500], ["1", "10", "100", "500"])
    ax.minorticks_off()
    ax.set(
        xlabel="candidates tried on the same 60 rows",
        ylabel="accuracy of the best one",
        title="The best of many coins",
        ylim=(0.35, 0.8),
    )
    ax.legend(loc="upper left")
    return ax


def kernel_draws():
    """What functions look like before any data: three base kernels, a sum and a product."""
    from parsimon.kernels import Linear, Periodic, SquaredExponential, sample_prior

    x = np.linspace(0, 10, 240)
    smooth, line = SquaredExponential(0, lengthscale=1.2), Linear(0, centre=5.0, variance=0.03)
    periodic = Periodic(0, period=2.5, lengthscale=0.8)
    shown = {
        "SE: smooth": smooth,
        "PER: repeats": periodic,
        "LIN: straight": line,
        "LIN + PER": line + periodic,
        "SE × PER": SquaredExponential(0, lengthscale=4.0) * periodic,
    }
    with figure_style():
        figure, axes = mpl.pyplot.subplots(
            1, len(shown), figsize=(11, 2.5), sharey=True, layout="constrained"
        )
        figure.supxlabel("one input", fontsize=10, color=GREY)
    for ax, (title, kernel) in zip(axes, shown.items(), strict=True):
        ax.plot(x, sample_prior(kernel, x[:, None], 3, random_state=4).T, linewidth=1.4)
        ax.set_title(title, fontsize=11)
        ax.set_xticks([])
        ax.set_yticks([0], ["0"])
        ax.set_ylim(-3.4, 3.4)
    return axes


def pima_model():
    """Return the bundled Pima data and the model with which He (2016) ends."""
    from parsimon.datasets import load
    from parsimon.gp import GPClassifier
    from parsimon.kernels import SquaredExponential as SE

    data = load("pima_cleaned")
    X = data.data.to_numpy()
    kernel = (SE(0) + SE(2) * SE(3)).start(X)
    return data, GPClassifier(kernel, n_restarts=0).fit(X, data.target)


def one_variable():
    """The posterior along one column, with the band of the latent function."""
    from parsimon.datasets import load
    from parsimon.gp import GPClassifier
    from parsimon.report.figures import ClassRows, posterior_1d

    data = load("pima_cleaned")
    X = data.data[["glucose"]].to_numpy()
    model = GPClassifier("rbf", n_restarts=0).fit(X, data.target)
    points = ClassRows(X, data.target == "yes", names=["glucose"], class_names=["no", "yes"])
    return posterior_1d(latent_of(model), points)


def two_variables():
    """The posterior over two columns beside how sure it is."""
    from parsimon.datasets import load
    from parsimon.gp import GPClassifier
    from parsimon.kernels import SquaredExponential as SE
    from parsimon.report.figures import ClassRows, posterior_2d

    data = load("ripley")
    train = (data.split == "train").to_numpy()
    X, y = data.data.to_numpy()[train], data.target.to_numpy()[train]
    model = GPClassifier((SE(0) * SE(1)).start(X), n_restarts=0).fit(X, y)
    points = ClassRows(X, y == model.classes_[1], names=["x1", "x2"], class_names=["0", "1"])
    return posterior_2d(latent_of(model), points, confidence=True)


def parts_of_a_sum():
    """The exact posterior of each additive part of one model."""
    from parsimon.kernels import plain
    from parsimon.report.figures import ClassRows, DrawnPart, component_panels

    data, model = pima_model()
    names = list(data.data.columns)
    points = ClassRows(
        data.data.to_numpy(), data.target == "yes", names=names, class_names=["no", "yes"]
    )
    parts = [
        DrawnPart(plain(part, names), part.columns, latent_of(model, place))
        for place, part in enumerate(model.kernel_.terms)
    ]
    return component_panels(parts, points)


def latent_of(model, part=None):
    """Return the function that figures ask: rows to mean and variance, of a part or of all."""

    def posterior(rows):
        if part is None:
            mean, deviation = model.latent(rows, return_std=True)
        else:
            _, _, mean, deviation = model.components(rows)[part]
        return mean, deviation**2

    return posterior


def way_of_a_search():
    """What a real search tried on the way to its result."""
    from parsimon.datasets import load
    from parsimon.gp import KernelSearch
    from parsimon.statistician.families.gp._parts import draw_search

    data = load("pima_cleaned")
    search = KernelSearch(depth=3, random_state=0).fit(data.data, data.target)
    return draw_search(search.history_, search.best_candidate_, list(data.data.columns))


if __name__ == "__main__":
    main()
