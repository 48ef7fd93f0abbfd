"""The page about a trait in a real browser. Skipped where there is none."""

import numpy as np
import pytest

from parsimon.phylo import brownian_traits, yule_tree
from parsimon.report.html import to_html
from parsimon.report.sections import write
from parsimon.statistician import analyse_traits
from tests.report import trait_samples as samples
from tests.report.browser import Browser, executable


@pytest.fixture(scope="module")
def browser():
    path = executable()
    if path is None:
        pytest.skip("no Chromium or Chrome on this machine")
    with Browser(path) as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    tree = yule_tree(12, random_state=1)
    table = brownian_traits(tree, 2, random_state=1).rename(columns={"trait1": samples.HOSTILE})
    table["size $x$"] = 2 * table[samples.HOSTILE] + np.random.default_rng(0).normal(size=12)
    analysis = analyse_traits(table, tree, "size $x$", folds=2)
    analysis.to_html(folder / "real.html")
    for sample in (samples.hostile, samples.tree_alone):
        found = sample()
        text = to_html(write(found), found)
        (folder / f"{sample.__name__}.html").write_text(text, encoding="utf-8")
    return {file.stem: file for file in folder.iterdir()}


@pytest.mark.parametrize("name", ["real", "hostile", "tree_alone"])
@pytest.mark.parametrize(
    ("width", "scheme", "media"),
    [(1280, "light", ""), (1280, "dark", ""), (360, "light", ""), (800, "light", "print")],
)
def test_the_page_opens_in_silence_and_fits(browser, files, name, width, scheme, media):
    browser.emulate(width=width, scheme=scheme, media=media)
    browser.open(files[name])
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.images.length") == 0
    browser.evaluate("1")  # What was said before the answer has arrived with it.
    assert browser.messages == []
    assert browser.exceptions == []
    assert browser.dialogs == []
    assert browser.requests == [files[name].as_uri()]


def test_every_figure_has_a_drawing_with_letters(browser, files):
    browser.emulate(width=1280)
    browser.open(files["real"])
    drawn = browser.evaluate(
        "Array.from(document.querySelectorAll('figure'), (figure) =>"
        " [figure.id, figure.querySelectorAll('svg text').length > 3,"
        "  figure.getBoundingClientRect().height > 100])"
    )
    names = [f"figure-{name}" for name in (*samples.PICTURES, "models")]
    assert sorted(name for name, _, _ in drawn) == sorted(names)
    assert all(letters and tall for _, letters, tall in drawn)


def test_tables_can_be_sorted(browser, files):
    browser.emulate(width=1280)
    browser.open(files["real"])
    cells = (
        "Array.from(document.querySelectorAll('#table-errors tbody tr'), (row) =>"
        " parseFloat(row.cells[1].textContent))"
    )
    before = browser.evaluate(cells)
    assert before == sorted(before)
    browser.click("#table-errors thead th:nth-child(2)")
    once = browser.evaluate(cells)
    browser.click("#table-errors thead th:nth-child(2)")
    twice = browser.evaluate(cells)
    assert sorted([once, twice]) == sorted([before, before[::-1]])
