"""What the last common ancestor and the deepest ancestors had."""

from typing import Any

import numpy as np

from parsimon._typing import Indices
from parsimon.exceptions import ParsimonError
from parsimon.phylo import Tree, ancestral_predictions, ancestral_states
from parsimon.phylo._editing import children_lists
from parsimon.phylo.ancestors import AncestralStates
from parsimon.report.phylogeny.findings import Ancestor, RootFinding
from parsimon.statistician.phylogeny.models import Fitted, interval
from parsimon.statistician.phylogeny.reading import Traits


def reconstruct(traits: Traits, leading: Fitted) -> tuple[AncestralStates, tuple[RootFinding, ...]]:
    """Return the target at every node with Pagel's lambda, and the root by several ways."""
    states = ancestral_states(traits.tree, traits.measured, model="lambda")
    found = [_root("lambda", states)]
    try:
        found.append(_root("brownian", ancestral_states(traits.tree, traits.measured)))
        if leading.pipeline is not None and np.any(leading.regressor.coef_):
            X = traits.X[list(leading.columns)]
            # At the root nothing is left for relatives to say: conditional would be the same.
            line = ancestral_predictions(traits.tree, leading.pipeline, X, prediction="marginal")
            found.append(_root("line", line))
    except ParsimonError:
        # Two tips at one place make Brownian motion impossible, lambda below 1 not.
        return states, tuple(found)
    return states, tuple(found)


def _root(way: Any, states: AncestralStates) -> RootFinding:
    value = interval(states.mean[0, 0], states.lower[0, 0], states.upper[0, 0])
    return RootFinding(way=way, value=value)


def list_ancestors(states: AncestralStates) -> tuple[Ancestor, ...]:
    """Return all inner nodes, the root first."""
    tree = states.tree
    first, last, sizes = _ends(tree)
    return tuple(
        Ancestor(
            node=node,
            name=tree.name[node],
            first=tree.name[first[node]],
            last=tree.name[last[node]],
            n_tips=int(sizes[node]),
            depth=float(tree.depth[node]),
            value=interval(states.mean[node, 0], states.lower[node, 0], states.upper[node, 0]),
        )
        for node in states.nodes.tolist()
    )


def _ends(tree: Tree) -> tuple[Indices, Indices, Indices]:
    """Return for each node the first and the last tip below it, and how many there are."""
    nodes = np.arange(len(tree.parent))
    first, last, sizes = nodes.copy(), nodes.copy(), tree.is_tip.astype(np.intp)
    children = children_lists(tree.parent)
    for node in range(len(nodes) - 1, -1, -1):
        below = children[node]
        if below:
            first[node], last[node] = first[below[0]], last[below[-1]]
            sizes[node] = sum(sizes[child] for child in below)
    return first, last, sizes
