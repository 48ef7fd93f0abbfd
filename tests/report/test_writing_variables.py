"""What is said about each column: verdicts, directions, levels, and the table of all."""

import math
from dataclasses import replace

import pytest

from parsimon.report.document import Bullets
from parsimon.report.findings import Treatment, Variable
from parsimon.report.findings.shared_findings import EffectFinding, LevelFinding
from parsimon.report.sections import write
from parsimon.report.sections.table.scope import Scope
from parsimon.report.sections.table.variables import direction
from tests.report import reading, samples
from tests.report.samples import interval

THIN = "\u202f"


def changed(found, *, variable=None, **fields):
    """Return findings whose first variable is changed."""
    first, *others = found.studies[0].variables
    first = replace(first, variable=variable or first.variable, **fields)
    if variable is not None:
        found = reading.with_table(found, variables=(variable, *found.table.variables[1:]))
    return reading.with_study(found, variables=(first, *others))


def gone(found, **fields):
    """Return findings in which the first column goes another way."""
    first, *others = found.studies[0].effects
    return reading.with_study(found, effects=(replace(first, **fields), *others))


def told(found) -> list[str]:
    """Return what is said of each column that is described."""
    document = write(found)
    blocks = reading.section(found, "variables").blocks
    return [
        reading.plain(item, document.numbers()).replace(THIN, " ")
        for block in blocks
        if isinstance(block, Bullets)
        for item in block.items
    ]


def text(found) -> str:
    return reading.text(found, "variables").replace(THIN, " ")


def goes(found, *, variable=None, **fields) -> str:
    if variable is not None:
        found = changed(found, variable=variable)
        fields["columns"] = (variable.column,)
    found = gone(found, **fields)
    return " ".join(direction(Scope(findings=found), found.studies[0].effects[0])).replace(
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


def claimed(found, *claims):
    """Return findings with other claims."""
    return reading.with_study(found, claims=claims)


def test_the_golden_columns():
    assert told(samples.findings()) == [
        "plasma glucose: the probability of “diabetic” rises with it (98.0 % sure). Beyond doubt: "
        "in a curve (98.2 %).",
        "age: how the probability of “diabetic” goes with it may depend on pedigree. It matters "
        "together with others more than alone.",
        "pedigree: how the probability of “diabetic” goes with it may depend on age.",
    ]


def test_only_columns_of_the_answer_are_described():
    """The others share the table."""
    table = reading.tables(write(samples.findings()))["table-variables"]
    assert "body mass index" not in " ".join(told(samples.findings()))
    assert [row[0] for row in reading.rows(table)] == [
        *("plasma glucose", "age", "pedigree", "body mass index")
    ]
    assert reading.rows(table)[0] == [*("plasma glucose", f"> 99.9{THIN}%", f"25.0{THIN}%")]
    assert [row[1] for row in reading.rows(table)[1:]] == [f"99.1{THIN}%", f"87.2{THIN}%", "–"]
    assert [[cell.text for cell in row if cell.strong] for row in table.rows[1:]] == [
        [f"99.1{THIN}%"],
        [],
        [],
    ]


def test_the_table_of_a_number_says_what_is_explained():
    found = samples.regression()
    first, *others = found.studies[0].variables
    worse = replace(others[0], model=replace(others[0].model, error=1.021))
    found = reading.with_study(found, variables=(first, worse, *others[1:]))
    table = reading.tables(write(found))["table-variables"]
    assert table.headings[2].title == "Explains alone"
    explained = {row[0]: row[2] for row in reading.rows(table)}
    assert explained["plasma glucose"] == f"75.0{THIN}%"
    assert explained["body mass index"] == f"0{THIN}%"


def test_what_is_not_claimed_is_ranked_by_error_then_evidence():
    found = claimed(samples.findings())
    table = reading.tables(write(found))["table-variables"]
    assert [row[0] for row in reading.rows(table)] == list(samples.NAMES)
    close = tuple(
        replace(
            one, model=replace(one.model, error=0.30001 - k * 1e-6, negative_log_evidence=9.0 - k)
        )
        for k, one in enumerate(found.studies[0].variables)
    )
    table = reading.tables(write(reading.with_study(found, variables=close)))["table-variables"]
    assert [row[0] for row in reading.rows(table)] == list(samples.NAMES[::-1])


def test_a_table_of_the_columns_that_were_searched_is_not_called_one_of_all():
    found = samples.findings()
    n = len({one.variable.column for one in found.studies[0].variables})

    def caption(n_columns):
        page = write(reading.with_table(found, n_columns=n_columns))
        return reading.tables(page)["table-variables"].caption

    assert caption(n + 1) == "All columns, the surest first."
    assert caption(n + 3) == "The columns that the search used, the surest first."


def test_a_wide_table_is_cut():
    found = samples.findings()
    first = found.studies[0].variables[0]
    names = [f"x{k:02}" for k in range(40)]
    many = tuple(
        replace(first, variable=replace(first.variable, name=name, column=name)) for name in names
    )
    found = reading.with_table(found, variables=tuple(one.variable for one in many))
    table = reading.tables(write(reading.with_study(found, variables=many)))["table-variables"]
    assert len(table.rows) == 30
    assert table.note == "10 further columns left out."


def category(found, is_number: bool = False):
    """Return findings whose first column is a category of three levels."""
    names = ("ward = north", "ward = south", "ward = west")
    first, *others = found.studies[0].variables
    levels = [replace(first, variable=indicator(name, "ward")) for name in names]
    values = (12.0, 151.0, 80.0) if is_number else (0.2, 0.61, 0.4)
    made = EffectFinding(
        columns=("ward",),
        levels=tuple(
            LevelFinding(level=name.split(" = ")[1], n_rows=100 + k, value=interval(value, 0.1))
            for k, (name, value) in enumerate(zip(names, values, strict=True))
        ),
        picture="study-1-roc",
    )
    table = tuple(one.variable for one in (*levels, *others))
    found = reading.with_table(found, variables=table)
    return reading.with_study(
        found,
        variables=(*levels, *others),
        model=replace(found.studies[0].model, variables=names[:2]),
        effects=(made,),
        claims=(samples.claim("variable", ("ward",), 0.998, "ward matters"),),
    )


def test_a_category_is_one_column_with_its_levels():
    found = category(samples.findings())
    assert told(found) == [
        "ward: share of “diabetic” (rows): 61.0 % for south (101), 40.0 % for west (102) and "
        "20.0 % for north (100)."
    ]
    table = reading.tables(write(found))["table-variables"]
    assert reading.rows(table)[0] == ["ward", f"99.8{THIN}%", f"25.0{THIN}%"]
    assert sum(row[0].startswith("ward") for row in reading.rows(table)) == 1
    number = told(category(samples.regression(), is_number=True))
    assert "mean progression (rows): 151 for south (101), 80.0 for west (102) and" in number[0]


def test_a_rise_on_average_whose_picture_turns_is_said_to_turn():
    first, *others = samples.findings().studies[0].effects
    for turning, words in (
        (0.4, "rises with it (98.0 % sure)."),
        (0.768, "rises with it on average (98.0 % sure); it probably turns (76.8 %)."),
    ):
        found = reading.with_study(
            samples.findings(), effects=(replace(first, turning=turning), *others)
        )
        assert words in told(found)[0]


NOISE = (3.6, "strong evidence"), (5.9, "very strong"), (60.0, "Alone it predicts")


@pytest.mark.parametrize(("log_bayes_factor", "never"), NOISE)
@pytest.mark.parametrize("kind", [samples.findings, samples.regression, samples.no_structure])
def test_what_is_not_claimed_never_gets_evidence(log_bayes_factor, never, kind):
    """Alone a noise column of 1,500 rows had a log Bayes factor of 3.6."""
    found = claimed(changed(kind(), log_bayes_factor=log_bayes_factor, band="strong"))
    said = text(found)
    if found.studies[0].structure_found:
        assert "These rows do not show that plasma glucose matters beside the others." in said
    for word in ("evidence", never, "rises with it", "matters, beyond", "Suggested"):
        assert word not in said


def test_a_probability_below_one_half_is_no_suggestion():
    below = samples.claim("variable", ("plasma glucose",), 0.31, "plasma glucose matters")
    said = text(claimed(samples.findings(), below))
    assert "These rows do not show that plasma glucose matters beside the others." in said
    assert "Suggested" not in said


def test_a_column_that_predicts_alone_and_adds_nothing():
    found = samples.findings()
    names = (*found.studies[0].model.variables, "body mass index")
    found = reading.with_study(found, model=replace(found.studies[0].model, variables=names))
    assert told(found)[-1] == (
        "These rows do not show that body mass index matters beside the others. Alone "
        "it predicts; that it adds to plasma glucose, age and "
        "pedigree these rows do not show. The model uses it all the same."
    )


def test_a_claim_that_the_model_does_without():
    found = samples.findings()
    found = reading.with_study(found, model=replace(found.studies[0].model, variables=("age",)))
    assert told(found)[0].endswith("The model does without it.")


def test_a_line_that_is_claimed_is_said_as_one():
    line = replace(samples.claims()[2], shape="linear", certain=False, words="y follows a line")
    found = gone(samples.findings(), way="linear", slope=1.0)
    said = told(claimed(found, samples.claims()[0], line))[0]
    assert "Suggested: along a line (98.2 %)." in said
    assert "straight line" in said


def test_a_column_that_is_not_claimed_has_no_direction():
    found = claimed(samples.findings(), *samples.claims()[1:2])
    assert "rises" not in text(found)
    none = reading.with_study(samples.findings(), effects=())
    assert told(none)[0] == "plasma glucose: beyond doubt: in a curve (98.2 %)."


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"way": "rising"},
            "The probability of “diabetic” rises with it (98.0 % sure).",
        ),
        (
            {"way": "falling", "rising": 0.0, "falling": 1.0},
            "The probability of “diabetic” falls with it (more than 99.9 % sure).",
        ),
        (
            {"way": "periodic", "period": 12.5},
            "The probability of “diabetic” repeats along plasma glucose, with a period of 12.5.",
        ),
        (
            {"way": "linear", "slope": 0.034, "rising": 0.97},
            "The probability of “diabetic” rises with plasma glucose along a straight line (97.0 % "
            "sure).",
        ),
        (
            {"way": "linear", "slope": -0.5, "rising": 0.04, "falling": 0.96},
            "The probability of “diabetic” falls with plasma glucose along a straight line (96.0 % "
            "sure).",
        ),
        (
            {"way": "turning", "rising": 0.6, "turning": 0.98, "judged_between": (1, 2)},
            "The probability of “diabetic” turns with plasma glucose between 1 and 2: it rises in "
            "one part and falls in another (98.0 % sure).",
        ),
        (
            {"way": "turning", "rising": 0.01, "falling": 0.99, "turning": 0.9999},
            "The probability of “diabetic” turns with plasma glucose: it rises in one part and "
            "falls in another (more than 99.9 % sure). On average it falls (99.0 % sure).",
        ),
        (
            {"way": "joined", "columns": ("age",)},
            "How the probability of “diabetic” goes with it may depend on pedigree.",
        ),
        (
            {"way": "unclear", "rising": 0.6, "falling": 0.4},
            "Whether the probability of “diabetic” rises or falls with plasma glucose is not "
            "clear.",
        ),
    ],
)
def test_shapes(fields, said):
    assert goes(samples.findings(), **fields) == said


def test_shapes_of_a_number():
    assert goes(samples.regression(), way="rising") == (
        "The expected progression rises with it (98.0 % sure)."
    )
    assert goes(samples.regression(), way="linear", slope=0.94) == (
        "The expected progression rises with plasma glucose along a straight line, by 0.94 for "
        "each unit (98.0 % sure)."
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"way": "rising", "rising": 0.97},
            "“diabetic” is more probable in rows with sex = male (97.0 % sure).",
        ),
        (
            {"way": "falling", "rising": 0.04, "falling": 0.96},
            "“diabetic” is less probable in rows with sex = male (96.0 % sure).",
        ),
        (
            {"way": "unclear", "rising": 0.7, "falling": 0.3},
            "Whether “diabetic” is more or less probable in rows with sex = male is not clear.",
        ),
    ],
)
def test_indicators(fields, said):
    assert goes(samples.findings(), variable=indicator(), **fields) == said


@pytest.mark.parametrize(
    ("variable", "treatment", "said"),
    [
        (indicator("smoker", "smoker"), None, "in rows with smoker = 1 ("),
        (indicator("smoker", "smoker"), "oui", "in rows with smoker = oui ("),
    ],
)
def test_what_an_indicator_says(variable, treatment, said):
    done = Treatment(kind="column_boolean", column="smoker", count=2, value=treatment or "")
    found = reading.with_table(samples.findings(), treatments=(done,))
    assert said in goes(found, variable=variable)


def test_dates_are_said_as_dates():
    found = with_date(samples.findings())
    said = goes(found, variable=date(), way="turning", turning=0.99, judged_between=(10, 20))
    assert "between 2021-01-11 and 2021-01-21:" in said
    assert "a period of 7 days." in goes(found, variable=date(), way="periodic", period=7.0)
    number = with_date(samples.regression())
    assert "for each day" in goes(number, variable=date(), way="linear", slope=1.0)


@pytest.mark.parametrize("treatments", [(), ("no date",)])
def test_dates_without_a_first_day_are_numbers(treatments):
    done = tuple(Treatment(kind="column_date", column="seen", value=one) for one in treatments)
    found = reading.with_table(samples.findings(), treatments=done)
    said = goes(found, variable=date(), way="turning", turning=0.99, judged_between=(10, 20))
    assert "between 10 and 20:" in said


def test_nothing_was_cross_validated():
    found = samples.findings()
    blind = tuple(
        replace(one, model=replace(one.model, error=math.nan)) for one in found.studies[0].variables
    )
    table = reading.tables(write(reading.with_study(found, variables=blind)))["table-variables"]
    assert {row[2] for row in reading.rows(table)} == {"–"}


def interaction(found, **changes):
    [one] = found.studies[0].interactions
    return reading.with_study(found, interactions=(replace(one, **changes),))


def acting(*claims, **changes):
    """Return what is said of the interaction, with other claims."""
    return text(reading.with_study(interaction(samples.findings(), **changes), claims=claims))


def together(probability: float):
    return samples.claim(
        "interaction", ("age", "pedigree"), probability, "age and pedigree interact"
    )


def test_the_golden_interaction():
    assert text(samples.findings()).split("\n")[3:] == [
        "A suggestion, not certain: pedigree and age interact (64.1 %): how the probability of "
        "“diabetic” changes with pedigree may depend on age. If their effects only added up, the "
        "model is wrong in 23.9 %; with the interaction, 22.4 %.",
    ]


def test_a_certain_interaction_is_called_so():
    assert (
        "age and pedigree interact, beyond doubt (99.3 %): how the probability of “diabetic” "
        "changes with age depends on pedigree."
    ) in acting(together(0.993))


@pytest.mark.parametrize(("claims", "known"), [((), ""), ((together(0.2),), " (20.0 %)")])
def test_a_product_that_is_not_claimed(claims, known):
    said = acting(*claims)
    assert f"These rows do not show that pedigree and age interact{known}." in said
    assert "depend on" not in said


def test_a_product_of_three():
    names = ("plasma glucose", "pedigree", "age")
    said = acting(together(0.993), variables=names)
    assert "Beyond doubt, age and pedigree interact (99.3 %)." in said
    said = acting(together(0.6), variables=names)
    assert "It is a suggestion, not certain, that age" in said
    said = acting(variables=names)
    assert "do not show that any two of plasma glucose, pedigree and age interact." in said


def test_two_levels_of_a_column_do_not_interact():
    found = samples.findings()
    levels = tuple(replace(one, column="ward") for one in found.table.variables)
    said = text(reading.with_table(found, variables=levels))
    assert "Both come from the column ward, so that no interaction is meant." in said


def test_a_claim_without_a_product_in_the_model():
    other = samples.claim("interaction", ("age", "plasma glucose"), 0.99, "age and it interact")
    perhaps = samples.claim("interaction", ("pedigree", "plasma glucose"), 0.7, "they may")
    said = acting(other, perhaps)
    assert "age and it interact, beyond doubt (99.0 %): how the probability" in said
    assert "A suggestion, not certain: they may (70.0 %): how the probability" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"gain": 0.0},
            "the model is wrong in 23.9 %, as much as with the interaction.",
        ),
        ({"gain": -0.01}, "the model is wrong in 23.9 %; with the interaction, 22.4 %."),
    ],
)
def test_what_a_product_buys(changes, said):
    assert said in text(interaction(samples.findings(), **changes))
    assert "If their effects" not in text(interaction(samples.findings(), gain=math.nan))


def without(**changes):
    changes = {"claims": samples.claims()[:4], **changes}
    return reading.with_study(samples.findings(), interactions=(), **changes)


def test_no_interaction_is_shown():
    model = replace(samples.findings().studies[0].model, words="plasma glucose alone")
    assert text(without(model=model, knee=1)).endswith(
        "These rows do not show that any two columns interact, nor that effects only add up."
    )


def test_an_interaction_in_a_model_is_no_claim():
    assert text(without()).endswith(
        "These rows do not show whether columns interact: an interaction of pedigree and age is "
        "part of a model on this page, which is not a claim."
    )


def test_pairs_that_were_not_looked_at_are_said():
    found = samples.findings()
    search = replace(found.studies[0].search, n_pairs=780, n_pairs_seen=120)
    said = (
        "The time allowed a look at 120 of 780 pairs of variables only; an interaction of the "
        "others may have been missed."
    )
    assert said in text(reading.with_study(found, search=search))
    assert said in text(without(search=search))
    whole = replace(search, n_pairs_seen=780)
    assert "pairs" not in text(reading.with_study(found, search=whole))


def test_where_no_interaction_can_be_found():
    one = reading.with_table(without(), variables=samples.findings().table.variables[:1])
    assert "There is one column only, so that there is nothing to interact with." in text(one)
