"""The executive summary: structure, honest error, trade-off and ranking."""

import math
from dataclasses import replace

import pytest

from parsimon.report.document import KeyFigures, Strong
from parsimon.report.markdown import to_markdown
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
        "What tells “diabetic” from “not diabetic”? These rows show beyond doubt, each with its "
        "probability:",
        "plasma glucose matters (more than 99.9 %), and diabetes follows plasma glucose in a curve "
        "(98.2 %).",
        "age matters (99.1 %).",
        "Suggestions, more probable than not, but not certain:",
        "pedigree matters (87.2 %).",
        "pedigree and age interact (64.1 %).",
        "The structure that this report describes is plasma glucose alone, plus an interaction of "
        "pedigree and age, written plasma glucose alone, plus an interaction of pedigree and age. "
        "It uses three of the four variables. It was chosen to hold what is more probable than "
        "not.",
        "On rows that it had never seen, the whole search misclassified 23.3 % (95 % interval "
        "20.7 to 25.9 %). The search itself believed 22.4 %; that number guided the search, so it "
        "is too good to be quoted. The baseline, which calls every row “not diabetic”, "
        "misclassified 34.4 %. The gain over the baseline is 11.1 percentage points; the 95 % "
        "interval of the gain, 8.1 to 14.1, does not include zero. Of two new rows, one of "
        "“diabetic” and one of “not diabetic”, the first gets the higher probability of "
        "“diabetic” in 83.4 % of cases (AUC 0.834, 95 % interval 0.803 to 0.865).",
        "The report goes on with a verdict on each variable (section 2), the parts of the "
        "structure (section 3) and how far to trust it (section 5).",
        "The error of a structure is the share of rows that it misclassifies; that of the "
        "baseline, a constant, is 34.4 %. The best of each size bring it down: one term to 25.0 %, "
        "two terms to 23.9 % and three terms to 22.4 %. Counted by variables: one variable 25.0 %, "
        "two variables 23.9 % and three variables 22.4 %. The knee of the front, after which a "
        "term buys less, is at one term (plasma glucose alone, 25.0 %). The two further terms of "
        "the chosen structure lower the error by 2.6 percentage points more. These errors come "
        "from the folds that the search used itself (Table 1): compare them with each other, not "
        "with errors on new rows.",
        "Table 2 ranks the variables: first by the probability that they matter beside the others, "
        "then by the error of the best model that sees no other variable. Alone, plasma glucose "
        "has the least error with 25.0 %, one of three below the baseline (34.4 %).",
    ]


def test_key_figures_of_classes():
    assert key_figures(samples.findings()) == [
        ("23.3 %", "honest error", "20.7 to 25.9 %, on rows never seen"),
        ("34.4 %", "baseline", "a constant, on the same rows"),
        ("0.834", "AUC", "0.803 to 0.865, on rows never seen"),
        ("3 of 4", "variables used", "by the structure"),
    ]


def test_key_figures_of_a_number():
    assert key_figures(samples.regression()) == [
        ("23.3 %", "of the variance left unexplained", "20.7 to 25.9 %, on rows never seen"),
        ("34.4 %", "baseline", "a constant, on the same rows"),
        ("54.1", "typical miss", "root mean square, unit of progression"),
        ("3 of 4", "variables used", "by the structure"),
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
        ("0 of 4", "variables used", "a constant does as well"),
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


def test_no_claim_says_what_was_tried_and_what_would_help():
    text = summary(samples.no_structure())
    assert text.startswith(
        "These rows do not show that any column predicts diabetes. The search tried 72 kernels on "
        "all 724 rows, and what they say about diabetes is no more than chance among so many "
        "trials explains. This does not prove that there is nothing. More rows would help most; "
        "further columns, a deeper search (--depth) or other base kernels (--base se,lin,per) may "
        "help too."
    )
    assert "believed" not in text
    assert "No structure that was cross-validated is better." in text


def test_nothing_on_the_page_is_stronger_than_no_claim():
    found = honest(samples.no_structure(), gain=interval(0.0, 0.0))
    page = to_markdown(write(found))
    assert "evidence" not in page.split("## 6")[0].replace("evidence is on all 724 rows", "")
    assert "beyond doubt" not in page.split("Methods")[0]
    assert "There is no gain over the baseline." in summary(found)
    assert "three below the baseline (34.4 %), which is no more than chance can bring" in (
        summary(found)
    )


def test_only_certain_claims_are_set_strong():
    document = write(reading.with_study(samples.findings(), claims=samples.claims()[3:]))
    assert "These rows show nothing beyond doubt." in to_markdown(document)
    strong = {
        part.text
        for paragraph in reading.paragraphs(tuple(reading.blocks(document)))
        for part in paragraph.parts
        if isinstance(part, Strong)
    }
    assert strong == {"What was done to the table.", "Suggestions"}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("one_se", "asked for as the simplest within one standard error of the least cross-valid"),
        ("least-error", "It was asked for as that of the least cross-validated error, and"),
    ],
)
def test_which_rule_chose(rule, said):
    found = reading.chosen_by(samples.findings(), rule)
    assert said in summary(found)
    assert "is not a claim in itself." in summary(found)


def test_a_structure_with_more_or_less_than_is_claimed():
    found = reading.with_study(samples.findings(), claims=samples.claims()[:1])
    assert "It also uses pedigree and age, which these rows do not show to matter." in summary(
        found
    )
    other = samples.claim("variable", ("body mass index",), 0.7, "body mass index matters")
    found = reading.with_study(samples.findings(), claims=(*samples.claims(), other))
    assert "It does without body mass index." in summary(found)


def test_nothing_is_wholly_certain():
    sure = replace(samples.claims()[0], probability=1.0)
    found = reading.with_study(samples.findings(), claims=(sure,))
    assert "plasma glucose matters (more than 99.9 %)." in summary(found)


def test_a_front_of_chance_is_called_so():
    found = reading.with_study(samples.findings(), claims=())
    assert "22.4 %. These rows do not show that this is more than chance." in summary(found)


def test_a_rare_class_leads_with_figures_that_suit_it():
    assert key_figures(samples.rare()) == [
        ("0.834", "AUC", "0.803 to 0.865, on rows never seen"),
        ("12.0 %", "average precision", "4.0 to 20.0 %; guessing has 2.0 %"),
        ("26.0 %", "balanced error", "16.0 to 36.0 %; guessing has 50 %"),
        ("70.0 %", "of “diabetic” found", "45.0 to 95.0 %; 5.8 % of calls are right"),
    ]
    assert summary(samples.rare()).split("\n")[3:5] == [
        "“diabetic” is rare (10 of 510 rows, 2.0 %): calling every row “not diabetic” is wrong in "
        "2.0 % only, so that the share of wrong answers says little here. On rows that it had "
        "never seen, the whole search called rows “diabetic” from a probability of 2.0 % on, their "
        "share among all: the balanced error, in which both classes weigh the same, is 26.0 % "
        "(95 % interval 16.0 to 36.0 %), and guessing has 50 %. It found 70.0 % of the rows of "
        "“diabetic” (recall, 95 % interval 45.0 to 95.0 %); of the 120 rows that it called so, "
        "5.8 % are “diabetic” (precision, 95 % interval 2.8 to 8.8 %).",
        "Of two new rows, one of “diabetic” and one of “not diabetic”, the first gets the higher "
        "probability of “diabetic” in 83.4 % of cases (AUC 0.834, 95 % interval 0.803 to 0.865). "
        "Over all thresholds the precision is 12.0 % on average (average precision, 95 % interval "
        "4.0 to 20.0 %); guessing has 2.0 %. The probabilities are better than a constant (log "
        "loss 0.081 against 0.097 for the baseline; 95 % interval of the gain 0.007 to 0.025). "
        "From a probability of one half on, no row is called “diabetic”, and 2.0 % of all are "
        "wrong.",
    ]
    assert "With so rare a class this says little; the log loss says more." in summary(
        samples.rare()
    )


@pytest.mark.parametrize(
    ("gain", "claims", "said"),
    [
        (
            interval(0.01, 0.02),
            1,
            "The rows show beyond doubt that plasma glucose matters, but do not prove that this "
            "gives better probabilities than a constant on new rows (log loss",
        ),
        (interval(0.01, 0.02), 0, "The probabilities are not proved to be better (log loss"),
        (interval(-0.03, 0.02), 0, "The probabilities are worse than a constant (log loss"),
        (
            interval(0.03, 0.02),
            0,
            "for the baseline; 95 % interval of the gain 0.010 to 0.050). Which column it is",
        ),
    ],
)
def test_the_log_loss_of_a_rare_class_is_in_step_with_the_claims(gain, claims, said):
    found = honest(samples.rare(), log_loss_gain=gain)
    found = reading.with_study(found, claims=samples.claims()[:claims])
    assert said in summary(found)


def test_a_rare_rest():
    """If the class asked for is the common one, what is found of it is no feat."""
    found = reading.with_study(samples.rare(), n_positive=500, n_negative=10)
    assert "“not diabetic” is rare (10 of 510 rows, 2.0 %): calling every row “diabetic”" in (
        summary(found)
    )
    assert "recall" not in summary(found)
    assert len(key_figures(found)) == 3


def test_a_rare_class_that_was_measured_by_its_error_only():
    found = honest(samples.rare(), at_base_rate=None)
    assert key_figures(found)[0][1] == "honest error"


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
        (
            interval(0.05, 0.04),
            "does not include zero. Which column it is owed to is not shown.",
        ),
    ],
)
def test_whether_the_gain_is_sure(gain, said):
    found = reading.with_study(samples.findings(), claims=())
    assert said in summary(honest(found, gain=gain))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "The rows show beyond doubt that plasma glucose and age matter, but do not prove that "
            "this gives fewer wrong answers: the gain over the baseline is 5.0 percentage points; "
            "the 95 % interval of the gain, −1.0 to 11.0, includes zero. The probabilities are "
            "better all the same: log loss 0.479 against 0.644 for the baseline.",
        ),
        (
            {"log_loss_gain": interval(0.01, 0.02)},
            "Nor are better probabilities proved: log loss 0.479 against 0.644 for the baseline.",
        ),
        ({"log_loss": NAN}, "11.0, includes zero. Of two new rows"),
    ],
)
def test_claims_and_a_gain_that_is_not_sure_are_one_sentence(changes, said):
    assert said in summary(honest(samples.findings(), gain=interval(0.05, 0.06), **changes))


def test_a_gain_that_several_columns_could_bring():
    """Petal length and width both tell setosa: either may do, so neither is certain."""
    found = reading.with_study(samples.findings(), claims=samples.claims()[3:])
    assert "does not include zero. Which column it is owed to is not certain." in summary(found)
    found = reading.with_study(samples.rare(), claims=samples.claims()[3:])
    assert "Which column it is owed to is not certain." in summary(found)


def test_claims_and_the_error_of_a_number():
    found = honest(samples.regression(), gain=interval(0.05, 0.06))
    assert "do not prove that this gives a smaller error: the gain" in summary(found)


def test_intervals_of_errors_stay_between_nothing_and_all():
    found = honest(samples.findings(), error=interval(0.03, 0.05))
    assert "misclassified 3.0 % (95 % interval 0.0 to 8.0 %)" in summary(found)


def test_the_baseline_calls_the_larger_class():
    found = reading.with_study(samples.findings(), n_positive=475, n_negative=249)
    assert "The baseline, which calls every row “diabetic”," in summary(found)
    several = reading.text(samples.three_classes(), "study-1-summary")
    assert "The baseline, which calls every row “other”," in several
    assert "What tells “setosa” from the other classes?" in several


def test_a_number_is_said_in_its_own_words():
    text = summary(samples.regression())
    assert text.startswith("What predicts progression? These rows show beyond doubt")
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
            "The knee of the front, after which a term buys less, is the chosen structure itself, "
            "with three terms (plasma glucose alone, plus an interaction of pedigree and age, "
            "22.4 %).",
        ),
        (0, 3, "The knee of the front is the baseline: no term buys much for its size."),
        (
            2,
            3,
            "The one further term of the chosen structure lowers the error by 1.5 percentage "
            "points more.",
        ),
        (
            2,
            1,
            "The knee of the front lies beyond the chosen structure, at two terms; that what lies "
            "between matters is not shown.",
        ),
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


def test_a_chosen_structure_that_is_not_the_best_of_its_size():
    found = samples.findings()
    one, two, three, four = found.studies[0].front
    chosen = replace(four, error=0.26, expression="chosen")
    found = reading.with_study(found, front=(one, two, three, chosen), model=chosen)
    assert (
        "bring it down: one term to 25.0 % and two terms to 23.9 %. The chosen structure, with "
        "three terms, has 26.0 %." in summary(found)
    )
    assert "The two further terms of the chosen structure lower it no further" in summary(found)


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
    assert [row[5] for row in reading.rows(table)] == ["0.688", "0.500", "0.478", "0.448"]
    assert [row[7] for row in reading.rows(table)] == ["–", "knee", "–", "chosen"]
    assert table.emphasised == (0,)
    assert table.note == "72 kernels were tried, 24 of them cross-validated."


def test_a_number_has_no_log_loss():
    table = reading.tables(write(samples.regression()))["table-front"]
    assert "Log loss" not in [one.title for one in table.headings]


def test_knee_and_chosen_may_be_one_row():
    found = reading.with_study(samples.findings(), knee=3)
    table = reading.tables(write(found))["table-front"]
    assert reading.rows(table)[3][7] == "knee, chosen"


def test_one_kernel_is_singular():
    found = samples.findings()
    search = replace(found.studies[0].search, n_candidates=1, n_cross_validated=1)
    table = reading.tables(write(reading.with_study(found, search=search)))["table-front"]
    assert table.note == "1 kernel was tried, 1 of them cross-validated."


def test_a_front_of_one_has_no_table():
    assert "table-front" not in reading.tables(write(samples.no_structure()))


def test_variables_are_ranked_by_what_is_claimed():
    table = reading.tables(write(samples.findings()))["table-variables"]
    rows = reading.rows(table)
    assert [row[1] for row in rows] == [
        "plasma glucose",
        "age",
        "pedigree",
        "body mass index",
        "Baseline",
    ]
    assert rows[0] == [
        *("1", "plasma glucose", f"> 99.9{THIN}%", "44", "199", "121.9", "30.7", "smooth"),
        *("440.40", f"25.00{THIN}%", "87.4"),
    ]
    assert [row[2] for row in rows[1:]] == [f"99.1{THIN}%", f"87.2{THIN}%", "–", "–"]
    assert rows[1][10] == "−0.7"
    assert table.emphasised == (4,)
    strong = [[cell.text for cell in row if cell.strong] for row in table.rows]
    assert strong == [
        [f"> 99.9{THIN}%", "440.40", f"25.00{THIN}%"],
        [f"99.1{THIN}%"],
        [],
        [],
        [],
    ]
    assert [cell.order for cell in table.rows[0]][-2:] == [0.25, 87.4]


def test_what_is_not_claimed_is_ranked_by_error_with_the_baseline_between():
    found = reading.with_study(samples.findings(), claims=())
    table = reading.tables(write(found))["table-variables"]
    assert [row[1] for row in reading.rows(table)] == [
        "plasma glucose",
        "body mass index",
        "pedigree",
        "Baseline",
        "age",
    ]


def test_equal_errors_are_ranked_by_evidence():
    found = samples.findings()
    variables = found.studies[0].variables
    close = tuple(
        replace(
            one, model=replace(one.model, error=0.30001 - k * 1e-6, negative_log_evidence=9.0 - k)
        )
        for k, one in enumerate(variables)
    )
    found = reading.with_study(found, variables=close, claims=())
    table = reading.tables(write(found))["table-variables"]
    names = [row[1] for row in reading.rows(table)]
    assert names[:4] == ["age", "pedigree", "body mass index", "plasma glucose"]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ((0.25, 0.4, 0.4, 0.4), "the only one below the baseline (34.4 %)."),
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
