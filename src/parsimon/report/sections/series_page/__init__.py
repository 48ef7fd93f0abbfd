"""The report about series: which few features predict the target, what each looks at, how well.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import (
    Block,
    Cell,
    Code,
    Heading,
    Section,
    Table,
)
from parsimon.report.findings import ComparedModel
from parsimon.report.findings.series_findings import SeriesFeature, SeriesFindings
from parsimon.report.sections._blocks import bullets, number_cell, paragraph
from parsimon.report.sections._outline import Outline
from parsimon.report.sections._phrases import (
    DASH,
    clean,
    count,
    decimal,
    joined,
    named,
    percent,
    percent_range,
    quoted,
    share_range,
    short,
    spelled,
)
from parsimon.report.sections._run import again, options, run_facts, software
from parsimon.report.sections._scope import figures, miss, with_article
from parsimon.report.sections.series_page.series_answer import (
    OURS,
    compared_models,
    lengths,
    series_screen,
    summarise_series,
    words_of_feature,
)

_NAMED = 6
# Words of features that not everyone knows, in the order in which they are explained.
_TERMS = (
    (
        "the steps",
        "Steps: the change from each value to the next; “over 5 % of the length”: to the value "
        "that far on.",
    ),
    ("the bend", "Bend: how the steps change; above 0 where the curve turns upwards."),
    ("the running sum", "Running sum less its mean: values less their mean, added up one by one."),
    (
        "spectrum",
        "Spectrum: how strong slow and fast swings are; a frequency counts swings for each step "
        "from one value to the next, so that 0.1 is one in ten values.",
    ),
    ("strongest frequency", "Strongest frequency: swings for each step from value to value."),
    ("the phases", "Phases: where in its swing each frequency begins."),
    ("with itself", "Correlation with itself: how alike a series is to itself some time later."),
    ("share above 0", "Share above 0: of steps, the share of the time in which the series rises."),
    ("crest factor", "Crest factor: the largest size over the typical one; large for a peak."),
    ("flatness", "Flatness: 1 where all values are alike, near 0 where one stands out."),
    (
        "range between the quartiles",
        "Range between the quartiles: the distance that the middle half of the values covers.",
    ),
    ("the spread", "Spread: the standard deviation."),
    ("skewness", "Skewness: above 0 where a few values lie far above the others."),
    ("kurtosis", "Kurtosis: large where a few values lie far from the others."),
    (
        "standardised",
        "Standardised: less their mean and over their spread, so that level and size of a series "
        "play no part.",
    ),
    (
        "wavelets",
        "Wavelets of level 1: differences of neighbours; of level 2: of means of two neighbours "
        "each, and so on.",
    ),
    (
        "in phase space",
        "Phase space: each value is drawn against the one before it; angles and distances are "
        "those of the path.",
    ),
    ("sign changes", "Share of sign changes: how often the values pass through 0."),
    (
        "smoothed by",
        "Smoothed: each value is mixed with the smoothed ones before it; the smaller the number, "
        "the smoother.",
    ),
    ("averaged over", "Averaged: each value gives way to the mean of its surroundings."),
    ("filtered to", "Filtered: only swings of these frequencies are kept."),
    ("the log ", "Log: the logarithm, in which differences at small values count more."),
    ("without the extreme", "Without the extreme: values beyond are pulled in to the limit."),
    ("mismatch with a shape", "Mismatch: the distance from the most similar stretch of a shape."),
    ("in windows", "Windows: the series is cut into stretches, and each is looked at alone."),
    ("sum of absolute steps", "Sum of absolute steps: the way up and down, all together."),
)
_RULES = {
    "one_se": "the fewest features within one standard error of the least error",
    "error": "the features of least error in the search",
    "knee": "the bend of the front, where further features buy little",
    "ranked": "the best features by rank, as many as were allowed",
}


def _title(findings: SeriesFindings) -> str:
    """Return the report's title."""
    table = findings.table
    return f"What predicts {clean(table.target)} in the series of {clean(table.name)}"


def _facts(findings: SeriesFindings) -> tuple[tuple[str, str], ...]:
    """Return the lines of the front page: what is said, and its value."""
    table = findings.table
    lines = [("Series", f"{table.n_series:,}"), ("Values of a series", lengths(findings))]
    if table.channels:
        lines.append(("Channels", named(table.channels, _NAMED)))
    return (*lines, ("Target", clean(table.target)), *run_facts(findings.run))


def _sections(findings: SeriesFindings) -> Iterator[Section]:
    """Yield all sections in order."""
    yield _features_section(findings)
    yield Section("front", "What each feature buys", tuple(_front_blocks(findings)))
    if findings.comparison is not None:
        yield Section("methods-compared", "Beside plain methods", tuple(_beside(findings)))
    yield Section("series", "The series", tuple(_series_blocks(findings)))
    yield _methods(findings)


def _features_section(findings: SeriesFindings) -> Section:
    words = " ".join(one.words for one in findings.features)
    known = [said for term, said in _TERMS if term in words]
    return Section(
        "features",
        "The features",
        (
            paragraph(
                "Each feature is one number for each series. Where it looks is shaded; medians and "
                "pairs are those of the series that were searched."
            ),
            *((bullets(*known),) if known else ()),
        ),
        sections=tuple(
            Section(
                f"feature-{k}",
                words_of_feature(one),
                (paragraph(*_said(findings, one)), *figures(findings, one.picture)),
            )
            for k, one in enumerate(findings.features, start=1)
        ),
    )


def _said(findings: SeriesFindings, feature: SeriesFeature) -> Iterator[str]:
    table, names = findings.table, [clean(name) for name, _ in feature.medians]
    yield _place(findings, feature)
    values = [f"{short(value)} for {quoted(name)}" for name, value in feature.medians]
    yield f"Typical values: {joined(values, _NAMED)}."
    if table.task == "regression":
        way = "rises" if feature.agreement > 0 else "falls"
        yield (
            f"With it {clean(table.target)} {way}: rank correlation "
            f"{decimal(feature.agreement, 2)}."
        )
    elif len(names) == 2:
        larger, smaller = (1, 0) if feature.agreement >= 0.5 else (0, 1)
        share = max(feature.agreement, 1 - feature.agreement)
        yield (
            f"In {percent(share)} of all pairs of a “{names[larger]}” and a “{names[smaller]}” "
            f"series the “{names[larger]}” one has the larger value."
        )


def _place(findings: SeriesFindings, feature: SeriesFeature) -> str:
    table = findings.table
    if (feature.begin, feature.end) == (0.0, 1.0):
        return "It looks at the whole series."
    if table.shortest != table.longest:
        return f"It looks at {percent(feature.begin)} to {percent(feature.end)} of each series."
    first = min(int(feature.begin * table.longest + 0.5), table.longest - 1)
    last = min(max(int(feature.end * table.longest + 0.5), first + 1), table.longest)
    said = f"It looks at values {first + 1:,} to {last:,} of {table.longest:,}"
    if len(table.columns) == table.longest:
        ends = clean(table.columns[first]), clean(table.columns[last - 1])
        if ends != (str(first + 1), str(last)):
            said += f", columns {ends[0]} to {ends[1]}"
    return f"{said}."


def _front_blocks(findings: SeriesFindings) -> Iterator[Block]:
    front = findings.front
    rule = _RULES.get(findings.choose, f"chosen by the rule {clean(findings.choose)}")
    size = count(front.chosen.size, "feature")
    yield paragraph(f"Chosen: {size}; {rule}.", _search_is_kind(findings))
    yield from figures(findings, front.picture)
    yield _front_table(findings)


def _search_is_kind(findings: SeriesFindings) -> str:
    known = [one for one in findings.front.sizes if not math.isnan(one.outside)]
    if not known:
        return ""
    return (
        "Errors in the search are of the best of many and so too good; on new series the whole "
        "search was run again without them, and took the best with at most so many features."
    )


def _front_table(findings: SeriesFindings) -> Table:
    front = findings.front
    number = front.measure == "typical miss"
    what = "Typical miss" if number else "Wrong"

    def cell(value: float, *, strong: bool) -> Cell:
        if math.isnan(value):
            return Cell(DASH)
        return Cell(short(value) if number else percent(value), order=value, strong=strong)

    return Table(
        "front-series",
        "The best features of each number; the chosen line is set strong. Guessing has "
        f"{short(front.guessing) if number else percent(front.guessing)}.",
        (
            Heading("Features", numeric=True),
            Heading(f"{what}, search", numeric=True, help="Of series left out, one by one."),
            Heading(f"{what}, new series", numeric=True, help="On outer folds."),
            Heading("Cost", numeric=True, help="Operations for one series."),
        ),
        tuple(
            (
                Cell(f"{one.size:,}", order=float(one.size), strong=one.chosen),
                cell(one.error, strong=one.chosen),
                cell(one.outside, strong=one.chosen),
                Cell(f"{one.cost:,.0f}", order=one.cost, strong=one.chosen),
            )
            for one in front.sizes
        ),
    )


def _beside(findings: SeriesFindings) -> Iterator[Block]:
    found = findings.comparison
    if found is None:
        return
    yield paragraph(
        f"All methods had the same {findings.n_outer} outer folds; none had seen the series that "
        "it was tested on, and the features were searched for anew in each.",
    )
    yield from figures(findings, found.picture)
    yield _methods_table(findings)
    for name, why in found.left_out:
        yield paragraph(f"Not among them: {with_article(name)}, since {clean(why)}.")


def _methods_table(findings: SeriesFindings) -> Table:
    models = compared_models(findings)
    numbers = findings.table.task == "regression"
    rare = findings.comparison is not None and findings.comparison.metric == "log loss"
    error = Heading("Typical miss" if numbers else "Wrong", numeric=True, help="On new series.")
    also = (Heading("Log loss", numeric=True, help="Of probabilities; less is better."),)
    return Table(
        "table-methods",
        "All methods, the best first.",
        (
            Heading("Method"),
            error,
            Heading("Interval", numeric=True, help=f"95 %{', of the variance left' * numbers}."),
            *(also if rare else ()),
            Heading("Behind", numeric=True, help="The best: 95 % interval, same series."),
            Heading("What it does"),
        ),
        tuple(_method_row(findings, one, rare=rare) for one in models),
        emphasised=tuple(k for k, one in enumerate(models) if one.family == "guessing"),
    )


def _method_row(findings: SeriesFindings, one: ComparedModel, *, rare: bool) -> tuple[Cell, ...]:
    strong, gap = one.family == OURS, one.difference
    behind = DASH if one.is_best else percent_range(gap)
    if rare and not one.is_best:
        behind = f"{decimal(gap.low, 3)} to {decimal(gap.high, 3)}"
    numbers = findings.table.task == "regression"
    error = miss(one, findings.unit) if numbers else percent(one.error.estimate)
    return (
        Cell(clean(one.name), strong=strong),
        Cell(error, order=one.error.estimate, strong=strong),
        Cell(percent_range(one.error) if numbers else share_range(one.error)),
        *((number_cell(one.log_loss, 3),) if rare else ()),
        Cell(behind, order=gap.estimate),
        Cell(clean(one.words).replace("every row", "every series")),
    )


def _series_blocks(findings: SeriesFindings) -> Iterator[Block]:
    table = findings.table
    said = f"{count(table.n_series, 'series', 'series')} of {lengths(findings)} values"
    if table.channels:
        said += f" in {spelled(len(table.channels))} channels, {named(table.channels, _NAMED)},"
    if table.classes:
        sizes = [f"{n:,} {quoted(name)}" for name, n in table.classes]
        said += f" were used: {joined(sizes, 12)}"
    else:
        said += " were used"
    yield paragraph(f"{said}.", _form(findings))
    done = tuple(_treatments(findings))
    if done:
        yield bullets(*done)


def _form(findings: SeriesFindings) -> str:
    table = findings.table
    if table.is_long:
        order = f"in the order of {clean(table.time)}" if table.time else "in the order of the rows"
        return (
            f"A row of the table is one measurement; {clean(table.id)} names its series, and "
            f"values are {order}."
        )
    first, last = clean(table.columns[0]), clean(table.columns[-1])
    return f"A row of the table is one series, from column {first} to column {last}."


def _treatments(findings: SeriesFindings) -> Iterator[str]:
    table = findings.table
    if table.shortest != table.longest:
        yield (
            "Series have different lengths: features look at shares of each; for the plain "
            "methods that compare point by point all were stretched to the middle length."
        )
    if table.n_uneven:
        yield (
            f"Times are not evenly spaced in {count(table.n_uneven, 'series', 'series')}: values "
            "were put on even steps, on the straight lines between the measured ones."
        )
    if table.n_filled:
        yield (
            f"{count(table.n_filled, 'missing value')} inside of series {_were(table.n_filled)} "
            "taken from the straight line between neighbours; missing values at the end end a "
            "series."
        )
    for n, why in (
        (table.n_without_target, "without a target"),
        (table.n_empty, "without a value in a channel"),
        (table.n_rare, "of classes with fewer than 3"),
    ):
        if n:
            yield f"{count(n, 'series', 'series')} {why} {_were(n)} left out."
    if table.n_without_id:
        rows = count(table.n_without_id, "row")
        yield f"{rows} without {clean(table.id)} {_were(table.n_without_id)} left out."
    if table.left_out:
        holds = "it holds" if len(table.left_out) == 1 else "they hold"
        columns = named(table.left_out, _NAMED)
        yield f"Not part of the series, since {holds} no numbers: {columns}."


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def _methods(findings: SeriesFindings) -> Section:
    trees = [(Code(clean(one.tree)), ".") for one in findings.features]
    honest = (
        "Honest errors come from outer folds, in each of which the whole search ran again without "
        "the series that it was tested on."
        if findings.n_outer
        else "No honest error was measured."
    )
    return Section(
        "methods",
        "How this was found",
        (
            paragraph(
                f"{findings.front.n_tried:,} method trees were computed (Mierswa 2009): functions "
                "of parts of a series, of its steps, bends and running sum, of its spectrum and "
                "its correlation with itself. Genetic programming varied the best, several "
                "filters ranked them, and NSGA-II searched for subsets by the error of series "
                "left out, in kernel ridge regression on the standardised features.",
                honest,
                _warping_words(findings),
            ),
            paragraph("The features as parsimon.features.series.parse_tree reads them:"),
            bullets(*trees),
            paragraph(options(findings.run), software(findings.run)),
            *again(findings.run),
        ),
        folded=True,
    )


def _warping_words(findings: SeriesFindings) -> str:
    if not any(one.key == "warping" for one in compared_models(findings)):
        return ""
    return (
        "With warping, points of a series may shift by a tenth of its length to meet those of "
        "another (Sakoe and Chiba 1978)."
    )


def _works(findings: SeriesFindings) -> tuple[str, ...]:
    return ("Mierswa 2009", *(["Sakoe and Chiba 1978"] if _warping_words(findings) else []))


OUTLINE = Outline(
    title=_title,
    kind=lambda _: "A few features in words",
    lead=series_screen,
    sections=_sections,
    summary=summarise_series,
    works=_works,
    facts=_facts,
)
