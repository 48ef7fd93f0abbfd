import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest

from parsimon.kernels import Constant, Linear
from parsimon.report.figures import ClassRows
from parsimon.report.findings import KernelSearchFindings, Study
from parsimon.report.row_findings import CategoryFinding, Interval, LevelFinding
from parsimon.statistician.families.gp._kernel_figures import (
    MOST_CHILDREN,
    KernelView,
    draw_search,
    line_in_band,
    search_nodes,
)
from parsimon.statistician.families.gp._parts import component_findings, interaction_findings
from parsimon.statistician.families.gp._variables import variable_findings
from parsimon.statistician.measure import check_findings, front_models
from parsimon.statistician.study import data_picture, study_figures
from tests.statistician.questions import asked, result_of, table

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
        variables=variable_findings(subject),
        components=component_findings(subject),
        interactions=interaction_findings(subject),
        honest=None,
        checks=check_findings(subject),
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
    # Neither variable says anything alone, so that the search needs patience.
    subject = result_of(X, f > 0, depth=2, patience=2)
    return asked(subject, positive="<b>ill</b> $y$")


@pytest.fixture(scope="module")
def numbers():
    X, f = rows(60)
    subject = result_of(X, 100 + 10 * f + 15 * X[HOSTILE], depth=2, patience=2)
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
    found += [study.checks.calibration_picture, study.checks.roc_picture]
    found += [one.picture for one in (*study.variables, *study.components, *study.interactions)]
    found += [one.cumulative_picture for one in study.components]
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
    assert bool(study.checks.roc_picture) == (kind == "classes")
    assert all(bool(one.picture) == one.in_model for one in study.variables)


def test_nothing_but_names_of_pictures_changes(classes, drawn_classes):
    before, (after, _) = study_of(classes), drawn_classes
    blank = replace(
        after,
        front_picture="",
        search=replace(after.search, picture=""),
        checks=replace(after.checks, calibration_picture="", roc_picture=""),
        variables=tuple(replace(one, picture="", line="") for one in after.variables),
        interactions=tuple(replace(one, picture="") for one in after.interactions),
        components=tuple(
            replace(one, picture="", cumulative_picture="") for one in after.components
        ),
    )
    assert blank == before


def test_hostile_names_stand_literally_in_titles_and_captions(drawn_classes):
    study, pictures = drawn_classes
    found = {one.name: one for one in pictures}
    variable = next(one for one in study.variables if one.variable.name == HOSTILE)
    picture = found[variable.picture]
    assert HOSTILE in picture.title
    assert HOSTILE in picture.caption
    assert "<b>ill</b> $y$" in picture.caption


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
    # Of what was tried, that which looks best is shown.
    [shown] = [one for one in study.variables if one.picture]
    assert shown.model.error == min(one.model.error for one in study.variables)


def test_dates_say_their_unit_and_searched_rows_are_counted():
    rng = np.random.default_rng(7)
    X = table({"visit": rng.uniform(0, 900, 60), "age": rng.normal(size=60)})
    subject = result_of(X, X["visit"] > 400, depth=1, rows=np.arange(45))
    study = study_of(replace(subject, question=subject.question.at(np.arange(45))))
    dated = tuple(
        replace(one, variable=replace(one.variable, kind="date"))
        if one.variable.name == "visit"
        else one
        for one in study.variables
    )
    study, pictures = study_figures(subject, replace(study, variables=dated))
    captions = {one.name: one.caption for one in pictures}
    assert "visit (days since the first)" in captions[study.variables[0].picture]
    assert "Fitted to the 45 rows of the search." in captions[study.variables[0].picture]


def test_one_of_several_questions_draws_what_it_says_and_no_more(classes):
    several = replace(classes, question=replace(classes.question, n_questions=3))
    study, pictures = study_figures(several, study_of(several))
    assert {one.name.split("-")[1] for one in pictures} == {"variable", "interaction"}
    assert study.search.picture == ""


def test_levels_of_a_category_are_drawn_as_one(classes):
    level = LevelFinding(level=HOSTILE, n_rows=40, value=Interval(estimate=0.2, low=0.1, high=0.4))
    other = replace(level, level="b", value=Interval(estimate=0.7, low=0.6, high=0.8))
    found = CategoryFinding(column="ward", levels=(level, other))
    study, pictures = study_figures(classes, replace(study_of(classes), categories=(found,)))
    [drawn] = [one for one in pictures if one.name == study.categories[0].picture]
    assert drawn.caption.startswith("Share of <b>ill</b> $y$ at each level of ward.")
    texts = [one.text for one in ElementTree.fromstring(drawn.svg).iter() if one.text]
    assert f"{HOSTILE} (40)" in texts


def test_a_function_of_a_number_is_in_its_units(numbers):
    best = numbers.search.best_candidate_
    columns = list(best.columns)
    mean, variance = KernelView(numbers).function(best, columns)(
        numbers.question.X.iloc[:, columns].to_numpy()
    )
    expected, sd = numbers.search.best_estimator_.predict(numbers.question.X, return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-6)
    # A low-rank prior may leave out a millionth of a variance, in squares of the target's unit.
    np.testing.assert_allclose(variance, sd**2, rtol=0, atol=1e-6 * np.var(numbers.question.y))


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


@pytest.mark.parametrize(
    ("curve", "rows"),
    [
        (lambda x: 2 - 3 * x, "all"),
        (lambda x: np.maximum(2 * np.abs(x) - 5.6, 0), "most"),
        (lambda x: 4 * np.sin(2 * x), "few"),
    ],
)
def test_a_line_is_looked_for_within_the_band(curve, rows):
    values = np.linspace(-3, 3, 200)
    points = ClassRows(np.column_stack([values, values > 0]), values > 0)
    found = line_in_band(lambda X: (curve(X[:, 0]), np.full(len(X), 0.01)), points, 0)
    assert found.rows == rows
    if rows != "few":
        off = np.abs(found.heights - curve(found.grid))
        assert off.max() <= 0.2 + 1e-9
        np.testing.assert_allclose(np.diff(found.heights, 2), 0, atol=1e-9)
    if rows == "all":
        # Of a straight curve the line is the curve itself.
        np.testing.assert_allclose(found.heights, curve(found.grid), atol=1e-9)
    assert (found.grid[0] == values[0]) == (rows == "all")
    assert line_in_band(lambda X: (X[:, 0], X[:, 0] ** 2), points, 1) is None
