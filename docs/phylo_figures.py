"""The pictures of phylogenetic models; `make_figures.py` saves them.

All but that of folds are of real species, whose tables and trees are in the folder that
PARSIMON_DATA names.
"""

import matplotlib.pyplot as plt
import numpy as np

from parsimon._style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    figure_style,
)
from parsimon.datasets import load
from parsimon.phylo import (
    P3CA,
    PGLS,
    CladeKFold,
    PhyRVM,
    ancestral_states,
    brownian_traits,
    plot_tree,
    read_tree,
    yule_tree,
)
from parsimon.phylo.plot import draw_tinted

# fmt: off
AMINO_ACIDS = [
    "Ala", "Cys", "Asp", "Glu", "Phe", "Gly", "His", "Ile", "Lys", "Leu",
    "Met", "Asn", "Pro", "Gln", "Arg", "Ser", "Thr", "Val", "Trp", "Tyr",
]
# fmt: on
FOLD_COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE)
# Anoles to name beside the smallest: giants of three lineages, and one that many know.
NAMED = ("equestris", "ricordii", "garmani", "sagrei")
# Pieces of a branch, so that its colour changes along it.
PIECES = 8


def species(name):
    """Return a table of species, named by their tips, and their tree."""
    given = load(name)
    return given.frame.set_index(given.tips), read_tree(given.tree_path)


def archaea():
    """Return standardised amino-acid fractions, growth temperatures and the tree of archaea."""
    table, tree = species("archaea_ogt_aa")
    X = table[AMINO_ACIDS]
    return (X - X.mean()) / X.std(), table["target"], tree


def ancestors():
    """Body size of anoles along their tree, and against time with what is known of ancestors."""
    table, tree = species("phylo_anole")
    # From natural logarithms of millimetres to decimal ones, for the axis.
    states = ancestral_states(tree, table[["SVL"]] / np.log(10.0))
    tree = tree.scale()
    with figure_style():
        figure, axes = plt.subplots(1, 2, figsize=(11, 6), layout="constrained")
    plot_tree(tree, node_values=states.mean[:, 0], names=True, ax=axes[0])
    # The axis of the other panel is the scale of the colours.
    figure.axes[-1].remove()
    shown = {table["SVL"].idxmin(), *NAMED}
    for text in list(axes[0].texts):
        if text.get_text() in shown:
            text.set(text=f"A. {text.get_text()}", fontstyle="italic", fontsize=10)
        else:
            text.remove()
    axes[0].set(xlabel="time since the root", xticks=[])
    axes[0].set_title("Body length of 82 anoles, and of their ancestors")
    draw_against_time(axes[1], tree, states)
    return axes


def draw_against_time(ax, tree, states):
    """Draw each lineage by its size, with the interval of ancestors on the way to one tip."""
    size = states.mean[:, 0]
    ends = np.stack([tree.depth, size], axis=1)
    share = np.linspace(0.0, 1.0, PIECES + 1)[None, :, None]
    points = (1.0 - share) * ends[tree.parent[1:], None] + share * ends[1:, None]
    pieces = np.stack([points[:, :-1], points[:, 1:]], axis=2).reshape(-1, 2, 2)
    draw_tinted(ax, pieces, pieces[:, :, 1].mean(axis=1), linewidth=1.6)
    node = int(tree.tips[np.argmax(size[tree.tips])])
    while node >= 0:
        ends = states.lower[node, 0], states.upper[node, 0]
        ax.plot([tree.depth[node]] * 2, ends, color=GREY, linewidth=2.4, alpha=0.75, zorder=1)
        node = int(tree.parent[node])
    ax.set_title("Size against time; bars hold 95 %")
    ax.set(xlabel="time since the root", ylabel="body length in mm", xticks=[], xlim=(-0.03, 1.02))
    marks = [40, 60, 80, 100, 150, 200]
    ax.set_yticks(np.log10(marks), [str(mark) for mark in marks])
    ax.autoscale_view(scalex=False)


def strength_of_the_tree():
    """What archaea say about lambda: a profile of least squares, a posterior of PhyRVM."""
    X, y, tree = archaea()
    # Fractions sum to one, so that least squares has to leave one out.
    profile = PGLS(tree).fit(X.drop(columns="Ala"), y).profile(n_points=81)
    posterior = PhyRVM(tree).fit(X, y).lambda_posterior(n_points=48)
    with figure_style():
        _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    profile.plot(axes[0])
    axes[0].set_ylim(profile.maximum - 14, profile.maximum + 1)
    axes[0].set_title(
        "PGLS: profile of the likelihood\n{:.2f}, 95 % from {:.2f} to {:.2f}".format(
            profile.estimate, *profile.interval
        )
    )
    posterior.plot(axes[1])
    axes[1].set_title(
        "PhyRVM: posterior\nmode {:.2f}, 95 % from {:.2f} to {:.2f}".format(
            posterior.mode, *posterior.interval
        )
    )
    for ax in axes:
        ax.set(xlim=(0, 1), xlabel="λ: how much of the tree is in the residuals")
    return axes


def components_with_and_without():
    """Two components of amino-acid composition, relatives ignored and relatives counted."""
    X, y, tree = archaea()
    with figure_style():
        figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
    titles = ("λ = 0: relatives ignored", "λ = 1: relatives counted")
    for ax, share, title in zip(axes, (0.0, 1.0), titles, strict=True):
        P3CA(tree, pagel_lambda=share).fit(X).plot(
            colour=y.rename("growth temperature in °C"), ax=ax
        )
        ax.set_title(title)
    # Both have the same scale of colours.
    figure.axes[2].remove()
    return axes


def relevant_amino_acids():
    """Weights of the amino acids that PhyRVM keeps, beside correlations with the temperature."""
    X, y, tree = archaea()
    model = PhyRVM(tree).fit(X, y)
    order = np.argsort(-model.relevance_, kind="stable")
    sd = np.zeros(len(order))
    ranking = model.ranking().to_frame()
    sd[[AMINO_ACIDS.index(name) for name in ranking.index]] = ranking["sd"]
    with figure_style():
        _, axes = plt.subplots(1, 2, figsize=(10, 5.6), sharey=True, layout="constrained")
    rows, kept = np.arange(len(order)), model.relevance_[order] > 0
    for ax in axes:
        ax.axvline(0.0, color=GREY, linewidth=1.0)
        ax.grid(axis="x", visible=False)
    axes[0].barh(rows, model.relevance_[order], height=0.62, color=BLUE, alpha=0.28)
    axes[0].barh(rows, -model.relevance_[order], height=0.62, color=BLUE, alpha=0.28)
    axes[0].errorbar(
        model.coef_[order][kept],
        rows[kept],
        xerr=1.96 * sd[order][kept],
        fmt="o",
        color=BLUE,
        linewidth=2,
    )
    for row in rows[~kept]:
        axes[0].text(0.5, row, "not in the model", color=GREY, va="center", fontsize=9)
    axes[0].set_yticks(rows, [AMINO_ACIDS[j] for j in order])
    axes[0].invert_yaxis()
    axes[0].set_xlabel("weight in °C for one standard deviation")
    axes[0].set_title("What matters, given all others and the tree")
    correlation = X.corrwith(y).to_numpy()[order]
    colours = [BLUE if inside else VERMILION for inside in kept]
    axes[1].barh(rows, correlation, height=0.62, color=colours)
    axes[1].set(xlim=(-1, 1), xlabel="correlation with growth temperature")
    axes[1].set_title("What goes together, looked at alone")
    return axes


def random_and_clade_folds():
    """Which tips are left out together, and what a regression then seems to be worth."""
    from sklearn.model_selection import KFold, cross_val_score

    tree = yule_tree(60, random_state=11)
    traits = brownian_traits(tree, 2, random_state=12)
    X, y = traits[["trait1"]], traits["trait2"]
    splitters = {
        "Random folds": KFold(5, shuffle=True, random_state=0),
        "Whole clades": CladeKFold(tree, 5),
    }
    with figure_style():
        _, axes = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained")
    for ax, (title, splitter) in zip(axes, splitters.items(), strict=True):
        plot_tree(tree, names=True, ax=ax)
        place = {text.get_text(): text.xy for text in ax.texts}
        for text in list(ax.texts):
            text.remove()
        for colour, (_, test) in zip(FOLD_COLOURS, splitter.split(X), strict=True):
            points = np.array([place[name] for name in X.index[test]])
            ax.scatter(*points.T, s=52, color=colour, zorder=3, linewidths=0, clip_on=False)
        errors = -cross_val_score(
            PGLS(tree), X, y, cv=splitter, scoring="neg_root_mean_squared_error"
        )
        ax.set_title(f"{title}: error {errors.mean():.2f}")
        ax.set(xlabel="", xticks=[])
        ax.spines["bottom"].set_visible(False)
    return axes
