"""Numbers, lists and names in words."""

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from parsimon.report.sections._phrases import (
    clean,
    decimal,
    duration,
    joined,
    opened,
    percent,
    percent_cell,
    points,
    spelled,
)

SHARES = st.floats(-2, 3, allow_nan=False)


@given(SHARES)
def test_percentages_have_one_sign_and_a_true_minus(share):
    for text in (percent(share), percent_cell(share), points(share)):
        assert "-" not in text
        assert text.count("%") == (not text.endswith("points"))
        assert not re.search(r"−0(\.0+)?\u202f", text)


@given(SHARES)
def test_table_percentages_say_the_number(share):
    number = percent_cell(share).removesuffix("\u202f%").replace("−", "-").replace(",", "")
    assert math.isclose(float(number), 100 * share, abs_tol=0.00501)


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_decimals_say_the_number(value, places):
    text = decimal(value, places)
    assert math.isclose(
        float(text.replace(",", "").replace("−", "-")), value, abs_tol=0.51 * 10**-places
    )
    assert text.strip("−0.,") or not text.startswith("−")


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=9))
def test_lists(items):
    text = joined(items)
    assert text.count(" and ") == (len(items) > 1)
    assert text.count(", ") == max(0, len(items) - 2)


@given(st.integers(2, 30), st.integers(1, 9))
def test_short_lists_say_how_many_are_left(n, most):
    text = joined([f"x{k}" for k in range(n)], most)
    shown = text.count("x")
    left = int(text.split(" and ")[1].split()[0]) if "others" in text else 0
    assert shown + left == n
    assert left != 1


@given(st.text())
def test_clean_text_is_one_line(text):
    cleaned = clean(text)
    assert cleaned
    assert cleaned.isprintable()
    assert "  " not in cleaned
    assert clean(cleaned) == cleaned


def test_words_for_small_numbers():
    assert spelled(0, "variable") == "no variables"
    assert spelled(10) == "ten"
    assert spelled(11) == "11"
    assert spelled(2, "class", "classes") == "two classes"
    assert opened("“a”") == "“a”"


def test_durations():
    assert duration(1) == "1 second"
    assert duration(60) == "1 minute"
    assert duration(3600) == "1 hour"
    assert duration(59.6) == "1 minute"
