"""More than two classes, and the sentences for the terminal."""

import math
from dataclasses import replace

import pytest

from parsimon.report.sections import summary_lines, write
from tests.report import reading, samples

THIN = "\u202f"


def text(found, anchor: str = "summary") -> str:
    return reading.text(found, anchor).replace(THIN, " ")


def joint(**changes):
    found = samples.three_classes()
    return replace(found, joint=replace(found.joint, **changes))


def lines(found) -> list[str]:
    return [line.replace(THIN, " ") for line in summary_lines(found)]


def test_all_classes_together():
    assert text(samples.three_classes()).split("\n") == [
        "On rows that were new to the searches, the most probable of three classes was wrong in "
        "4.0 % of cases (95 % interval 1.0 to 7.0 %). Calling every row by the commonest class is "
        "wrong in 66.7 %. In all, 6 of 150 rows got the wrong class. The commonest slip was to "
        "call “versicolor” “virginica”, 3 times.",
        "The following three sections ask for one class each against all others; Table 2 puts "
        "their answers side by side.",
    ]


def test_left_out_rows_are_called_optimistic():
    said = text(joint(source="leave-one-out"))
    assert said.startswith("With each row left out in turn, the most probable")
    assert "This is a little optimistic, since the structures were chosen with all rows." in said


def test_slips():
    assert "No class was taken for another." in text(
        joint(confusion=((50, 0, 0), (0, 50, 0), (0, 0, 50)))
    )
    assert "call “setosa” “virginica”, once." in text(
        joint(confusion=((49, 0, 1), (0, 50, 0), (0, 0, 50)))
    )


def test_no_joint_error():
    found = replace(samples.three_classes(), joint=None)
    found = reading.with_run(found, skipped=("outer folds",))
    assert text(found).startswith(
        "No honest error was measured, because the outer folds were skipped."
    )


def test_confusion_and_overview():
    tables = reading.tables(write(samples.three_classes()))
    assert reading.rows(tables["table-joint"])[1] == ["versicolor", "0", "47", "3"]
    row = reading.rows(tables["table-classes"])[0]
    assert row[:4] == ["setosa", "249", f"23.34{THIN}%", f"34.39{THIN}%"]


def test_overview_without_structure_or_honest_error():
    found = samples.three_classes()
    study = replace(found.studies[0], honest=None, structure_found=False, components=())
    tables = reading.tables(write(replace(found, studies=(study, *found.studies[1:]))))
    row = reading.rows(tables["table-classes"])[0]
    assert row[2:] == ["–", f"34.39{THIN}%", "none found"]


def test_the_golden_lines():
    assert lines(samples.findings()) == [
        "pima: 724 of 768 rows, 4 variables, target diabetes: “not diabetic” 475, “diabetic” 249.",
        "Best structure: plasma glucose alone, plus an interaction of pedigree and age.",
        "On rows that it had never seen, the whole search misclassified 23.3 % (95 % interval 20.7 "
        "to 25.9 %). The search itself believed 22.4 %; that number guided the search, so it is "
        "too good to be quoted.",
        "The baseline, which calls every row “not diabetic”, misclassified 34.4 %.",
        "The gain over the baseline is 11.1 percentage points; the 95 % interval of the gain, 8.1 "
        "to 14.1, does not include zero.",
        "Error of single variables on the search's own folds: plasma glucose 25.0 %, body mass "
        "index 33.7 %, pedigree 34.1 % (1 more in the report).",
        "The knee of the front, after which a term buys less, is at one term (plasma glucose "
        "alone, 25.0 %). The two further terms of the best structure lower the error by 2.6 "
        "percentage points more.",
        "The probabilities are neither too bold nor too timid (calibration slope 0.94, where 1 is "
        "right).",
        "All 5 folds used plasma glucose, pedigree and age.",
    ]


def test_lines_without_an_honest_error():
    found = lines(samples.fast())
    assert found[2:4] == [
        "No honest error was measured; the search's own 22.4 % is optimistic.",
        "The baseline, a constant, has an error of 34.4 %.",
    ]
    assert found[-1] == "Left out to save time: outer folds, interactions."


def test_lines_without_structure():
    found = reading.with_study(samples.no_structure(), honest=None)
    assert lines(found)[1:3] == [
        "No structure was found: none of 72 kernels beats a constant by more than chance.",
        "No honest error was measured.",
    ]


def test_lines_of_a_number():
    found = lines(samples.regression())
    assert found[0] == "pima: 724 of 768 rows, 4 variables, target progression."
    assert found[7].startswith("The 95 % intervals of the predictions hold 94.7 %")
    study = samples.regression().studies[0]
    unknown = reading.with_study(samples.regression(), checks=replace(study.checks, coverage=None))
    assert len(lines(unknown)) == len(found) - 1


def test_lines_of_a_whole_table():
    found = reading.with_table(samples.findings(), n_rows=724)
    assert lines(found)[0].startswith("pima: 724 rows, 4 variables")


def test_lines_leave_out_what_was_not_measured():
    found = samples.fast()
    study = found.studies[0]
    blind = replace(study.baseline, error=math.nan)
    variables = tuple(
        replace(one, model=replace(one.model, error=math.nan)) for one in study.variables
    )
    found = reading.with_study(found, baseline=blind, variables=variables)
    said = " ".join(lines(found))
    assert "The baseline" not in said
    assert "single variables" not in said


def test_lines_of_several_classes():
    assert lines(samples.three_classes())[1:4] == [
        "On rows that were new to the searches, the most probable of three classes was wrong in "
        "4.0 % of cases (95 % interval 1.0 to 7.0 %).",
        "Calling every row by the commonest class is wrong in 66.7 %.",
        "“setosa” against all others: plasma glucose alone, plus an interaction of pedigree and "
        "age, honest error 23.3 %.",
    ]


@pytest.mark.parametrize("n", [5, 12])
def test_lines_of_many_classes(n):
    found = samples.three_classes()
    studies = tuple(
        replace(found.studies[0], positive=f"c{k}", honest=None, structure_found=False)
        for k in range(n)
    )
    classes = tuple((f"c{k}", 10) for k in range(n))
    found = replace(found, studies=studies, joint=None)
    said = lines(reading.with_table(found, classes=classes))
    assert said[0].endswith("“c0” 10, “c1” 10, “c2” 10, “c3” 10, ….")
    assert said[1] == "No honest error was measured for all classes together."
    assert said[2] == "“c0” against all others: no structure found."
    further = "1 further class" if n == 5 else "8 further classes"
    assert said[-1] == f"The report has {further}."
