"""Traits of related species: trees, regression and prediction that use them, in linear time.

Read `Tree` and `read_tree` first, then `TreeGaussian`, which replaces algebra with the covariance
matrix of a tree by two walks over it; `PGLS` is least squares on what it whitens, and `PhyRVM`
chooses among many features by their evidence. `CladeKFold` leaves whole clades out: random folds
leak through the tree.
"""

from parsimon.phylo._evolution import Model
from parsimon.phylo.ancestors import ancestral_predictions, ancestral_states
from parsimon.phylo.clades import CladeKFold
from parsimon.phylo.pca import P3CA, PhyloPCA
from parsimon.phylo.pgls import PGLS
from parsimon.phylo.phyrvm import PhyRVM
from parsimon.phylo.plot import plot_tree
from parsimon.phylo.reading import read_tree
from parsimon.phylo.signal import phylogenetic_signal
from parsimon.phylo.simulate import birth_death_tree, brownian_traits, yule_tree
from parsimon.phylo.tree import Tree
from parsimon.phylo.tree_gaussian import TreeGaussian, covariance

__all__ = [
    "P3CA",
    "PGLS",
    "CladeKFold",
    "Model",
    "PhyRVM",
    "PhyloPCA",
    "Tree",
    "TreeGaussian",
    "ancestral_predictions",
    "ancestral_states",
    "birth_death_tree",
    "brownian_traits",
    "covariance",
    "phylogenetic_signal",
    "plot_tree",
    "read_tree",
    "yule_tree",
]
