"""What is said about each variable alone."""

import math
from dataclasses import replace

import pytest

from parsimon.report.findings import Treatment, Variable
from parsimon.report.sections._scope import Scope
from parsimon.report.sections.table.structure import direction
from tests.report import reading, samples

THIN = "\u202f"


def changed(found, *, variable=None, **fields):
    """Return findings whose first variable is changed."""
    first, *others = found.studies[0].variables
    first = replace(first, variable=variable or first.variable, **fields)
    if variable is not None:
        found = reading.with_table(found, variables=(variable, *found.table.variables[1:]))
    return reading.with_study(found, variables=(first, *others))


def text(found, place: int = 1) -> str:
    return reading.text(found, f"variable-{place}").replace(THIN, " ")


def about(found, place: int | None = None) -> str:
    """Return what is said of the first variable after the verdict, wherever it is ranked."""
    ranks = reading.section(found, "variables").sections
    name = found.studies[0].variables[0].variable.name
    place = place or 1 + [one.title for one in ranks].index(name)
    return text(found, place).split("\n")[1]


def goes(found, **fields) -> str:
    found = changed(found, **fields)
    return " ".join(direction(Scope(findings=found), found.studies[0].variables[0])).replace(
        THIN, " "
    )


def indicator(name: str = "sex = male", column: str = "sex") -> Variable:
    return Variable(
        name=name, column=column, kind="indicator", minimum=0, maximum=1, mean=0.64, deviation=0.48
    )


def date() -> Variable:
    return Variable(
        name="seen", column="seen", kind="date", minimum=0, maximum=364, mean=100, deviation=30
    )


def with_date(found):
    done = Treatment(kind="column_date", column="seen", count=9, value="2021-01-01")
    return reading.with_table(found, treatments=(done,))


def test_the_golden_variables():
    assert text(samples.findings(), 1).split("\n") == [
        "Verdict: plasma glucose matters, beyond doubt (probability more than 99.9 % beside the "
        "other columns). Beyond doubt, diabetes follows plasma glucose in a curve (98.2 %). The "
        "structure uses it.",
        "The values of plasma glucose run from 44 to 199, with mean 121.9 and standard deviation "
        "30.7. Alone it has an error of 25.0 % against 34.4 % for the baseline. The probability of "
        "“diabetic” rises with plasma glucose: over the rows, its average slope is positive with a "
        "posterior probability of 98.0 %. Figure 3 shows the model.",
    ]
    assert text(samples.findings(), 2).split("\n")[0] == (
        "Verdict: age matters, beyond doubt (probability 99.1 % beside the other columns). Alone "
        "it shows little; it matters together with others. The structure uses it, in a product "
        "with pedigree."
    )
    assert text(samples.findings(), 3).split("\n")[0] == (
        "Verdict: a suggestion that pedigree matters (probability 87.2 % beside the other "
        "columns). The structure uses it, in a product with age."
    )
    assert text(samples.findings(), 4).split("\n") == [
        "Verdict: these rows do not show that body mass index matters beside the other columns. "
        "Alone it predicts, but beside plasma glucose, age and pedigree it adds nothing that these "
        "rows show.",
        "The values of body mass index run from 18.2 to 67.1, with mean 32.5 and standard "
        "deviation 6.9. Alone it has an error of 33.7 % against 34.4 % for the baseline. It moves "
        "probabilities, but seldom across one half. The probability of “diabetic” turns with body "
        "mass index: it rises in one part and falls in another, with a posterior probability of "
        "97.0 %. Figure 3 shows the model.",
    ]


def test_the_introduction():
    blocks = reading.section(samples.findings(), "variables").blocks
    said = [reading.plain(one, {}).replace(THIN, " ") for one in blocks]
    assert said == [
        "Each of four variables has one verdict: how probable it is that it matters beside the "
        "other columns. What is said after the verdict, and the picture, are about a model that "
        "sees this variable alone; it may say much alone and nothing new beside others, or the "
        "other way round. The error of that model says how often it is wrong, cross-validated on "
        "the folds of the search.",
        "The baseline knows no variable: it gives every row the same probability of “diabetic”, "
        "which is near its share of 34.4 %. Its error is 34.4 %.",
    ]


def test_the_introduction_for_a_number():
    said = reading.text(samples.regression(), "variables")
    assert "says what share of the variance it leaves unexplained," in said
    assert "it predicts the same number for every row" in said
    assert "one half" not in said


def test_a_baseline_worse_than_nothing_is_explained():
    found = samples.regression()
    worse = replace(found.studies[0].baseline, error=1.021)
    said = reading.text(reading.with_study(found, baseline=worse), "variables").replace(THIN, " ")
    assert (
        "Its error is 102.1 % (above all of it, because that number was found on other rows)."
    ) in said


def test_one_variable():
    found = samples.findings()
    one = reading.with_study(found, variables=found.studies[0].variables[:1])
    assert "The only variable has a verdict, and a model of its own." in reading.text(
        one, "variables"
    )


def test_twelve_variables_are_described_in_full():
    found = samples.findings()
    first = found.studies[0].variables[0]
    many = tuple(
        replace(
            first,
            variable=replace(first.variable, name=f"x{k:02}"),
            model=replace(first.model, error=0.2 + k / 1000),
        )
        for k in range(15)
    )
    section = reading.section(reading.with_study(found, variables=many), "variables")
    assert [one.title for one in section.sections] == [f"x{k:02}" for k in range(12)]
    assert (
        "The 12 that come first are described here; the others stand in Table 2 only."
    ) in reading.text(reading.with_study(found, variables=many), "variables")
    few = reading.with_study(found, variables=many[:12])
    assert "are described here" not in reading.text(few, "variables")


def claimed(found, *claims):
    """Return findings with other claims."""
    return reading.with_study(found, claims=claims)


NOISE = (3.6, "strong evidence"), (5.9, "very strong"), (60.0, "Alone it predicts")


@pytest.mark.parametrize(("log_bayes_factor", "never"), NOISE)
@pytest.mark.parametrize("kind", [samples.findings, samples.regression, samples.no_structure])
def test_what_is_not_claimed_never_gets_evidence(log_bayes_factor, never, kind):
    """Alone a noise column of 1,500 rows had a log Bayes factor of 3.6."""
    found = claimed(changed(kind(), log_bayes_factor=log_bayes_factor, band="strong"))
    said = reading.text(found, "variables")
    assert "these rows do not show that plasma glucose matters beside the other columns." in said
    assert "evidence" not in said
    assert never not in said
    assert "rises with plasma glucose" not in said


def test_a_probability_below_one_half_is_no_suggestion():
    found = claimed(
        samples.findings(),
        samples.claim("variable", ("plasma glucose",), 0.31, "plasma glucose matters"),
    )
    assert text(found).startswith(
        "Verdict: these rows do not show that plasma glucose matters (probability 31.0 % beside "
        "the other columns)."
    )
    assert "a suggestion" not in reading.text(found, "variables")


def test_the_only_column_has_no_others_beside_it():
    found = samples.findings()
    one = reading.with_study(found, variables=found.studies[0].variables[:1])
    one = reading.with_table(one, variables=one.table.variables[:1])
    assert "(probability more than 99.9 %). Beyond doubt" in text(one)
    assert "do not show that plasma glucose matters." in text(claimed(one))


def test_an_indicator_has_the_verdict_of_its_column():
    found = changed(samples.findings(), variable=indicator())
    found = claimed(found, samples.claim("variable", ("sex",), 0.998, "sex matters"))
    assert "Verdict: sex matters, beyond doubt (probability 99.8 %" in text(found)


def test_a_shape_that_is_claimed_silences_what_the_variable_says_alone():
    found = changed(samples.findings(), shape="linear", slope=1.0)
    assert "straight line" not in text(found)
    line = replace(samples.claims()[2], shape="linear", certain=False, words="y follows a line")
    found = claimed(found, samples.claims()[0], line)
    assert "It is a suggestion, not certain, that y follows a line (98.2 %)." in text(found)
    assert "straight line" in text(found)


def test_a_turn_that_a_claim_refutes_leaves_the_way_it_goes():
    line = replace(samples.claims()[2], shape="linear")
    found = claimed(samples.findings(), samples.claims()[0], line)
    said = text(changed(found, shape="turning", rising=0.97, falling=0.0))
    assert "rises with plasma glucose" in said
    assert "falls with plasma glucose" in text(
        changed(found, shape="turning", falling=0.99, rising=0)
    )
    said = text(changed(found, shape="turning", rising=0.6, falling=0.4))
    assert "turns" not in said
    assert "rises" not in said


def test_the_same_error_as_the_baseline():
    found = samples.findings()
    same = replace(found.studies[0].variables[0].model, error=0.3439)
    found = reading.with_study(
        found,
        variables=(replace(found.studies[0].variables[0], model=same, ratio=1.0, band="none"),),
    )
    assert "Alone it has the same error as the baseline, 34.4 %. It moves" in text(found)


def test_an_error_that_was_not_measured():
    found = samples.findings()
    first = found.studies[0].variables[0]
    blind = replace(first, model=replace(first.model, error=math.nan), ratio=math.nan, band="none")
    said = text(reading.with_study(found, variables=(blind,)))
    assert "Alone it was not cross-validated." in said
    assert "It moves" not in said
    perfect = replace(found.studies[0].baseline, error=0.0)
    said = text(reading.with_study(found, baseline=perfect, variables=(first,)))
    assert "Alone it has an error of 25.0 % against 0 % for the baseline." in said


def test_a_number_has_no_half_to_cross():
    assert "one half" not in text(changed(samples.regression(), band="little"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"shape": "rising", "judged_between": (67.25, 175.75)},
            "The probability of “diabetic” rises with plasma glucose: over the rows, its average "
            "slope is positive with a posterior probability of 98.0 %.",
        ),
        (
            {"shape": "falling", "rising": 0.04, "falling": 0.96},
            "The probability of “diabetic” falls with plasma glucose: over the rows, its average "
            "slope is negative with a posterior probability of 96.0 %.",
        ),
        (
            {"shape": "periodic", "period": 12.5},
            "The probability of “diabetic” repeats along plasma glucose, with a period of 12.5.",
        ),
        (
            {"shape": "periodic"},
            "The probability of “diabetic” repeats along plasma glucose.",
        ),
        (
            {"shape": "linear", "slope": 0.034, "rising": 0.9999},
            "A straight line describes plasma glucose at least as well as a curve: the latent "
            "score rises by 0.034 for each unit of it, and the probability that it rises at all "
            "is more than 99.9 %.",
        ),
        (
            {"shape": "linear", "slope": -0.5, "falling": 0.97},
            "A straight line describes plasma glucose at least as well as a curve: the latent "
            "score falls by 0.5 for each unit of it, and the probability that it falls at all is "
            "97.0 %.",
        ),
        (
            {"shape": "linear"},
            "A straight line describes plasma glucose at least as well as a curve.",
        ),
        (
            {"shape": "turning", "rising": 0.6, "turning": 0.98, "judged_between": (1, 2)},
            "The probability of “diabetic” turns with plasma glucose: it rises in one part and "
            "falls in another, between 1 and 2, with a posterior probability of 98.0 %.",
        ),
        (
            {"shape": "turning", "rising": 0.01, "falling": 0.99, "turning": 0.9999},
            "The probability of “diabetic” turns with plasma glucose: it rises in one part and "
            "falls in another, with a posterior probability of more than 99.9 %. On average over "
            "the rows it falls, with a probability of 99.0 %.",
        ),
        ({"shape": "flat"}, "A constant fits as well, so that no direction is claimed."),
        (
            {"shape": "unclear", "rising": 0.6, "falling": 0.4},
            "Whether the probability of “diabetic” rises or falls with plasma glucose is not "
            "clear: the posterior probability that its average slope over the rows is positive is "
            "60.0 %.",
        ),
    ],
)
def test_shapes(fields, said):
    assert goes(samples.findings(), **fields) == said


def test_shapes_of_a_number():
    assert goes(samples.regression(), shape="rising") == (
        "The expected progression rises with plasma glucose: over the rows, its average slope is "
        "positive with a posterior probability of 98.0 %."
    )
    assert "curve: the expected progression rises by 0.94 for each unit of it" in goes(
        samples.regression(), shape="linear", slope=0.94
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"shape": "rising", "rising": 0.97},
            "“diabetic” is more probable in rows with sex = male, with a posterior probability of "
            "97.0 %.",
        ),
        (
            {"shape": "falling", "rising": 0.04, "falling": 0.96},
            "“diabetic” is less probable in rows with sex = male, with a posterior probability of "
            "96.0 %.",
        ),
        (
            {"shape": "unclear", "rising": 0.7, "falling": 0.3},
            "Whether “diabetic” is more or less probable in rows with sex = male is not clear: the "
            "posterior probability that it is more probable is 70.0 %.",
        ),
        (
            {"shape": "flat"},
            "Whether a row is one of the rows with sex = male makes no visible difference.",
        ),
    ],
)
def test_indicators(fields, said):
    assert goes(samples.findings(), variable=indicator(), **fields) == said


def test_indicators_of_a_number():
    assert goes(samples.regression(), variable=indicator(), rising=0.97) == (
        "The expected progression is higher in rows with sex = male, with a posterior probability "
        "of 97.0 %."
    )


def test_the_range_of_an_indicator_is_a_share():
    found = changed(samples.findings(), variable=indicator())
    assert about(found).startswith("Rows with sex = male are 64.0 % of all.")


@pytest.mark.parametrize(
    ("variable", "treatment", "said"),
    [
        (indicator("age is missing", "age"), None, "Rows where age is missing are"),
        (indicator("smoker", "smoker"), None, "Rows with smoker = 1 are"),
        (indicator("smoker", "smoker"), "oui", "Rows with smoker = oui are"),
    ],
)
def test_what_an_indicator_says(variable, treatment, said):
    done = Treatment(kind="column_boolean", column="smoker", count=2, value=treatment or "")
    found = reading.with_table(samples.findings(), treatments=(done,))
    assert about(changed(found, variable=variable)).startswith(said)


def test_the_table_knows_best_what_a_variable_is():
    """A finding may call an indicator a number; the description of the table decides."""
    found = changed(with_date(samples.findings()), variable=date(), judged_between=(10, 20))
    plain = replace(date(), kind="number")
    found = reading.with_study(
        found, variables=(replace(found.studies[0].variables[0], variable=plain),)
    )
    assert about(found, 1).startswith("The dates of seen run from 2021-01-01 to 2021-12-31")


def test_dates_are_said_as_dates():
    found = changed(with_date(samples.findings()), variable=date(), judged_between=(10, 20))
    assert about(found).startswith(
        "The dates of seen run from 2021-01-01 to 2021-12-31, with mean 2021-04-11 and a standard "
        "deviation of 30 days."
    )
    turning = changed(found, shape="turning", turning=0.99)
    assert "another, between 2021-01-11 and 2021-01-21, with" in about(turning)
    assert "a period of 7 days." in goes(
        with_date(samples.findings()), variable=date(), shape="periodic", period=7.0
    )
    assert "for each day, and" in goes(
        with_date(samples.findings()), variable=date(), shape="linear", slope=1.0
    )


@pytest.mark.parametrize("treatments", [(), ("no date",)])
def test_dates_without_a_first_day_are_numbers(treatments):
    done = tuple(Treatment(kind="column_date", column="seen", value=one) for one in treatments)
    found = reading.with_table(samples.findings(), treatments=done)
    assert about(changed(found, variable=date())).startswith("The dates of seen run from 0 to 364")


def test_use_in_the_structure():
    found = samples.findings()
    unused = changed(found, in_model=False)
    assert "The structure does not use it." in text(unused)
    assert "structure" not in text(claimed(unused))
    lowest = reading.chosen_by(claimed(found), "least-error")
    assert "The structure uses it all the same." in text(lowest)
    assert "The structure" not in text(samples.no_structure())


def test_a_picture_that_is_missing_is_not_spoken_of():
    found = replace(samples.findings(), pictures=())
    assert "Figure" not in text(found)
