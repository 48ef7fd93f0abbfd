"""The words, signs and forms that people write, each with what it means."""

import datetime

import numpy as np
import pandas as pd
import pytest

from parsimon.statistician.prepare.cells import (
    affirmative,
    find_format,
    is_yes_or_no,
    parse_number,
    read_cells,
    read_dates,
)
from parsimon.statistician.prepare.orders import order_of
from parsimon.statistician.prepare.recognition import recognise

YES = "yes y true t ja oui si sí да 是"
NO = "no n false f nein non нет 否"
POSITIVE = (
    "positive pos + present malignant cancer case disease diseased sick ill abnormal event dead "
    "died death failure failed default churn churned fraud spam success responder relapse "
    "recurrence"
)
NEGATIVE = (
    "negative neg absent benign control healthy normal none alive survived legitimate ham genuine"
)


@pytest.mark.parametrize("spelt", [str.lower, str.upper, str.capitalize])
def test_words_that_say_that_something_is_so_or_not(spelt):
    for word in f"{YES} {POSITIVE}".split():
        assert affirmative([spelt(word), "zebra"]) == spelt(word)
        assert affirmative(["zebra", spelt(word)]) == spelt(word)
    for word in f"{NO} {NEGATIVE}".split():
        assert affirmative([spelt(word), "zebra"]) == "zebra"


def test_only_a_plain_yes_and_no_need_no_word_of_their_own():
    for yes in YES.split():
        assert all(is_yes_or_no([no.upper(), yes]) for no in NO.split())
        assert not is_yes_or_no([yes, "benign"])
    assert not is_yes_or_no(["no", "spam"])


def test_words_for_missing_cells():
    words = (
        "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a"
        "|nan|null|NaT|?|.|-|--||  "
    )
    cells = read_cells(pd.Series([*words.split("|"), "none", "x", "na"], dtype=object))
    assert cells.labels == ("none", "x", "na")
    assert (cells.codes >= 0).sum() == 3


# Neither in order nor without gaps: nothing but the name says that they number anything.
NUMBERS = pd.Series([907, 12, 44, 3, 1001])


def _kind(name, column=NUMBERS):
    return [one.kind for one in recognise(column, name).treatments]


def test_names_of_columns_that_tell_cases_apart():
    for word in ("id", "ids", "uuid", "guid", "identifier", "rowid", "unnamed"):
        for name in (f"{word.upper()} of case", f"case_{word}", f"case{word.capitalize()}", word):
            assert _kind(name) == ["column_identifier"], name
    ends = (
        "index idx row rownum rownames key nr no number num serial ticket invoice passport phone "
        "telephone barcode ssn"
    )
    for word in ends.split():
        assert _kind(f"sample {word}") == ["column_identifier"]
        assert _kind(f"{word} of samples") == []


def test_names_of_columns_that_go_on_with_time():
    going = pd.Series(np.arange(1, 41))
    assert _kind("sample", going) == ["column_identifier"]
    words = "time year month week day days hour date age period step t"
    for word in words.split():
        assert _kind(f"{word} 1", going) == []


@pytest.mark.parametrize(
    "order",
    [
        "none, very low, low, low-medium, medium, medium-high, high, very high, extreme",
        "no, lowest, low, below average, moderate, above average, high, highest, extremely high",
        "low, middle, high",
        "low, mid, high",
        "low, normal, high",
        "low, average, high",
        "l, m, h",
        "lo, med, hi",
        "xxs, xs, s, m, l, xl, xxl, xxxl",
        "extra small, very small, small, medium, large, very large, extra large",
        "tiny, small, middle, big, huge",
        "never, almost never, rarely, occasionally, regularly, very often, almost always, always",
        "very rarely, seldom, sometimes, frequently, usually",
        "hardly ever, rarely, often, mostly, always",
        "none, trace, mild, moderate, marked, severe, very severe",
        "absent, minimal, somewhat, moderately, very, severely, extremely",
        "not at all, slight, moderate, quite a bit, extreme",
        "no, slightly, moderate, a lot, severe",
        "no, a little, moderate, severe",
        "strongly disagree, disagree, somewhat disagree, neutral, somewhat agree, agree, "
        "strongly agree",
        "totally disagree, mostly disagree, slightly disagree, undecided, slightly agree, "
        "mostly agree, totally agree",
        "completely disagree, neither agree nor disagree, completely agree",
        "disagree, neither, agree",
        "very dissatisfied, dissatisfied, somewhat dissatisfied, neutral, somewhat satisfied, "
        "satisfied, very satisfied",
        "terrible, very bad, bad, fair, good, very good, excellent, outstanding",
        "awful, very poor, poor, mediocre, good, great, ideal",
        "poor, average, premium",
        "poor, ok, good",
        "poor, okay, good",
        "poor, acceptable, good",
        "very unlikely, unlikely, neutral, likely, very likely, certain",
        "unlikely, neither, certain",
        "cold, cool, mild, warm, hot, very hot",
        "very cold, lukewarm, hot",
        "baby, child, teen, young, adult, old, very old",
        "infant, child, teenager, young adult, middle-aged, senior",
        "child, adolescent, adult, elderly",
        "first, second, third, fourth, fifth, sixth",
        "1st, 2nd, 3rd, 4th, 5th, 6th",
        "i, ii, iii, iv, v, vi, vii, viii, ix, x",
        "beginner, intermediate, advanced, expert",
        "novice, advanced beginner, expert",
        "primary, secondary, college, bachelor, master, doctorate",
        "elementary, high school, some college, bachelors, masters, phd",
        "primary, undergraduate, graduate",
    ],
)
def test_steps_of_scales_have_an_order(order):
    steps = tuple(order.split(", "))
    assert order_of(steps[::-1]) == steps
    assert order_of([f" {step.title().replace(' ', '_')}" for step in sorted(steps)]) == tuple(
        f" {step.title().replace(' ', '_')}" for step in steps
    )


def test_words_for_no_answer_have_no_place_in_an_order():
    for word in ("unknown", "other", "missing", "not known", "n/a", "don't know", "Not stated"):
        assert order_of(["high", word, "medium", "low"]) == ("low", "medium", "high")
    assert order_of(["high", "unknown", "low"]) == ()


def test_words_before_a_number_count():
    words = "stage grade class level group category quartile quintile decile tertile phase tier q"
    for word in words.split():
        for sign in (" ", "_", "-", ""):
            assert order_of([f"{word}{sign}{k}" for k in ("iv", "ii", "i")]) == tuple(
                f"{word}{sign}{k}" for k in ("i", "ii", "iv")
            )


def test_words_beside_a_number_say_on_which_side_of_it():
    for below in ("<", "<=", "≤", "under ", "below ", "less than ", "up to ", "at most "):
        assert order_of(["20-30", "10-20", f"{below}10"])[0] == f"{below}10"
    for above in (">", ">=", "≥", "over ", "above ", "more than ", "at least "):
        assert order_of([f"{above}30", "20-30", "10-20"])[-1] == f"{above}30"
    for more in ("+", " and over", " or more", " and above"):
        assert order_of([f"30{more}", "30-35", "10-20"])[-1] == f"30{more}"
    for between in ("-", "–", " to ", " and ", ", "):
        found = order_of([f"€100{between}€200", f"$9,5{between}$100", "£1 - £9.5"])
        assert found == ("£1 - £9.5", f"$9,5{between}$100", f"€100{between}€200")
    # A number that is a limit on both sides comes first below, then as it is, then above.
    assert order_of([">5", "5", "<5"]) == ("<5", "5", ">5")


DAYS = [datetime.datetime(2021, 5, 25, 13, 45, 10), datetime.datetime(1999, 12, 3, 1, 2, 3)]
CLEAR = (
    "%d.%m.%Y|%d.%m.%y|%d %b %Y|%d %B %Y|%d-%b-%Y|%d-%b-%y|%b %d, %Y|%B %d, %Y|%b %d %Y|%d/%m/%Y"
    "|%m/%d/%Y|%d-%m-%Y|%m-%d-%Y|%d/%m/%y|%m/%d/%y|%d-%m-%y|%m-%d-%y"
)


@pytest.mark.parametrize("clock", ["", " %H:%M", " %H:%M:%S"])
@pytest.mark.parametrize("day", CLEAR.split("|"))
def test_forms_of_dates(day, clock):
    """The twenty-fifth is no month."""
    column = pd.Series([one.strftime(day + clock) for one in DAYS])
    # A month of three letters may be a whole name.
    found = find_format(read_cells(column[:1] if "%B" in day else column))
    assert found.text.replace("%b", "%B") == (day + clock).replace("%b", "%B")
    assert not found.ambiguous
    lowest = {"": "D", " %H:%M": "m", " %H:%M:%S": "s"}[clock]
    wanted = np.array(DAYS, dtype=f"datetime64[{lowest}]") - np.datetime64("1970-01-01")
    np.testing.assert_allclose(read_dates(column, day + clock), wanted / np.timedelta64(1, "D"))


def test_signs_of_money_and_shares_are_no_part_of_a_number():
    for sign in "$€£¥":
        for text in (f"{sign}12.5", f"{sign} 12.5", f"- {sign}12.5 %", f"+{sign}12.5€"):
            assert parse_number(text) == (-12.5 if text.startswith("-") else 12.5)
    for space in " \u00a0\u2009\u202f'":
        assert parse_number(f"1{space}234{space}567.5") == 1234567.5
    assert np.isnan(parse_number("12.5 kg"))
