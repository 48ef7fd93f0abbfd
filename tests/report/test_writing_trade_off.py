"""What smaller and larger models do."""

import math
from dataclasses import replace

import pytest

from parsimon.report.sections import write
from tests.report import reading, samples

THIN = "\u202f"


def text(found) -> str:
    return reading.text(found, "trade-off").replace(THIN, " ")


BUYS = "What each further term buys on the folds of the search, too good to be quoted."


def test_the_golden_trade_off():
    assert text(samples.findings()) == (
        f"{BUYS} After one term (plasma glucose alone) a further one buys less."
    )


def test_what_the_search_found_is_said_with_its_parts():
    found = samples.findings()
    said = reading.text(found, "kernels").replace(THIN, " ")
    assert said.startswith(
        "Of 72 models on all 724 rows it took plasma glucose alone, plus an interaction of "
        "pedigree and age; its formula stands in the methods."
    )
    table = reading.tables(write(found))["table-parts"]
    first, other = ([cell.replace(THIN, " ") for cell in row] for row in reading.rows(table))
    assert first[0] == "plasma glucose alone"
    assert first[1] == first[2]
    assert other[3] == "0.410"
    nothing = reading.text(samples.no_structure(), "kernels")
    assert "none is shown to be better than a constant" in nothing
    without = reading.with_study(found, search=None)
    assert "kernels" not in [one.anchor for one in write(without).sections]


@pytest.mark.parametrize(
    ("knee", "chosen", "said"),
    [
        (3, 3, "Larger models than the one drawn here buy less."),
        (0, 3, "No term buys much for its size."),
        (2, 3, "a further one buys less."),
        (
            2,
            1,
            "Up to two terms the error still falls, but these rows do not show that more matters.",
        ),
    ],
)
def test_where_the_knee_is(knee, chosen, said):
    found = samples.findings()
    model = found.studies[0].front[chosen]
    assert said in text(reading.with_study(found, knee=knee, chosen=chosen, model=model))


def test_levels_are_told_by_their_column():
    found = samples.findings()
    columns = {"sex = male": "sex", "ward = north": "ward", "ward = south": "ward"}
    front = found.studies[0].front
    words = "sex = male alone, plus ward = north alone, plus ward = south alone"
    knee = replace(front[1], words=words, variables=tuple(columns))
    one = found.table.variables[0]
    levels = tuple(
        replace(one, name=name, column=column, kind="indicator") for name, column in columns.items()
    )
    found = reading.with_table(found, variables=levels)
    said = text(reading.with_study(found, front=(front[0], knee, *front[2:]), knee=1))
    assert "After one term (sex alone, plus ward alone) a further one buys less." in said


def test_an_error_that_rises_is_not_said_to_fall():
    """Of a rare class the share of wrong answers may rise with what is found."""
    found = samples.findings()
    one, two, three, four = found.studies[0].front
    worse = tuple(replace(each, error=0.35 + k / 100) for k, each in enumerate((two, three, four)))
    said = text(reading.with_study(found, front=(one, *worse), model=worse[2]))
    assert said.startswith(
        "No model of any size does better than guessing, which is wrong in 34.4 %, on the folds "
        "of the search."
    )
    half = text(reading.with_study(found, front=(one, worse[0], three, four)))
    assert half.startswith(BUYS)


def test_a_knee_without_error_is_not_spoken_of():
    found = samples.findings()
    front = found.studies[0].front
    front = (front[0], replace(front[1], error=math.nan), *front[2:])
    said = text(reading.with_study(found, front=front))
    assert said == BUYS


def test_a_front_of_chance_or_of_a_rare_class_is_called_so():
    honest = replace(samples.findings().studies[0].honest, gain=samples.interval(0.0, 0.1))
    found = reading.with_study(samples.findings(), claims=(), honest=honest)
    assert f"{BUYS} These rows do not show that this is more than chance." in text(found)
    front = tuple(replace(one, error=one.error / 20) for one in samples.rare().studies[0].front)
    rare = reading.with_study(samples.rare(), front=front, model=front[3], baseline=front[0])
    assert "With so rare a class this says little." in text(rare)


def test_nothing_was_cross_validated():
    found = samples.findings()
    blind = replace(found.studies[0].baseline, error=math.nan)
    assert "were not compared: none was cross-validated" in text(
        reading.with_study(found, baseline=blind)
    )
