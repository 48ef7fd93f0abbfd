"""The executive summary: structure, honest error, trade-off and ranking."""

import math
from dataclasses import replace

import pytest

from parsimon.report.document import KeyFigures
from parsimon.report.sections import write
from tests.report import reading, samples
from tests.report.samples import interval

NAN = math.nan
THIN = "\u202f"


def summary(found) -> str:
    return reading.text(found, "summary").replace(THIN, " ")


def key_figures(found) -> list[tuple[str, str, str]]:
    document = write(found)
    [block] = [one for one in document.sections[0].blocks if isinstance(one, KeyFigures)]
    return [
        tuple(part.replace(THIN, " ") for part in (one.value, one.label, one.detail))
        for one in block.items
    ]


def honest(found, **changes):
    return reading.with_study(found, honest=replace(found.studies[0].honest, **changes))


def test_the_golden_summary():
    assert summary(samples.findings()).split("\n") == [
        "The best structure found for telling “diabetic” from “not diabetic” is plasma glucose "
        "alone, plus an interaction of pedigree and age, written plasma glucose alone, plus an "
        "interaction of pedigree and age. It uses three of the four variables.",
        "On rows that it had never seen, the whole search misclassified 23.3 % (95 % interval "
        "20.7 to 25.9 %). The search itself believed 22.4 %; that number guided the search, so it "
        "is too good to be quoted. The baseline, which calls every row “not diabetic”, "
        "misclassified 34.4 %. The gain over the baseline is 11.1 percentage points; the 95 % "
        "interval of the gain, 8.1 to 14.1, does not include zero. Of two new rows, one of "
        "“diabetic” and one of “not diabetic”, the first gets the higher probability of "
        "“diabetic” in 83.4 % of cases (AUC 0.834, 95 % interval 0.803 to 0.865).",
        "The report goes on with each variable alone (section 2), the parts of the structure "
        "(section 3) and how far to trust it (section 5).",
        "The error of a structure is the share of rows that it misclassifies; that of the "
        "baseline, a constant, is 34.4 %. The best of each size bring it down: one term to 25.0 %, "
        "two terms to 23.9 % and three terms to 22.4 %. Counted by variables: one variable 25.0 %, "
        "two variables 23.9 % and three variables 22.4 %. The knee of the front, after which a "
        "term buys less, is at one term (plasma glucose alone, 25.0 %). The two further terms of "
        "the best structure lower the error by 2.6 percentage points more. These errors come from "
        "the folds that the search used itself (Table 1): compare them with each other, not with "
        "errors on new rows.",
        "Table 2 ranks the variables by the error of the best model that sees no other variable. "
        "The variable plasma glucose comes first with 25.0 %, one of three that are below the "
        "baseline (34.4 %).",
    ]


def test_key_figures_of_classes():
    assert key_figures(samples.findings()) == [
        ("23.3 %", "honest error", "20.7 to 25.9 %, on rows never seen"),
        ("34.4 %", "baseline", "a constant, on the same rows"),
        ("0.834", "AUC", "0.803 to 0.865, on rows never seen"),
        ("3 of 4", "variables used", "by the best structure"),
    ]


def test_key_figures_of_a_number():
    assert key_figures(samples.regression()) == [
        ("23.3 %", "of the variance left unexplained", "20.7 to 25.9 %, on rows never seen"),
        ("34.4 %", "baseline", "a constant, on the same rows"),
        ("54.1", "typical miss", "root mean square, unit of progression"),
        ("3 of 4", "variables used", "by the best structure"),
    ]


def test_key_figures_without_an_honest_error():
    assert key_figures(samples.fast())[:3] == [
        ("22.4 %", "optimistic error", "no honest error was measured"),
        ("34.4 %", "baseline", "a constant, on the same rows"),
        ("0.700", "AUC", "0.670 to 0.730, leave-one-out"),
    ]
    number = reading.with_study(samples.regression(), honest=None)
    assert [one[1] for one in key_figures(number)] == [
        "of the variance unexplained (optimistic)",
        "baseline",
        "variables used",
    ]


def test_key_figures_without_structure_or_curve():
    found = reading.with_study(samples.no_structure(), honest=None)
    found = reading.with_study(found, checks=replace(found.studies[0].checks, roc=None))
    assert key_figures(found) == [
        ("34.4 %", "baseline", "a constant, on the same rows"),
        ("0 of 4", "variables used", "no structure was found"),
    ]


def test_no_honest_error_is_said_plainly():
    said = (
        "No honest error was measured, because the outer folds were skipped. The only figure is "
        "the search's own 22.4 %. That number guided the search, so it is optimistic: expect more "
        "errors on new rows. Run it with --outer 5 and without --fast to measure one."
    )
    assert said in summary(samples.fast())


def test_too_few_outer_folds():
    found = reading.with_run(samples.fast(), skipped=())
    assert "because fewer than two outer folds were finished. The only" in summary(found)
    assert "--fast" not in summary(found)


def test_a_number_without_honest_error():
    found = reading.with_study(samples.regression(), honest=None)
    assert "so it is optimistic: expect worse on new rows." in summary(found)


def test_no_structure_says_what_was_tried_and_what_would_help():
    text = summary(samples.no_structure())
    assert text.startswith(
        "No structure was found. The search tried 72 kernels on all 724 rows, and none predicts "
        "diabetes better than a constant by more than chance among so many trials explains. This "
        "does not prove that there is none. More rows would help most; further variables, a "
        "deeper search (--depth) or other base kernels (--base se,lin,per) may help too."
    )
    assert "believed" not in text
    assert "No structure that was cross-validated is better." in text


def test_no_structure_and_no_honest_error():
    text = summary(reading.with_study(samples.no_structure(), honest=None))
    assert "No honest error was measured" in text
    assert "The only figure" not in text


@pytest.mark.parametrize(
    ("used", "all_of_them", "said"),
    [
        (1, 1, "the only variable"),
        (2, 2, "both variables"),
        (4, 4, "all four variables"),
        (1, 4, "one of the four variables"),
        (2, 12, "two of the 12 variables"),
    ],
)
def test_how_many_variables_are_used(used, all_of_them, said):
    found = samples.findings()
    names = tuple(f"x{k}" for k in range(all_of_them))
    first = found.table.variables[0]
    found = reading.with_table(
        found, variables=tuple(replace(first, name=name, column=name) for name in names)
    )
    found = reading.with_study(found, model=replace(found.studies[0].model, variables=names[:used]))
    assert f"It uses {said}." in summary(found)


def test_a_guide_that_is_no_error():
    found = samples.findings()
    found = reading.with_study(found, search=replace(found.studies[0].search, guide="nlml"))
    assert (
        "The search itself believed 22.4 %; that number comes from the rows that the search chose "
        "with, so it is too good to be quoted."
    ) in summary(found)


def test_a_belief_that_is_not_too_good():
    found = honest(samples.findings(), error=interval(0.21, 0.02))
    assert (
        "The search itself believed 22.4 %; that number guided the search, so it is not to be "
        "quoted, even though it is not lower here."
    ) in summary(found)


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (
            interval(0.05, 0.06),
            "The gain over the baseline is 5.0 percentage points; the 95 % interval of the gain, "
            "−1.0 to 11.0, includes zero, so that these rows do not prove a gain.",
        ),
        (
            interval(0.0, 0.02),
            "There is no gain over the baseline; the 95 % interval of the gain, −2.0 to 2.0, "
            "includes zero, so that these rows do not prove a gain.",
        ),
        (
            interval(-0.04, 0.02),
            "There is no gain over the baseline: the error is 4.0 percentage points higher; the "
            "95 % interval of the gain, −6.0 to −2.0, is below zero throughout.",
        ),
        (
            interval(0.075, 1.65),
            "The gain over the baseline is 7.5 percentage points; the 95 % interval of the gain, "
            "−100.0 to 100.0, includes zero, so that these rows do not prove a gain.",
        ),
    ],
)
def test_whether_the_gain_is_sure(gain, said):
    assert said in summary(honest(samples.findings(), gain=gain))


def test_intervals_of_errors_stay_between_nothing_and_all():
    found = honest(samples.findings(), error=interval(0.03, 0.05))
    assert "misclassified 3.0 % (95 % interval 0.0 to 8.0 %)" in summary(found)


def test_the_baseline_calls_the_larger_class():
    found = reading.with_study(samples.findings(), n_positive=475, n_negative=249)
    assert "The baseline, which calls every row “diabetic”," in summary(found)
    several = reading.text(samples.three_classes(), "study-1-summary")
    assert "The baseline, which calls every row “other”," in several
    assert "telling “setosa” from the other classes" in several


def test_a_number_is_said_in_its_own_words():
    text = summary(samples.regression())
    assert "The best structure found for predicting progression is" in text
    assert (
        "the whole search left 23.3 % of the variance of progression unexplained (95 % interval "
        "20.7 to 25.9 %)."
    ) in text
    assert (
        "The baseline, which predicts the mean for every row, left 34.4 % of the variance of "
        "progression unexplained."
    ) in text
    assert "The predictions miss by 54.1 (root mean square, in the unit of progression)." in text
    assert "of the variance of progression that it leaves unexplained; that of" in text


def test_an_honest_result_without_curve_or_miss():
    text = summary(honest(samples.findings(), auc=None))
    assert "AUC" not in text
    assert "miss by" not in text


@pytest.mark.parametrize(
    ("knee", "chosen", "said"),
    [
        (
            3,
            3,
            "The knee of the front, after which a term buys less, is the best structure itself, "
            "with three terms (plasma glucose alone, plus an interaction of pedigree and age, "
            "22.4 %).",
        ),
        (0, 3, "The knee of the front is the baseline: no term buys much for its size."),
        (
            2,
            3,
            "The one further term of the best structure lowers the error by 1.5 percentage points "
            "more.",
        ),
        (2, 1, "The structure described here has one term."),
    ],
)
def test_where_the_knee_is(knee, chosen, said):
    found = samples.findings()
    model = found.studies[0].front[chosen]
    found = reading.with_study(found, knee=knee, chosen=chosen, model=model)
    assert said in summary(found)


def test_structures_that_tie_are_told_once():
    found = samples.findings()
    one, two, three, four = found.studies[0].front
    tied = (one, two, three, replace(three, words="another"), four)
    text = summary(reading.with_study(found, front=tied, front_variables=tied, chosen=4))
    assert (
        "bring it down: one term to 25.0 %, two terms to 23.9 % (two structures tie) and three "
        "terms to 22.4 %. Counted by variables: one variable 25.0 %, two variables 23.9 % (two "
        "structures tie) and three variables 22.4 %." in text
    )


def test_a_knee_without_error_is_not_spoken_of():
    found = samples.findings()
    front = found.studies[0].front
    front = (front[0], replace(front[1], error=NAN), *front[2:])
    text = summary(reading.with_study(found, front=front))
    assert "knee" not in text
    assert "bring it down: two terms to 23.9 % and three terms to 22.4 %." in text


def test_the_front_as_a_table():
    table = reading.tables(write(samples.findings()))["table-front"]
    assert [row[0] for row in reading.rows(table)] == ["0", "1", "2", "3"]
    assert [row[4] for row in reading.rows(table)] == [
        "–",
        f"9.39{THIN}%",
        f"1.10{THIN}%",
        f"1.52{THIN}%",
    ]
    assert [row[6] for row in reading.rows(table)] == ["–", "knee", "–", "best"]
    assert table.emphasised == (0,)
    assert table.note == "72 kernels were tried, 24 of them cross-validated."


def test_knee_and_best_may_be_one_row():
    found = reading.with_study(samples.findings(), knee=3)
    table = reading.tables(write(found))["table-front"]
    assert reading.rows(table)[3][6] == "knee, best"


def test_one_kernel_is_singular():
    found = samples.findings()
    search = replace(found.studies[0].search, n_candidates=1, n_cross_validated=1)
    table = reading.tables(write(reading.with_study(found, search=search)))["table-front"]
    assert table.note == "1 kernel was tried, 1 of them cross-validated."


def test_a_front_of_one_has_no_table():
    assert "table-front" not in reading.tables(write(samples.no_structure()))


def test_variables_are_ranked_with_the_baseline_between_them():
    table = reading.tables(write(samples.findings()))["table-variables"]
    rows = reading.rows(table)
    assert [row[1] for row in rows] == [
        "plasma glucose",
        "body mass index",
        "pedigree",
        "Baseline",
        "age",
    ]
    assert rows[0] == [
        *("1", "plasma glucose", "44", "199", "121.9", "30.7", "smooth", "440.40"),
        *(f"25.00{THIN}%", "87.4"),
    ]
    assert rows[4][9] == "−0.7"
    assert table.emphasised == (3,)
    strong = [[cell.text for cell in row if cell.strong] for row in table.rows]
    assert strong == [["440.40", f"25.00{THIN}%"], [], [], [], []]
    assert [cell.order for cell in table.rows[0]][-2:] == [0.25, 87.4]


def test_equal_errors_are_ranked_by_evidence():
    found = samples.findings()
    variables = found.studies[0].variables
    close = tuple(
        replace(
            one, model=replace(one.model, error=0.30001 - k * 1e-6, negative_log_evidence=9.0 - k)
        )
        for k, one in enumerate(variables)
    )
    table = reading.tables(write(reading.with_study(found, variables=close)))["table-variables"]
    names = [row[1] for row in reading.rows(table)]
    assert names[:4] == ["age", "pedigree", "body mass index", "plasma glucose"]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ((0.25, 0.4, 0.4, 0.4), "the only one that is below the baseline (34.4 %)."),
        ((0.4, 0.4, 0.4, 0.4), "None of them has a lower error alone than the baseline."),
        ((NAN, NAN, NAN, NAN), "Their errors were not all cross-validated."),
    ],
)
def test_who_leads(errors, said):
    found = samples.findings()
    variables = tuple(
        replace(one, model=replace(one.model, error=error))
        for one, error in zip(found.studies[0].variables, errors, strict=True)
    )
    assert said in summary(reading.with_study(found, variables=variables))


def test_a_variable_that_the_table_does_not_list_has_no_number():
    found = reading.with_table(samples.findings(), variables=samples.findings().table.variables[1:])
    table = reading.tables(write(found))["table-variables"]
    assert reading.rows(table)[0][0] == "–"


def test_searched_rows_may_be_a_part():
    found = samples.findings()
    found = reading.with_study(found, search=replace(found.studies[0].search, n_rows=500))
    assert (
        "evidence is on 500 searched rows" in reading.tables(write(found))["table-variables"].note
    )
    unknown = reading.with_study(found, search=replace(found.studies[0].search, n_rows=0))
    assert "on all 724 rows" in reading.tables(write(unknown))["table-variables"].note
