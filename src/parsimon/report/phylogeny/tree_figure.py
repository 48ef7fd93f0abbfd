"""The tree with a trait as colour, small enough for a page."""

from typing import TYPE_CHECKING

from parsimon._style import figure_style, new_axes
from parsimon.phylo import plot_tree
from parsimon.phylo.ancestors import AncestralStates
from parsimon.report.figures import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Tips whose names can still be read.
_MOST_NAMES = 80
_UNNAMED_SIZE = (7.2, 8.0)


def draw_ancestors(states: AncestralStates, target: str) -> "Axes":
    """Draw the tree; colours go from the reconstructed ancestors to the species."""
    tree = states.tree
    named = tree.n_tips <= _MOST_NAMES
    with figure_style():
        # With names plot_tree knows how tall it must be.
        room = None if named else new_axes(figsize=_UNNAMED_SIZE)
    axes = plot_tree(
        tree, node_values=states.mean[:, 0], names=named, label=label(target, 32), ax=room
    )
    for text in axes.texts:
        # Names of tips are names, whatever signs are in them.
        text.set_parse_math(False)
        text.set_text(label(text.get_text(), 40).replace(r"\$", "$"))
    unnamed = "" if named else " Their names are left out."
    axes.set_label(
        f"The tree of {tree.n_tips:,} species. Colour: {label(target, 40)}, as measured at the "
        f"tips and reconstructed along the branches with Pagel's lambda.{unnamed}"
    )
    return axes
