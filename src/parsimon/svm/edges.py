"""From classification to clustering: what the sides of a three-sided front stand for.

A transductive front trades margin, training loss and test loss. Leaving objectives out of account
leads to its edges and corners, each of which is a problem with a name of its own (Mierswa 2009,
section 5.4):

=====================  ========================================================================
objectives             what remains
=====================  ========================================================================
margin                 a hyperplane beside the data: no row has a say
train                  a fit to the labelled rows at any price: overfitting
test                   some labelling of the unlabelled rows, any that the class ratio allows
margin, train          the path of the ordinary support vector machine along C
margin, test           maximum-margin clustering: labels do not matter
train, test            a fit to labels and clusters at any price: overfitting
margin, train, test    the whole transductive front
=====================  ========================================================================

If no row is unlabelled, test loss is zero everywhere and the front is that of margin and training
loss. If no row has a label, training loss is zero and the front is that of clustering.
"""

from collections.abc import Sequence

from parsimon._validation import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front
from parsimon.svm.transduction.objectives import DUAL_NAMES, PRIMAL_NAMES

_WORDS = ("margin", "train", "test")
_READINGS = {
    ("margin",): "a hyperplane beside the data",
    ("train",): "a fit to the labelled rows at any price",
    ("test",): "some labelling of the unlabelled rows",
    ("margin", "train"): "the path of the ordinary support vector machine",
    ("margin", "test"): "maximum-margin clustering",
    ("train", "test"): "a fit to labels and clusters at any price",
    ("margin", "train", "test"): "the transductive front",
}


def edge(front: Front, pair: Sequence[str]) -> Front:
    """Return the part of a transductive front that remains if only some objectives count.

    Parameters
    ----------
    front : Front
        Of `ParetoTransductiveSVC`.
    pair : sequence of str
        Of "margin", "train" and "test"; usually two, one is a corner. The table above says what
        each stands for, and `edge_reading` returns that as text.

    Returns
    -------
    Front
        In these objectives, with the same solutions; ``rows`` lead back to them.

    References
    ----------
    Mierswa (2009), dissertation, TU Dortmund, section 5.4.

    Examples
    --------
    >>> values = [[1.0, 0.0, 0.5], [0.5, 1.0, 0.2], [0.4, 2.0, 0.2], [0.6, 2.0, 0.1]]
    >>> front = Front(values, ["margin_term", "train_loss", "test_loss"])
    >>> edge(front, ["margin", "test"])
    Front: 2 solutions, margin_term down, test_loss down
    """
    names = PRIMAL_NAMES if PRIMAL_NAMES[0] in front.names else DUAL_NAMES
    if not set(names) <= set(front.names):
        raise InvalidInputError(
            "An edge is part of a front of ParetoTransductiveSVC, with margin, training loss and "
            f"test loss; this one has {', '.join(front.names)}."
        )
    return front.project([names[_WORDS.index(word)] for word in _words(pair)])


def edge_reading(pair: Sequence[str]) -> str:
    """Return what an edge of a transductive front stands for."""
    return _READINGS[_words(pair)]


def _words(pair: Sequence[str]) -> tuple[str, ...]:
    given = [pair] if isinstance(pair, str) else list(pair)
    unknown = [word for word in given if word not in _WORDS]
    if unknown or not given or len(set(given)) < len(given):
        raise InvalidInputError(
            "An edge is named by one to three of margin, train and test, each once; "
            f"got {shorten(given) or 'none'}."
        )
    return tuple(word for word in _WORDS if word in given)
