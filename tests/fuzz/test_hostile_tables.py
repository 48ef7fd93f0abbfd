"""A dozen hostile tables through the command; `python -m tools.fuzz_tables` runs hundreds."""

import pytest
from tools.fuzz_tables import PageReader, Results, complaints, hostile_table, verdict

NUMBERS = range(1000, 1012)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", NUMBERS)
def test_a_hostile_table_gives_a_page_or_one_sentence(number, tmp_path):
    assert complaints(hostile_table(number), tmp_path) == []


def test_tables_are_the_same_every_time_and_differ():
    assert hostile_table(3) == hostile_table(3)
    assert len({hostile_table(number).data for number in range(50)}) == 50


@pytest.mark.parametrize(
    "page",
    [
        "<p><script>fuzz()</script>",
        '<p title=""><img src=x onerror=fuzz()>',
        '<a href="javascript:fuzz()">x</a>',
        '<script type="application/json">"</script><svg onload=fuzz()>"',
    ],
)
def test_markup_that_runs_is_noticed(page):
    reader = PageReader()
    reader.feed(page)
    assert reader.runs


@pytest.mark.parametrize(
    "page",
    [
        "<p>&lt;script&gt;fuzz()&lt;/script&gt;",
        '<script type="application/json">"<img src=x onerror=fuzz()>"</script>',
        "<script>const name = 'x';</script>",
    ],
)
def test_markup_that_is_only_shown_is_not(page):
    reader = PageReader()
    reader.feed(page)
    assert not reader.runs


def test_a_run_goes_on_after_what_is_done(tmp_path):
    file = tmp_path / "fuzz.jsonl"
    results = Results(file)
    results.add(0, [])
    results.add(1, ["report raised"])
    with file.open("a") as lines:
        lines.write('{"table": 2, "compl')
    again = Results(file)
    assert again.known == {0: [], 1: ["report raised"]}
    assert verdict(again.known, range(2)) == "2 hostile tables: complaints about 1 (1)."
    assert verdict(again.known, range(1)) == "1 hostile tables: nothing to complain of."
    file.write_text(file.read_text().replace('"code": "', '"code": "other'))
    assert Results(file).known == {}
