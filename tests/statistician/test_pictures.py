import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest

from parsimon.kernels import Constant, Linear
from parsimon.report.findings import KernelSearchFindings, Study
from parsimon.statistician.families.gp._parts import (
    MOST_CHILDREN,
    component_findings,
    draw_search,
    interaction_findings,
    search_nodes,
    variable_findings,
)
from parsimon.statistician.measure import front_models
from parsimon.statistician.study import data_picture, searched_model, study_figures
from tests.statistician.questions import asked, result_of, table, variables_of

HOSTILE = "<script>$x$</script>"


def study_of(subject):
    front, knee, chosen, by_variables = front_models(subject)
    classes = subject.question.task == "classification"
    return Study(
        task=subject.question.task,
        positive=subject.question.positive,
        negative=subject.question.negative,
        n_positive=int(np.sum(subject.question.y == 1)) if classes else 0,
        n_negative=int(np.sum(subject.question.y == 0)) if classes else 0,
        structure_found=subject.search.structure_found_,
        model=front[chosen],
        baseline=front[0],
        front=front,
        knee=knee,
        chosen=chosen,
        front_variables=by_variables,
        variables=variable_findings(subject, variables_of(subject)),
        components=component_findings(subject),
        interactions=interaction_findings(subject),
        search=KernelSearchFindings(
            n_candidates=len(subject.search.history_),
            n_cross_validated=1,
            depth=2,
            beam=2,
            base=("se",),
            guide="cv_error",
            n_folds=3,
            stopped_by="depth",
            inference="ep",
            n_rows=len(subject.question.y),
        ),
    )


def rows(n_rows=80):
    rng = np.random.default_rng(0)
    X = table(
        {
            HOSTILE: rng.normal(size=n_rows),
            "smoker": rng.integers(0, 2, n_rows),
            "age": rng.normal(size=n_rows),
        }
    )
    f = 2.5 * X[HOSTILE] * (2 * X["smoker"] - 1) + 0.2 * rng.normal(size=n_rows)
    return X, f.to_numpy()


@pytest.fixture(scope="module")
def classes():
    X, f = rows()
    subject = result_of(X, f > 0, depth=2)
    return asked(subject, positive="<b>ill</b> $y$")


@pytest.fixture(scope="module")
def numbers():
    X, f = rows(60)
    subject = result_of(X, 100 + 10 * f + 15 * X[HOSTILE], depth=2)
    return asked(subject, target=HOSTILE)


@pytest.fixture(scope="module")
def drawn_classes(classes):
    return study_figures(classes, study_of(classes))


@pytest.fixture(scope="module")
def drawn_numbers(numbers):
    return study_figures(numbers, study_of(numbers))


def named(study):
    """Return all names of pictures in a study, in any order, without empty ones."""
    found = [study.front_picture, study.search.picture]
    return sorted(name for name in found if name)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_every_picture_is_named_once_and_is_small(kind, request):
    study, pictures = request.getfixturevalue(f"drawn_{kind}")
    assert study.interactions
    assert named(study) == sorted(one.name for one in pictures)
    assert len(set(named(study))) == len(pictures)
    for one in pictures:
        assert re.fullmatch(r"outcome-[a-z]+(-\d+)?", one.name)
        assert one.svg.startswith("<svg")
        assert len(one.svg) < 60_000
        assert "<script" not in one.svg
        root = ElementTree.fromstring(one.svg)
        assert root[0].text == one.title
        assert one.caption.endswith(".")


def test_nothing_but_names_of_pictures_changes(classes, drawn_classes):
    before, (after, _) = study_of(classes), drawn_classes
    blank = replace(
        after,
        front_picture="",
        search=replace(after.search, picture=""),
    )
    assert blank == before


def test_checks_of_a_search_and_its_rows_are_drawn(classes, numbers):
    for subject in (classes, numbers):
        checks, explained, pictures = searched_model(subject, (), None)
        names = {one.name for one in pictures}
        assert checks.calibration_picture in names
        assert (checks.roc_picture in names) == (subject is classes)
        assert {one.picture for one in explained} < names
        assert checks.source == "leave-one-out"


def test_a_study_without_structure_has_pictures_of_what_was_tried():
    rng = np.random.default_rng(5)
    X = table({"noise": rng.normal(size=40), "more": rng.normal(size=40)})
    subject = result_of(X, np.arange(40) % 2, depth=1)
    assert not subject.search.structure_found_
    plt.close("all")
    study, pictures = study_figures(subject, study_of(subject))
    assert plt.get_fignums() == []
    assert study.components == ()
    assert {"outcome-search", "outcome-front"} <= {p.name for p in pictures}


def test_one_of_several_questions_draws_what_it_says_and_no_more(classes):
    several = replace(classes, question=replace(classes.question, n_questions=3))
    study, pictures = study_figures(several, study_of(several))
    assert not pictures
    assert study.search.picture == ""


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_table_is_drawn_by_its_number_of_columns(n_columns, task):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(700, n_columns))
    y = X[:, 0] if task == "regression" else rng.integers(0, 3, 700)
    names = [f"{HOSTILE} {k}" for k in range(n_columns)]
    picture = data_picture(X, y, names, ["a", "b", "c"], task)
    if n_columns > 3:
        assert picture is None
        return
    assert picture.name == "data"
    assert len(picture.svg) < 70_000
    assert ("Halves" in picture.caption) == (task == "regression")
    assert re.search(r"\d+ of 700 rows are drawn", picture.caption)
    assert plt.get_fignums() == []


def test_the_tree_follows_parents_to_the_result(classes):
    history, best = classes.search.history_, classes.search.best_candidate_
    nodes = search_nodes(history, best, ["a", "b", "c"])
    (result,) = (place for place, node in enumerate(nodes) if node.best)
    way = [result]
    while nodes[way[-1]].parent is not None:
        way.append(nodes[way[-1]].parent)
    assert way[-1] == 0
    assert all(nodes[place].on_path for place in way)
    assert sum(node.on_path for node in nodes) == len(way)
    assert nodes[result].label == "a × b"
    assert nodes[result].error == best.error
    for parent in way:
        children = [node for node in nodes if node.parent == parent]
        assert len(children) <= MOST_CHILDREN + 1
        known = [node.error for node in children if node.error is not None]
        assert known == sorted(known)


def test_kernels_other_than_smooth_ones_keep_their_kind(classes):
    history = classes.search.history_
    own = history.best_by_column[0]
    first = replace(own, kernel=Constant() + Linear(0))
    others = [one for one in history.levels[0] if one is not own]
    mixed = replace(history, levels=((first, *others),), path=(first,))
    labels = [node.label for node in search_nodes(mixed, first, ["SE(a)", "b", "c"])]
    assert "C + LIN(SE(a))" in labels
    assert "SE(b)" in labels


def test_long_kernels_are_numbered_and_explained(classes):
    names = ["a very long name of a variable", "another very long name", "short"]
    history, best = classes.search.history_, classes.search.best_candidate_
    ax = draw_search(history, best, names)
    assert any(text.get_text().startswith("x1 × x2") for text in ax.texts)
    assert "x1: a very long name of a variable; x2: another very long name" in ax.get_label()
    plt.close("all")
