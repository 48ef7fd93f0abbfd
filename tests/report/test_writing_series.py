"""Every sentence of the page about series that depends on what was found."""

import math
from dataclasses import replace

import pytest

from parsimon.report.findings import ComparedModel, Interval, ModelComparison
from parsimon.report.findings.series_findings import (
    SeriesFeature,
    SeriesFindings,
    SeriesTableFindings,
)
from parsimon.report.findings.shared_findings import FeatureFront, FeatureSize
from parsimon.report.html import to_html
from parsimon.report.markdown import to_markdown
from parsimon.report.sections import summary_lines, write
from tests.report import samples


def model(name, family, error, gap=(0.0, 0.0), *, best=False, log_loss=math.nan):
    return ComparedModel(
        name=name,
        family=family,
        words="what it does",
        error=Interval(estimate=error, low=error / 2, high=2 * error),
        log_loss=log_loss,
        difference=Interval(estimate=sum(gap) / 2, low=gap[0], high=gap[1]),
        variables=1,
        size=10.0,
        size_words="1 variable, 2 numbers",
        seconds=1.0,
        is_best=best,
        is_level=gap[0] <= 0,
        recommended=best,
    )


def compared(own, plain, guess, metric="error"):
    return ModelComparison(models=(own, plain, guess), metric=metric)


GUESS = model("guessing", "guessing", 0.5, (0.3, 0.6))
SIZE = FeatureSize(
    size=1,
    features=("interval(0.25, 0.5) > mean",),
    formula="",
    words="",
    error=0.02,
    standard_error=0.01,
    outside=0.03,
    chosen=True,
    cost=40.0,
)
FINDINGS = SeriesFindings(
    table=SeriesTableFindings(
        name="walks",
        target="kind",
        task="classification",
        n_series=40,
        channels=(),
        shortest=100,
        longest=100,
        classes=(("calm", 20), ("<b>storm</b>", 20)),
        is_long=True,
        columns=(),
        id="walk",
        time="day",
        left_out=("note",),
        n_filled=1,
        n_uneven=2,
        n_without_id=3,
        n_without_target=4,
        n_empty=1,
        n_rare=0,
    ),
    features=(
        SeriesFeature(
            words="the mean from 25 % to 50 % of the series",
            tree="interval(0.25, 0.5) > mean",
            begin=0.25,
            end=0.5,
            medians=(("calm", 1.0), ("<b>storm</b>", 3.0)),
            agreement=0.9,
        ),
    ),
    front=FeatureFront(
        kind="series",
        measure="error",
        sizes=(SIZE,),
        guessing=0.5,
        exact=False,
        n_tried=1000,
        n_rows=40,
        n_columns=100,
    ),
    comparison=compared(
        model("few features", "features", 0.05, best=True),
        model("nearest series", "rival", 0.1, (0.01, 0.09)),
        GUESS,
    ),
    sizes=None,
    n_outer=5,
    unit=math.nan,
    choose="one_se",
    stopped=False,
    run=samples.findings().run,
)


def text(findings):
    return to_markdown(write(findings)).replace("\u202f", " ")


def first(findings):
    return summary_lines(findings)[0].replace("\u202f", " ")


def with_models(own, plain, guess=GUESS, **options):
    return replace(FINDINGS, comparison=compared(own, plain, guess, **options))


def test_the_first_sentence_is_the_answer():
    assert first(FINDINGS) == (
        "One feature of a series separates “calm” from “<b>storm</b>”. It called 5.0 % of new "
        "series wrongly (95 % interval 2.5 to 10.0 %); guessing 50.0 % and the best plain method, "
        "the nearest series, 10.0 %."
    )


@pytest.mark.parametrize(
    ("own", "plain", "said"),
    [
        (
            model("few features", "features", 0.05, best=True),
            model("nearest series", "rival", 0.1, (0.01, 0.09)),
            "The features are better than the nearest series by more than chance",
        ),
        (
            model("few features", "features", 0.05, best=True),
            model("nearest series", "rival", 0.1, (-0.01, 0.09)),
            "Whether the features or the nearest series do better is not shown",
        ),
        (
            model("few features", "features", 0.1, (0.02, 0.08)),
            model("nearest series", "rival", 0.05, best=True),
            "The nearest series is better by more than chance",
        ),
    ],
)
def test_the_features_are_compared_with_the_best_plain_method(own, plain, said):
    assert said in text(with_models(own, plain))


def test_what_does_not_beat_guessing_is_not_claimed():
    own = model("few features", "features", 0.6, (0.1, 0.3))
    plain = model("nearest series", "rival", 0.4, best=True)
    found = with_models(own, plain)
    assert first(found).startswith("No feature was found that surely separates “calm” from")
    assert "may be chance" in text(found)
    level = model("guessing", "guessing", 0.5, (-0.1, 0.3))
    found = with_models(model("few features", "features", 0.4, best=True), plain, level)
    assert "surely" in first(found)


def test_a_method_without_probabilities_is_not_compared_by_them():
    own = model("few features", "features", 0.02, (0.0, 0.1), log_loss=0.1)
    sure = model("nearest series", "rival", 0.0, best=True)
    linear = model("linear model of all values", "rival", 0.03, (0.0, 0.2), log_loss=0.2)
    found = replace(
        FINDINGS, comparison=ModelComparison(models=(sure, own, linear, GUESS), metric="log loss")
    )
    assert "2.0 % (log loss 0.100) of new series" in first(found)
    assert "the best plain method, the linear model of all values, 3.0 %" in first(found)
    assert "better by more than chance" not in text(found)


def test_a_number_is_missed_by_so_much():
    table = replace(FINDINGS.table, task="regression", classes=(), target="growth")
    feature = replace(FINDINGS.features[0], agreement=-0.8, medians=(("low growth", 1.0),))
    front = replace(FINDINGS.front, measure="typical miss", guessing=2.0)
    found = replace(
        with_models(
            model("few features", "features", 0.25, best=True),
            model("plain summaries", "rival", 0.36, (0.05, 0.2)),
            model("guessing", "guessing", 1.0, (0.5, 0.9)),
            metric="variance left",
        ),
        table=table,
        features=(feature,),
        front=front,
        unit=2.0,
    )
    assert first(found) == (
        "One feature of a series predicts growth. It missed new series by 1.00 on average and "
        "so explains 75.0 % of the variance (95 % interval 50.0 to 87.5 %); guessing 2.00 and the "
        "best plain method, the plain summaries, 1.20."
    )
    assert "With it growth falls: rank correlation −0.80." in text(found)


def test_each_feature_says_where_it_looks_and_what_is_typical():
    said = text(FINDINGS)
    assert "It looks at values 26 to 50 of 100." in said
    assert "In 90.0 % of all pairs" in said
    ragged = replace(FINDINGS, table=replace(FINDINGS.table, shortest=80))
    assert "It looks at 25.0 % to 50.0 % of each series." in text(ragged)
    columns = tuple(f"t{k}" for k in range(100))
    wide = replace(FINDINGS, table=replace(FINDINGS.table, is_long=False, columns=columns))
    assert "values 26 to 50 of 100, columns t25 to t49." in text(wide)
    assert "from column t0 to column t99" in text(wide)


def test_what_was_done_to_the_table_is_said():
    said = text(FINDINGS)
    for sentence in (
        "Times are not evenly spaced in 2 series",
        "1 missing value inside of series was taken from the straight line",
        "4 series without a target were left out.",
        "1 series without a value in a channel was left out.",
        "3 rows without walk were left out.",
        "Not part of the series, since it holds no numbers: note.",
        "walk names its series, and values are in the order of day",
    ):
        assert sentence in said


def test_without_folds_nothing_is_claimed_of_new_series():
    found = replace(FINDINGS, comparison=None, n_outer=0)
    assert first(found).endswith("How well it does on new series was not measured.")
    assert "in the search." in first(found)
    front = replace(FINDINGS.front, sizes=(replace(SIZE, error=0.6),))
    assert first(replace(found, front=front)).endswith("not even in the search.")


def test_a_page_escapes_what_came_from_the_table():
    page = to_html(write(FINDINGS), FINDINGS)
    assert "<b>storm" not in page
    assert "&lt;b&gt;storm" in page
