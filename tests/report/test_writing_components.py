"""What is said about the parts of the structure and about interactions."""

import math
from dataclasses import replace

import pytest

from parsimon.report.sections import write
from tests.report import reading, samples

NAN = math.nan
THIN = "\u202f"


def text(found, anchor: str) -> str:
    return reading.text(found, anchor).replace(THIN, " ")


def part(found, place: int, **changes):
    parts = list(found.studies[0].components)
    parts[place] = replace(parts[place], **changes)
    return reading.with_study(found, components=tuple(parts))


def interaction(found, **changes):
    [one] = found.studies[0].interactions
    return reading.with_study(found, interactions=(replace(one, **changes),))


def test_the_golden_components():
    assert text(samples.findings(), "components").split("\n") == [
        "The structure is a sum of two parts. Each part adds its own contribution, whatever the "
        "others say, and is described in the order in which the parts help most. The "
        "contributions are exact shares of the full model's posterior, not separate fits. What "
        "else the search tried is less probable than not. Table 3 sets the whole, with an error of "
        "22.4 % on the folds of the search, beside its parts.",
        "This part is plasma glucose alone. It is beyond doubt that plasma glucose matters "
        "(probability more than 99.9 %). Alone it brings the error from the baseline's 34.4 % down "
        "to 25.0 %, by 9.4 percentage points. In the full model its contribution varies by 0.92 "
        "over the rows (standard deviation, on the latent scale), the most of all parts. In it the "
        "probability of “diabetic” rises with plasma glucose. Figure 4 shows this part.",
        "This part is an interaction of pedigree and age. It is a suggestion, not certain, that "
        "pedigree and age interact (probability 64.1 %). Alone it has an error of 32.0 %. When it "
        "joins the part before it, the error falls by 2.6 percentage points to 22.4 %. In the full "
        "model its contribution varies by 0.41 over the rows (standard deviation, on the latent "
        "scale), 0.45 of what the strongest part does. Figure 5 shows this part.",
    ]


def test_a_part_that_is_not_claimed():
    found = reading.with_study(samples.findings(), claims=())
    assert "These rows do not show that plasma glucose matters." in text(found, "component-1")
    assert "These rows do not show that pedigree and age interact." in text(found, "component-2")
    alone = replace(found.studies[0].components[1].alone, variables=samples.NAMES[:3])
    assert "do not show" not in text(part(found, 1, alone=alone), "component-2")


def test_titles():
    section = reading.section(samples.findings(), "components")
    assert [one.title for one in section.sections] == [
        "Part 1: plasma glucose alone",
        "Part 2: an interaction of pedigree and age",
    ]


def test_the_table_has_each_kernel_once_and_one_kind_of_number():
    table = reading.tables(write(samples.findings()))["table-components"]
    assert reading.rows(table) == [
        ["1, 3, 4", "SE_1 + SE_3 × SE_4", "432.54", f"22.38{THIN}%"],
        ["1", "SE_1", "440.40", f"25.00{THIN}%"],
        ["3, 4", "SE_3 × SE_4", "461.40", f"32.00{THIN}%"],
        ["2", "SE_2", "466.53", f"33.71{THIN}%"],
        ["3", "SE_3", "467.76", f"34.12{THIN}%"],
        ["Baseline", "C", "468.57", f"34.39{THIN}%"],
        ["4", "SE_4", "469.02", f"34.54{THIN}%"],
    ]
    assert table.emphasised == (5,)
    assert [cell.text for row in table.rows for cell in row if cell.strong] == [
        "432.54",
        f"22.38{THIN}%",
    ]
    assert table.note == (
        "Errors are means over the same 5 folds of the search, each kernel fitted again in each; "
        "evidence is on all 724 rows. The errors serve to compare rows of this table."
    )


def test_one_part():
    found = samples.findings()
    one = reading.with_study(
        found, model=found.studies[0].front[1], components=found.studies[0].components[:1]
    )
    said = text(one, "components")
    assert said.startswith("The structure has only one part: plasma glucose alone. What else")
    assert "(standard deviation, on the latent scale). In it" in said
    assert "of all parts" not in said


def test_a_structure_that_another_rule_chose():
    found = reading.chosen_by(samples.findings(), "least-error")
    said = text(found, "components")
    assert "Being a part of it is no claim; the verdict on each part is." in said
    assert "less probable than not" not in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gain": 0.0001}, "When it joins the part before it, the error stays at 22.4 %."),
        (
            {"gain": -0.01},
            "When it joins the part before it, the error rises by 1.0 percentage points to 22.4 %.",
        ),
        ({"gain": NAN}, "With the parts before it, it was not cross-validated."),
    ],
)
def test_what_a_second_part_adds(changes, said):
    assert said in text(part(samples.findings(), 1, **changes), "component-2")


def test_a_third_part_joins_parts():
    found = samples.findings()
    parts = found.studies[0].components
    three = reading.with_study(found, components=(*parts, parts[1]))
    assert "When it joins the parts before it, the error falls" in text(three, "component-3")


def test_a_second_part_that_was_not_measured_alone():
    found = samples.findings()
    alone = replace(found.studies[0].components[1].alone, error=NAN)
    said = text(part(found, 1, alone=alone), "component-2")
    assert "Alone it was not cross-validated. When it joins" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gain": 0.0}, "Alone it has an error of 25.0 %, no less than the baseline's 34.4 %."),
        ({"gain": NAN}, "Alone it was not cross-validated."),
    ],
)
def test_what_a_first_part_does(changes, said):
    assert said in text(part(samples.findings(), 0, **changes), "component-1")


@pytest.mark.parametrize(
    ("direction", "said"),
    [
        ("falling", "In it the probability of “diabetic” falls with plasma glucose."),
        (
            "linear",
            "In it the probability of “diabetic” follows a straight line in plasma glucose.",
        ),
        ("periodic", "In it the probability of “diabetic” repeats along plasma glucose."),
        ("turning", "In it the probability of “diabetic” turns with plasma glucose."),
    ],
)
def test_directions(direction, said):
    found = reading.with_study(samples.findings(), claims=samples.claims()[:2])
    assert said in text(part(found, 0, direction=direction), "component-1")


@pytest.mark.parametrize(
    ("shape", "direction", "is_said"),
    [
        ("smooth", "linear", False),
        ("smooth", "turning", True),
        ("linear", "turning", False),
        ("linear", "rising", True),
        ("periodic", "falling", False),
    ],
)
def test_no_part_goes_against_a_shape_that_is_claimed(shape, direction, is_said):
    found = samples.findings()
    claims = (samples.claims()[0], replace(samples.claims()[2], shape=shape))
    found = part(reading.with_study(found, claims=claims), 0, direction=direction)
    assert ("In it the probability" in text(found, "component-1")) is is_said


@pytest.mark.parametrize("direction", ["unclear", "flat"])
def test_no_direction(direction):
    assert "In it" not in text(part(samples.findings(), 0, direction=direction), "component-1")


def test_a_part_of_two_variables_has_no_direction():
    assert "In it" not in text(part(samples.findings(), 1, direction="rising"), "component-2")


def test_the_strength_of_a_number_has_its_unit():
    found = part(samples.regression(), 0, strength=31.25)
    said = text(found, "component-1")
    assert "varies by 31.25 over the rows (standard deviation, in the unit of progression)" in said
    assert "In it the expected progression rises with plasma glucose." in said


def test_a_strength_that_is_not_known():
    assert "varies" not in text(part(samples.findings(), 0, strength=NAN), "component-1")


def test_the_picture_of_the_sum():
    found = samples.findings()
    pictures = (*found.pictures, samples.picture("sum"))
    found = replace(part(found, 1, cumulative_picture="sum"), pictures=pictures)
    said = text(found, "component-2")
    assert "Figure 5 shows this part. Figure 6 shows it together with the parts before it." in said
    first = part(replace(samples.findings(), pictures=pictures), 0, cumulative_picture="sum")
    assert "Figure 5 shows the model of it alone." in text(first, "component-1")
    same = part(samples.findings(), 1, cumulative_picture="study-1-component-2")
    assert "together" not in text(same, "component-2")


def test_the_golden_interaction():
    assert text(samples.findings(), "interactions").split("\n") == [
        "Variables interact if what one of them does depends on another, so that no sum of their "
        "effects describes it. The structure has one product that may say so: below is the "
        "verdict, and under it how the structure compares with one in which a sum stands in place "
        "of the product, on the same folds and rows.",
        "Verdict: a suggestion, not certain, that pedigree and age interact (probability 64.1 %): "
        "how the probability of “diabetic” changes with pedigree may depend on age, and the other "
        "way round.",
        "With a sum in its place the error is 23.9 %; the product lowers it by 1.5 percentage "
        "points to 22.4 %. The data are about 67 times more probable under the product than under "
        "the sum (log Bayes factor 4.2). Figure 6 shows how they act together.",
    ]


def acting(*claims, **changes):
    """Return what is said of the interaction, with other claims."""
    found = interaction(samples.findings(), **changes)
    return text(reading.with_study(found, claims=claims), "interactions")


def together(probability: float):
    return samples.claim(
        "interaction", ("age", "pedigree"), probability, "age and pedigree interact"
    )


def test_a_certain_interaction_is_called_so():
    said = acting(together(0.993))
    assert (
        "Verdict: age and pedigree interact, beyond doubt (probability 99.3 %): how the "
        "probability of “diabetic” changes with pedigree depends on age, and the other way round."
    ) in said


@pytest.mark.parametrize(
    ("claims", "known"), [((), ""), ((together(0.2),), " (probability 20.0 %)")]
)
def test_a_product_that_is_not_claimed(claims, known):
    said = acting(*claims)
    assert f"Verdict: these rows do not show that pedigree and age interact{known}." in said
    assert "depend on" not in said
    assert "This compares two structures only; the verdict weighs all that were tried" in said


def test_a_product_of_three():
    names = ("plasma glucose", "pedigree", "age")
    said = acting(together(0.993), variables=names)
    assert "Verdict: beyond doubt, age and pedigree interact (99.3 %)." in said
    said = acting(together(0.6), variables=names)
    assert "Verdict: nothing beyond doubt. It is a suggestion, not certain, that age" in said
    said = acting(variables=names)
    assert "do not show that any two of plasma glucose, pedigree and age interact." in said


def test_two_levels_of_a_column_do_not_interact():
    found = samples.findings()
    levels = tuple(replace(one, column="ward") for one in found.table.variables)
    said = text(reading.with_table(found, variables=levels), "interactions")
    assert "Both come from the column ward, so that no interaction is meant." in said


def test_a_claim_without_a_product_in_the_structure():
    found = samples.findings()
    other = samples.claim("interaction", ("age", "plasma glucose"), 0.99, "age and it interact")
    perhaps = samples.claim("interaction", ("pedigree", "plasma glucose"), 0.7, "they may")
    said = text(reading.with_study(found, claims=(other, perhaps)), "interactions")
    assert "Beyond doubt, age and it interact (99.0 %)." in said
    assert "It is a suggestion, not certain, that they may (70.0 %)." in said


def test_two_interactions():
    found = samples.findings()
    [one] = found.studies[0].interactions
    said = text(reading.with_study(found, interactions=(one, one)), "interactions")
    assert "The structure has two products that may say so:" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"gain": 0.0},
            "With a sum in its place the error is 23.9 %, the same as with the product.",
        ),
        (
            {"gain": -0.01, "log_bayes_factor": -2.0},
            "With a sum in its place the error is 23.9 %; with the product it is 1.0 percentage "
            "points higher, 22.4 %.",
        ),
        ({"gain": NAN}, "The errors of product and sum were not both cross-validated."),
        (
            {"log_bayes_factor": -2.0},
            "The data are about 7.4 times more probable under the sum than under the product (log "
            "Bayes factor −2.0). This compares two structures only; the verdict weighs all that "
            "were tried, and holds.",
        ),
        (
            {"log_bayes_factor": 0.4},
            "The data are about as probable under the product as under the sum (log Bayes factor "
            "0.4).",
        ),
    ],
)
def test_what_a_product_buys(changes, said):
    assert said in text(interaction(samples.findings(), **changes), "interaction-1")


def test_the_comparison_agrees_with_the_verdict():
    assert "This compares" not in text(samples.findings(), "interaction-1")


def without(**changes):
    changes = {"claims": samples.claims()[:4], **changes}
    return reading.with_study(samples.findings(), interactions=(), **changes)


def test_no_interaction_is_shown():
    found = samples.findings()
    said = text(without(model=found.studies[0].front[2]), "interactions")
    assert said == (
        "These rows do not show that any two columns interact. The search tried products as well "
        "as sums, and a sum suffices."
    )


def test_pairs_that_were_not_looked_at_are_said():
    found = samples.findings()
    search = replace(found.studies[0].search, n_pairs=780, n_pairs_seen=120)
    said = (
        "The time allowed a look at 120 of 780 pairs of variables only; an interaction of the "
        "others may have been missed."
    )
    assert said in text(reading.with_study(found, search=search), "interactions")
    assert said in text(without(model=found.studies[0].front[2], search=search), "interactions")
    assert said in text(reading.with_study(found, search=search), "methods")
    whole = replace(search, n_pairs_seen=780)
    assert "pairs" not in text(reading.with_study(found, search=whole), "interactions")


def test_one_column_has_nothing_to_interact_with():
    found = reading.with_table(
        without(model=samples.findings().studies[0].front[1]),
        variables=samples.findings().table.variables[:1],
    )
    assert text(found, "interactions") == (
        "There is one column only, so that there is nothing to interact with."
    )


def test_a_shallow_search_finds_no_interaction():
    found = samples.findings()
    search = replace(found.studies[0].search, depth=1)
    assert text(without(model=found.studies[0].front[1], search=search), "interactions") == (
        "The search was limited to one term, so that it could find no interaction."
    )


def test_an_interaction_that_was_not_compared():
    assert text(without(), "interactions") == (
        "The structure has a product, but it could not be compared with a sum."
    )
    fast = reading.with_run(without(claims=samples.claims()), skipped=("interactions",))
    assert text(fast, "interactions") == (
        "What a product buys over a sum was not measured, to save time. It is a suggestion, not "
        "certain, that pedigree and age interact (64.1 %)."
    )
