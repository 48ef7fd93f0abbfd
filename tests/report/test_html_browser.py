"""The page in a real browser: its script, its keys, its looks. Skipped where there is none."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest

from parsimon.report.html import to_html
from parsimon.report.sections import write
from parsimon.roc import expected_cost
from tests.report import samples
from tests.report.browser import Browser, executable
from tests.report.documents import document

SAMPLES = ("findings", "hostile", "no_structure", "fast", "three_classes", "regression")
# The number of the chosen front point is 3; the page starts with it.
CHOSEN = samples.study().front[3]


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
    for name in SAMPLES:
        found = getattr(samples, name)()
        for title, writer in ((name, document), (f"{name}-written", write)):
            text = to_html(writer(found), found)
            (folder / f"{title}.html").write_text(text, encoding="utf-8")
    return {file.stem: file for file in folder.iterdir()}


@pytest.fixture
def show(browser, files):
    """Open a sample; at the end nothing may have been complained about, loaded or asked."""

    def opened(name="findings", **emulated):
        browser.emulate(**emulated)
        browser.open(files[name])
        opened.name = name
        return browser

    yield opened
    browser.evaluate("1")  # What was said before the answer has arrived with it.
    assert browser.messages == []
    assert browser.exceptions == []
    assert browser.dialogs == []
    assert browser.requests == [files[opened.name].as_uri()]


def part(name, study=0):
    return f'.panel[data-study="{study}"] [data-part="{name}"]'


def counts(browser, study=0):
    """Return the four counts that the page shows, and the shares below them."""
    names = ("true_positive", "false_negative", "false_positive", "true_negative")
    cells = [f"document.querySelector({json.dumps(part(name, study))})" for name in names]
    numbers = browser.evaluate(f"[{','.join(f'+{c}.firstChild.textContent' for c in cells)}]")
    shares = browser.evaluate(f"[{','.join(f'{c}.lastChild.textContent' for c in cells)}]")
    return numbers, shares


def expected_counts(roc, threshold):
    """Count by the definition of `Roc.thresholds`."""
    called = [k for k, least in enumerate(roc.thresholds) if least >= threshold - 1e-9]
    found = round(roc.tpr[called[-1]] * roc.n_positive) if called else 0
    alarms = round(roc.fpr[called[-1]] * roc.n_negative) if called else 0
    return [found, roc.n_positive - found, alarms, roc.n_negative - alarms]


def position(browser, name):
    return int(browser.evaluate(f"document.querySelector({json.dumps(part(name))}).value"))


@pytest.mark.parametrize("written", ["", "-written"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_sample_opens_in_silence(show, sample, written):
    browser = show(sample + written)
    studies = getattr(samples, sample)().studies
    drawn = browser.evaluate(
        "Array.from(document.querySelectorAll('.panel'), (panel) =>"
        " [panel.dataset.study, panel.querySelectorAll('.point').length])"
    )
    explored = [] if len(studies) > 1 and written else list(enumerate(studies))
    shown = [[str(k), len(study.front)] for k, study in explored]
    assert drawn == shown
    assert browser.evaluate("document.querySelectorAll('.failed').length") == 0


def test_the_page_starts_with_the_chosen_model_and_one_half(show):
    browser = show()
    assert browser.text(part("words")) == CHOSEN.words
    assert browser.text(part("mark")) == "3 terms · drawn here"
    assert browser.text(part("error")) == "22.38\u202f% ± 1.20\u202f%"
    assert browser.text(part("threshold-shown")) == "0.50"
    assert counts(browser)[0] == expected_counts(CHOSEN.roc, 0.5)


@pytest.mark.parametrize(
    ("keys", "threshold"),
    [
        (("ArrowLeft",) * 7, 0.43),
        (("ArrowRight",) * 10, 0.6),
        (("Home",), 0.0),
        (("End",), 1.0),
        (("Home", *("ArrowRight",) * 10), 0.1),
    ],
)
def test_keys_move_the_threshold_and_the_table_follows(show, keys, threshold):
    browser = show()
    browser.focus(part("threshold"))
    for key in keys:
        browser.press(key)
    found, shares = counts(browser)
    assert browser.text(part("threshold-shown")) == f"{threshold:.2f}"
    assert found == expected_counts(CHOSEN.roc, threshold)
    totals = (249, 249, 475, 475)
    ends = [
        100 * np.array(binomtest(k, n).proportion_ci(method="wilson"))
        for k, n in zip(found, totals, strict=True)
    ]
    assert shares == [
        f"{100 * k / n:.1f}\u202f% ({low:.1f} to {high:.1f})"
        for k, n, (low, high) in zip(found, totals, ends, strict=True)
    ]


@pytest.mark.parametrize(("key", "times"), [("ArrowRight", 9), ("ArrowLeft", 14), ("End", 1)])
def test_the_cost_ratio_picks_the_cheapest_threshold(show, key, times):
    browser = show()
    browser.focus(part("ratio"))
    browser.evaluate(f"document.querySelector({json.dumps(part('ratio'))}).value = 0")
    browser.press(key, times)
    ratio = float(f"{10 ** (position(browser, 'ratio') / 20):.2g}")
    roc = CHOSEN.roc
    table = np.array([expected_counts(roc, k / 100) for k in range(101)])
    costs = 100 * expected_cost(
        table[:, 0] / roc.n_positive,
        table[:, 2] / roc.n_negative,
        cost_fn=ratio,
        prevalence=roc.n_positive / (roc.n_positive + roc.n_negative),
    )
    cheapest = np.flatnonzero(np.isclose(costs, costs.min(), rtol=0, atol=1e-9))
    nearest = cheapest[np.argmin(np.abs(cheapest - 100 / (1 + ratio)))]
    assert position(browser, "threshold") == nearest
    assert browser.text(part("ratio-shown")) == f"{ratio:g} false alarms"
    shown = browser.text(part("cost"))
    assert f"as much as {costs.min():.1f} false alarms" in shown
    assert "No other threshold costs less" in shown


def test_a_threshold_moves_the_ratio_to_where_it_wastes_least(show):
    browser = show()
    browser.focus(part("threshold"))
    browser.press("ArrowLeft", 35)
    low = position(browser, "ratio")
    assert browser.text(part("threshold-shown")) == "0.15"
    browser.press("ArrowRight", 70)
    assert browser.text(part("threshold-shown")) == "0.85"
    assert low > position(browser, "ratio")


def test_ratio_and_threshold_agree_there_and_back(show):
    browser = show()
    browser.focus(part("ratio"))
    browser.press("ArrowRight", 3)
    threshold = position(browser, "threshold")
    browser.focus(part("threshold"))
    browser.press("ArrowRight")
    browser.press("ArrowLeft")
    assert position(browser, "threshold") == threshold
    assert "No other threshold costs less" in browser.text(part("cost"))


def test_arrow_keys_move_between_models(show):
    browser = show()
    front = samples.study().front
    browser.focus('.point[aria-checked="true"]')
    for key, place in (
        ("ArrowLeft", 2),
        ("ArrowUp", 1),
        ("Home", 0),
        ("ArrowLeft", 0),
        ("ArrowRight", 1),
        ("ArrowDown", 2),
        ("End", 3),
        ("ArrowRight", 3),
    ):
        browser.press(key)
        assert browser.text(part("words")) == front[place].words
        assert counts(browser)[0] == expected_counts(front[place].roc, 0.5)
        area = front[place].roc.auc
        shown = f"Area {area.estimate:.3f} (95\u202f% interval {area.low:.3f} to {area.high:.3f})"
        assert browser.text(part("auc")).startswith(shown.replace("-", "−"))
        states = browser.evaluate(
            "Array.from(document.querySelectorAll('.point'), (point) =>"
            " [point.getAttribute('aria-checked'), point.tabIndex,"
            " point === document.activeElement])"
        )
        assert states == [[str(k == place).lower(), -(k != place), k == place] for k in range(4)]


@pytest.mark.parametrize("action", ["hover", "click"])
def test_a_mouse_chooses_a_model(show, action):
    browser = show()
    getattr(browser, action)(".point:nth-of-type(3) .dot")
    assert browser.text(part("words")) == samples.study().front[1].words
    assert browser.text(part("mark")) == "1 term · after it size buys less"


def test_the_front_turns_to_variables(show):
    browser = show()
    browser.focus('input[name="axis-0"]')
    browser.press("ArrowRight")
    assert browser.text(part("mark")) == "3 variables · drawn here"
    assert "number of variables" in browser.text(part("front"))
    browser.focus('.point[aria-checked="true"]')
    browser.press("Home")
    assert browser.text(part("mark")) == "0 variables · guessing"


def test_several_explorers_do_not_disturb_each_other(show):
    browser = show("three_classes")
    browser.focus(part("threshold", 1))
    browser.press("End")
    assert [browser.text(part("threshold-shown", k)) for k in range(3)] == ["0.50", "1.00", "0.50"]
    browser.focus('.panel[data-study="2"] .point[aria-checked="true"]')
    browser.press("Home")
    words = [browser.text(part("words", k)) for k in range(3)]
    assert words == [CHOSEN.words, CHOSEN.words, "a constant"]


def test_a_number_has_a_front_and_words_but_no_curve(show):
    browser = show("regression")
    assert browser.text(part("words")) == CHOSEN.words
    assert "variance left" in browser.text(part("front"))
    assert browser.evaluate("document.querySelectorAll('.roc, .decision, .confusion').length") == 0


def column(browser, place):
    return browser.evaluate(
        "Array.from(document.querySelector('.sortable').tBodies[0].rows,"
        f" (row) => row.cells[{place}].textContent)"
    )


def test_tables_sort_by_mouse_and_by_key_and_reverse(show):
    browser = show()
    start = column(browser, 0)
    assert start == ["plasma glucose", "body mass index", "pedigree", "age", "baseline"]
    browser.click(".sortable th:nth-child(2) button")
    upwards = ["plasma glucose", "body mass index", "pedigree", "baseline", "age"]
    assert column(browser, 0) == upwards
    browser.press("Enter")
    assert column(browser, 0) == upwards[::-1]
    sorted_by = "Array.from(document.querySelectorAll('.sortable th'), (h) => h.ariaSort)"
    assert browser.evaluate(sorted_by)[:4] == [None, "descending", None, None]
    browser.focus(".sortable th:nth-child(1) button")
    browser.press("Enter")
    assert column(browser, 0) == sorted(start)
    assert browser.evaluate(sorted_by)[:4] == ["ascending", None, None, None]


def test_cells_without_a_number_stay_below(show):
    browser = show()
    for first in ("−0.7", "87.4"):
        browser.click(".sortable th:nth-child(3) button")
        found = column(browser, 2)
        assert (found[0], found[-1]) == (first, "–")


@pytest.mark.parametrize("written", ["", "-written"])
def test_hostile_names_are_text_and_run_nothing(show, written):
    browser = show("hostile" + written)
    assert browser.evaluate("document.scripts.length") == 2
    assert browser.text(part("words")).startswith(samples.HOSTILE)
    assert browser.text(".confusion thead b") == "<b>yes</b>"
    browser.focus('.point[aria-checked="true"]')
    browser.press("ArrowLeft", 3)
    browser.press("End")
    labels = browser.evaluate(
        "Array.from(document.querySelectorAll('.point'), (p) => p.getAttribute('aria-label'))"
    )
    assert samples.HOSTILE in labels[1]
    assert browser.evaluate("document.querySelectorAll('.panel script, .point b').length") == 0


def test_a_script_that_is_not_the_pages_own_is_blocked(browser, files, tmp_path):
    text = files["findings"].read_text(encoding="utf-8")
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("</main>", "<script>var ran = 1</script></main>"), "utf-8")
    browser.emulate()
    browser.open(changed)
    assert browser.evaluate("typeof ran") == "undefined"
    assert any("Content Security Policy" in message for message in browser.messages)


def visible(browser, selector):
    return browser.evaluate(
        f"Array.from(document.querySelectorAll({json.dumps(selector)}),"
        " (element) => element.getClientRects().length > 0)"
    )


def test_without_script_nothing_is_lost(show):
    with_script = show().evaluate("document.querySelector('main').innerText")
    browser = show(script=False)
    assert visible(browser, ".fallback svg") == [True]
    assert not any(visible(browser, ".panel, .panel *, .theme"))
    assert browser.evaluate("document.querySelectorAll('.sortable button').length") == 0
    text = browser.evaluate("document.querySelector('main').innerText")
    for words in ("Something to beware of", "Figure 1 Caption", "34.39", "See the paper"):
        assert words in " ".join(text.split())
        assert words in " ".join(with_script.split())


def test_with_script_the_explorer_takes_the_place_of_the_drawing(show):
    browser = show()
    assert visible(browser, ".fallback svg") == [False]
    assert all(visible(browser, ".panel, .panel .chart"))


def brightness(browser, selector, attribute):
    """Return the relative luminance of a colour as WCAG 2.1 defines it."""
    colour = browser.evaluate(
        f"getComputedStyle(document.querySelector({json.dumps(selector)})).{attribute}"
    )
    channels = np.array([float(x) for x in colour.strip("rgba()").split(",")[:3]]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    high, low = max(one, other), min(one, other)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast_in_light_and_dark(show, scheme):
    browser = show(scheme=scheme)
    page = brightness(browser, "body", "backgroundColor")
    assert (page > 0.5) == (scheme == "light")
    panel = brightness(browser, ".panel", "backgroundColor")
    caution = brightness(browser, ".note.caution", "backgroundColor")
    for selector, behind in (
        (".lead p", page),
        (".subtitle", page),
        ("figcaption", page),
        ("main a", page),
        ("nav a", page),
        (".emphasised", page),
        (".panel", panel),
        (".chart-note", panel),
        (".confusion .wrong", panel),
        (".caution p", caution),
        (".caution .note-kind", caution),
    ):
        assert contrast(brightness(browser, selector, "color"), behind) >= 4.5
    letters = brightness(browser, ".panel .axes text", "fill")
    assert contrast(letters, panel) >= 4.5
    assert contrast(brightness(browser, ".drawing text", "fill"), page) >= 4.5


def test_the_button_switches_light_and_dark_and_back(show):
    browser = show(scheme="light")
    shades = [brightness(browser, "body", "backgroundColor")]
    for label in ("Light page", "Dark page"):
        browser.click("button.theme")
        shades.append(brightness(browser, "body", "backgroundColor"))
        assert browser.text("button.theme") == label
    assert shades[0] == shades[2] > 0.5 > shades[1]


@pytest.mark.parametrize("sample", ["findings", "hostile", "hostile-written"])
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_nothing_but_boxes_of_tables_scrolls_sideways(show, sample, width):
    browser = show(sample, width=width)
    wide, window = browser.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
    assert wide <= window
    outside = browser.evaluate(
        "Array.from(document.querySelectorAll('main p, main h1, main h2, .panel *'))"
        ".filter((e) => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert outside == []


def test_the_charts_follow_the_width_of_the_window(show):
    browser = show(width=1280)
    before = browser.evaluate(
        f"document.querySelector({json.dumps(part('front'))}).viewBox.baseVal.width"
    )
    browser.emulate(width=400)
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))")
    after = browser.evaluate(
        f"document.querySelector({json.dumps(part('front'))}).viewBox.baseVal.width"
    )
    assert after < 330 < before


def test_contents_fold_on_small_screens_and_stand_open_on_wide_ones(show):
    assert show(width=1280).evaluate("document.querySelector('.contents').open")
    browser = show(width=400)
    assert not browser.evaluate("document.querySelector('.contents').open")
    browser.click(".contents summary")
    assert browser.evaluate("document.querySelector('.contents').open")


def test_the_skip_link_comes_first_and_leads_to_the_content(show):
    browser = show()
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.className") == "skip"
    browser.press("Enter")
    assert browser.evaluate("document.activeElement.id") == "content"


def test_print_shows_drawings_on_white_without_controls(show):
    browser = show(media="print", scheme="dark")
    assert brightness(browser, "body", "backgroundColor") == pytest.approx(1)
    assert brightness(browser, ".lead p", "color") < 0.1
    assert visible(browser, ".fallback svg") == [True]
    assert not any(visible(browser, "nav, .panel, .slider"))


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("sample", SAMPLES)
def test_the_answer_begins_within_the_first_screen(show, sample, width, script):
    browser = show(f"{sample}-written", width=width, height=800, script=script)
    top = "document.querySelector('#summary > p').getBoundingClientRect().top"
    # Names of a hostile table fill lines at any width.
    assert browser.evaluate(top) < 400 or (sample == "hostile" and width == 400)


def test_sections_fold_and_links_open_them(show):
    browser = show("findings-written")
    state = "document.querySelector('#methods > details').open"
    assert not browser.evaluate(state)
    assert browser.evaluate("document.querySelector('#variables > details').open")
    browser.evaluate("location.hash = '#methods'")
    browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    assert browser.evaluate(state)


def test_paper_shows_what_a_screen_folds(show):
    browser = show("findings-written", media="print", script=False)
    tall = "document.querySelector('#methods > details > p').getBoundingClientRect().height"
    assert browser.evaluate(tall) > 10


def test_the_page_prints(show):
    printed = show().pdf()
    assert printed.startswith(b"%PDF-")
    assert len(printed) > 10_000


def test_a_screenshot_is_taken(show, tmp_path):
    browser = show(width=640, height=480)
    browser.screenshot(tmp_path / "page.png")
    image = (tmp_path / "page.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    assert [int.from_bytes(image[k : k + 4], "big") for k in (16, 20)] == [640, 480]
