import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from parsimon.exceptions import InvalidInputError
from parsimon.roc import RocDisplay, auc, auc_interval, cheapest_threshold, roc_hull, roc_points
from parsimon.roc.costs import OperatingPoint


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def names(binormal):
    y, scores = binormal
    return np.where(y == 1, "ill", "well"), scores


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_whole_picture(binormal):
    y, scores = binormal
    price = {"cost_fp": 1, "cost_fn": 2, "prevalence": 0.2}
    display = RocDisplay.from_predictions(y, scores, **price, band=True, name="Model")
    points, chosen = roc_points(y, scores), cheapest_threshold(y, scores, **price)
    hull = roc_hull(points.fpr, points.tpr)
    np.testing.assert_array_equal(display.hull_.get_xydata().T, [hull.fpr, hull.tpr])
    np.testing.assert_allclose(display.chosen_.get_xydata(), [[chosen.fpr, chosen.tpr]])
    x, line = display.iso_cost_.get_data()
    assert (line[1] - line[0]) / (x[1] - x[0]) == pytest.approx(0.8 * 1 / (0.2 * 2))
    assert (x[0], line[1]) == pytest.approx((0, 1))
    touching = np.interp(hull.fpr, x, line, left=0, right=1)
    assert (hull.tpr <= touching + 1e-9)[(hull.fpr >= x[0]) & (hull.fpr <= x[1])].all()
    assert labels_of(display) == [
        f"Model\nAUC {auc_interval(y, scores)}",
        "Convex hull",
        "Equal cost",
        "95% band at each point",
        "Chance",
    ]
    words = display.annotation_.get_text()
    assert f"threshold {chosen.threshold:.3g}" in words
    assert f"TPR {chosen.tpr:.2f}, FPR {chosen.fpr:.2f}" in words
    assert f"expected cost {chosen.cost:.3g}" in words
    assert display.ax_.get_aspect() == 1
    assert display.figure_ is display.ax_.figure


def test_the_drawn_curve_is_the_curve_without_its_straight_runs(binormal):
    display = RocDisplay.from_predictions(*binormal)
    fpr, tpr = display.line_.get_data()
    points = roc_points(*binormal)
    assert len(fpr) < 0.7 * len(points.fpr)
    assert np.trapezoid(tpr, fpr) == pytest.approx(auc(*binormal))


def test_parts_can_be_left_out(binormal):
    display = RocDisplay.from_predictions(*binormal, hull=False, chance=False)
    parts = (display.hull_, display.chance_, display.iso_cost_, display.band_, display.annotation_)
    assert parts == (None,) * 5
    quiet = RocDisplay.from_predictions(*binormal, cost_fp=2, annotate=False)
    assert quiet.annotation_ is None
    assert quiet.chosen_ is not None


def test_a_second_curve_shares_the_axes_and_the_legend(binormal):
    y, scores = binormal
    first = RocDisplay.from_predictions(y, scores, name="A")
    second = RocDisplay.from_predictions(y, -scores, name="B", ax=first.ax_, color="#CC79A7")
    assert second.ax_ is first.ax_
    assert to_hex(second.line_.get_color()) == "#cc79a7"
    shown = labels_of(second)
    assert [label.split("\n")[0] for label in shown] == ["A", "Convex hull", "Chance", "B"]
    again = first.plot(name="C")
    assert again.ax_ is not second.ax_
    assert labels_of(again)[0].startswith("C\n")


def test_sentences_say_what_to_do(names):
    y, scores = names
    price = {"pos_label": "ill", "cost_fn": 3}
    chosen = cheapest_threshold(y, scores, **price)
    display = RocDisplay.from_predictions(y, scores, **price)
    assert display.sentence() == (
        f'Call "ill" what scores above {chosen.threshold:.3g}: this finds {chosen.tpr:.0%} of '
        f"them, with a false alarm for {chosen.fpr:.0%} of the others; "
        f"expected cost {chosen.cost:.3g}."
    )
    assert display.ax_.get_ylabel() == 'True positive rate of "ill"'
    never = RocDisplay.from_predictions([0, 1, 0], [1, 2, 3], cost_fp=9, prevalence=0.01)
    assert never.sentence().startswith("Call nothing positive")
    assert "call nothing positive" in never.annotation_.get_text()
    always = RocDisplay.from_predictions([1, 0, 1], [1, 2, 3], cost_fn=9, prevalence=0.99)
    assert always.sentence().startswith("Call everything positive")


@pytest.mark.parametrize(
    ("price", "ends"),
    [
        ({"cost_fn": 0}, lambda c: [[c.fpr, 0], [c.fpr, 1]]),
        ({"cost_fp": 0}, lambda c: [[0, c.tpr], [1, c.tpr]]),
    ],
)
def test_free_errors_make_the_line_upright_or_level(binormal, price, ends):
    display = RocDisplay.from_predictions(*binormal, **price)
    np.testing.assert_allclose(display.iso_cost_.get_xydata(), ends(display.chosen))


def test_a_point_of_one_s_own_choice_may_lie_below_the_hull(binormal):
    own = OperatingPoint(threshold=0.5, fpr=0.5, tpr=0.4, cost=1.1, row=0)
    display = RocDisplay(roc_points(*binormal), chosen=own, slope=2.0).plot()
    np.testing.assert_allclose(display.iso_cost_.get_xydata(), [[0.3, 0.0], [0.8, 1.0]], atol=1e-12)


def test_weighted_rows_show_an_area_without_interval(binormal, rng):
    y, scores = binormal
    weight = rng.random(len(y))
    display = RocDisplay.from_predictions(y, scores, sample_weight=weight)
    assert labels_of(display)[0] == f"AUC {auc(y, scores, sample_weight=weight):.3f}"
    with pytest.raises(InvalidInputError, match="band cannot be drawn for weighted rows"):
        RocDisplay.from_predictions(y, scores, sample_weight=weight, band=True)


def test_confidence_reaches_the_legend(binormal):
    display = RocDisplay.from_predictions(*binormal, confidence=0.8, band=True)
    assert f"AUC {auc_interval(*binormal, confidence=0.8)}" in labels_of(display)
    assert "80% band at each point" in labels_of(display)


@pytest.mark.parametrize("label", [None, "ill", "well"])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
def test_estimators_with_either_kind_of_score(names, model, label):
    y, scores = names
    X = scores[:, None]
    display = RocDisplay.from_estimator(model.fit(X, y), X, y, pos_label=label)
    # A good model ranks whichever class is called positive above the other.
    assert display.auc == pytest.approx(auc(y, scores, pos_label="ill"))
    assert display.pos_label == ("well" if label is None else label)
    assert labels_of(display)[0].startswith(type(model).__name__)


def test_unknown_labels_and_missing_choices_are_named(names):
    y, scores = names
    model = LogisticRegression().fit(scores[:, None], y)
    with pytest.raises(InvalidInputError, match="'dead' one of them; it knows"):
        RocDisplay.from_estimator(model, scores[:, None], y, pos_label="dead")
    with pytest.raises(InvalidInputError, match="No point was chosen"):
        RocDisplay.from_predictions(y, scores).sentence()


def test_a_display_can_be_built_from_points_alone(binormal):
    display = RocDisplay(roc_points(*binormal)).plot()
    assert labels_of(display)[0] == "ROC curve"
