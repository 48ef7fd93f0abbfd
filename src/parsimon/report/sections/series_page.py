"""The report about series: which few features predict the target, what each looks at, how well.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import Block, Cell, Code, Heading, KeyFigure, Section, Table
from parsimon.report.findings import ComparedModel, ModelComparison
from parsimon.report.findings.series_findings import SeriesFeature, SeriesFindings
from parsimon.report.sections import _page as page
from parsimon.report.sections import _phrases as say
from parsimon.report.sections._blocks import bullets, figures, number_cell, paragraph, target_of
from parsimon.report.sections._features import error_cell, error_words
from parsimon.report.sections._models import (
    explained_share,
    gap_range,
    guesses,
    measured,
    miss,
    the,
    with_article,
)

# Who searches for features, as the comparison has it.
_OURS = "features"
_NO_USE = (
    "The features and the saved model were not found to be better than guessing; what the page "
    "shows of them may be chance."
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


def _facts(findings: SeriesFindings) -> list[tuple[str, str]]:
    table = findings.table
    lines = [("Series", f"{table.n_series:,}"), ("Values of a series", _lengths(findings))]
    if table.channels:
        lines.append(("Channels", say.named(table.channels)))
    return [*lines, ("Target", say.clean(table.target))]


def _lead(findings: SeriesFindings) -> tuple[Block, ...]:
    pictures = [feature.picture for feature in findings.features] or [findings.front.picture]
    beats = _beats_guessing(findings)
    return page.first_screen(
        _answer(findings),
        (_how_well(findings),),
        _key_figures(findings),
        figures(findings, pictures[0]),
        page.sure_and_unsure(
            _certainties(findings),
            (f"{_words_of_feature(feature)}." for feature in findings.features if beats),
            _doubts(findings),
        ),
    )


def _summary(findings: SeriesFindings) -> tuple[str, ...]:
    features = (f"{k}. {_words_of_feature(one)}" for k, one in enumerate(findings.features, 1))
    first = f"{_answer(findings)} {_how_well(findings)}".strip()
    return (first, *features, *_certainties(findings), *filter(None, _doubts(findings)))


def _answer(findings: SeriesFindings) -> str:
    """Return the answer in one sentence."""
    n, table = len(findings.features), findings.table
    verb, what = (
        "separate",
        f"the {say.spelled(len(table.classes))} classes of {target_of(findings)}",
    )
    if table.task == "regression":
        verb, what = "predict", target_of(findings)
    elif len(table.classes) == 2:
        what = " from ".join(say.quoted(name) for name, _ in table.classes)
    those = f"{say.opened(say.spelled(n, 'feature'))} of a series"
    does = f"{those} {verb}{'s' * (n == 1)} {what}"
    if _own(findings) is None:
        none = f"No feature was found that {verb}s {what}, not even in the search."
        return f"{does} in the search." if findings.learns else none
    if not _beats_guessing(findings):
        return f"No feature was found that surely {verb}s {what}."
    return f"{does}."


def _how_well(findings: SeriesFindings) -> str:
    """Return how good the features are on new series, beside guessing and the best plain method."""
    found, own, guess, rival = _compared(findings)
    alone = len(findings.features) == 1
    if found is None or own is None:
        does = "it does" if alone else "they do"
        return f"How well {does} on new series was not measured." if findings.learns else ""
    beside = []
    if guess is not None:
        beside.append(f"guessing {measured(found, guess, findings.unit)}")
    if rival is not None:
        error = measured(found, rival, findings.unit)
        beside.append(f"the best plain method, {the(rival)}, {error}")
    who, error = "It" if alone else "They", measured(found, own, findings.unit)
    sure = f"(95{say.NARROW}% interval"
    how = f"{who} called {error} of new series wrongly {sure} {say.share_range(own.error)})"
    if findings.table.task == "regression":
        how = f"{who} missed new series by {error} on average"
        if _beats_guessing(findings):
            how += (
                f" and so explain{'s' * alone} {say.percent(1 - own.error.estimate)} of the "
                f"variance {sure} {say.percent_range(explained_share(own.error))})"
            )
    return f"{how}{'; ' if beside else ''}{say.joined(beside)}."


def _certainties(findings: SeriesFindings) -> tuple[str, ...]:
    if _own(findings) is None or not _beats_guessing(findings):
        return ()
    sure, verdict = _verdict(findings)
    return ("New series are predicted better than by guessing.", *([verdict] if sure else []))


def _doubts(findings: SeriesFindings) -> Iterator[str]:
    """Yield what keeps a reader careful, the gravest first."""
    beats = _beats_guessing(findings)
    sure, verdict = _verdict(findings)
    yield "" if beats else _NO_USE
    yield page.TIME_ENDED if findings.stopped else ""
    yield "" if sure else verdict
    if beats:
        yield "Other features may do as well as these."
        yield page.NOT_A_CAUSE


def _own(findings: SeriesFindings) -> ComparedModel | None:
    return None if findings.comparison is None else findings.comparison.of_family(_OURS)


def _compared(
    findings: SeriesFindings,
) -> tuple[
    ModelComparison | None, ComparedModel | None, ComparedModel | None, ComparedModel | None
]:
    """Return the comparison, and of it our features, guessing, and the best plain method."""
    found = findings.comparison
    if found is None:
        return None, None, None, None
    rivals = [model for model in found.models if model.is_rival]
    if found.metric == "log loss":
        # What gives no probabilities cannot be compared by them.
        rivals = [model for model in rivals if not math.isnan(model.log_loss)] or rivals
    return found, _own(findings), found.of_family("guessing"), next(iter(rivals), None)


def _beats_guessing(findings: SeriesFindings) -> bool:
    """Tell whether the features are better than guessing by more than chance allows."""
    _, own, guess, _ = _compared(findings)
    if own is None or guess is None:
        return findings.learns
    if own.error.estimate >= guess.error.estimate:
        return False
    return not (own.is_best and guess.is_level)


def _verdict(findings: SeriesFindings) -> tuple[bool, str]:
    """Say whether the features or the best plain method is better, and if the features surely."""
    found, own, rival = findings.comparison, *_compared(findings)[1::2]
    if own is None or rival is None or found is None or not _beats_guessing(findings):
        return False, ""
    if not (own.is_best or rival.is_best):
        return False, ""
    gap = (rival if own.is_best else own).difference
    unit = "of the variance" if findings.table.task == "regression" else "of the series"
    unit = "in log loss" if found.metric == "log loss" else unit
    said = f"paired difference {gap_range(found, gap)} {unit}"
    if gap.low <= 0:
        return False, f"Whether the features or {the(rival)} do better is not shown ({said})."
    if own.is_best:
        return True, f"The features are better than {the(rival)} by more than chance ({said})."
    better = (
        f"{say.opened(the(rival))} is better by more than chance ({said}), but names no feature."
    )
    return False, better


def _key_figures(findings: SeriesFindings) -> Iterator[KeyFigure]:
    _, own, guess, rival = _compared(findings)
    number, n = findings.table.task == "regression", len(findings.features)

    def error(model: ComparedModel) -> str:
        return miss(model, findings.unit) if number else say.percent(model.error.estimate)

    if own is not None:
        label, detail, verb = "wrong on new series", say.share_range(own.error), "wrong"
        if number:
            share = say.percent(max(0.0, 1 - own.error.estimate))
            label, detail, verb = "typical miss on new series", f"explains {share}", "missed"
        yield KeyFigure(error(own), label, detail)
        if rival is not None:
            yield KeyFigure(error(rival), f"{verb} by the best plain method", say.clean(rival.name))
        if guess is not None:
            always = "the mean" if number else "the commonest class"
            yield KeyFigure(error(guess), f"{verb} by guessing", always)
    yield KeyFigure(
        f"{n:,}", "feature" if n == 1 else "features", f"of {_lengths(findings)} values"
    )


def _words_of_feature(feature: SeriesFeature) -> str:
    """Return a feature in words, numbers and their signs on one line."""
    return say.opened(say.clean(feature.words).replace(" %", f"{say.NARROW}%"))


def _lengths(findings: SeriesFindings) -> str:
    """Return how many values a series has."""
    low, high = findings.table.shortest, findings.table.longest
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _sections(findings: SeriesFindings) -> Iterator[Section]:
    found = findings.comparison
    yield _features_section(findings)
    yield Section("front", "What each feature buys", tuple(_front_blocks(findings)))
    if found is not None:
        beside = tuple(_beside(findings, found))
        yield Section("methods-compared", "Beside plain methods", beside)
    yield Section("series", "The series", tuple(_series_blocks(findings)))
    yield page.how_found(
        findings.run,
        paragraph(*_method(findings), _warping_words(findings)),
        paragraph("The features as parsimon.features.series.parse_tree reads them:"),
        bullets(*((Code(say.clean(feature.tree)), ".") for feature in findings.features)),
    )


def _features_section(findings: SeriesFindings) -> Section:
    words = " ".join(feature.words for feature in findings.features)
    known = [said for term, said in _TERMS if term in words]
    blocks = (
        paragraph(
            "Each feature is one number for each series. Where it looks is shaded; medians and "
            "pairs are those of the series that were searched."
        ),
        *((bullets(*known),) if known else ()),
    )
    inner = tuple(
        Section(
            f"feature-{k}",
            _words_of_feature(feature),
            (paragraph(*_about(findings, feature)), *figures(findings, feature.picture)),
        )
        for k, feature in enumerate(findings.features, start=1)
    )
    return Section("features", "The features", blocks, inner)


def _about(findings: SeriesFindings, feature: SeriesFeature) -> Iterator[str]:
    """Yield where a feature looks, its typical values, and how the target goes with it."""
    names = [say.clean(name) for name, _ in feature.medians]
    yield _place(findings, feature)
    values = [f"{say.short(value)} for {say.quoted(name)}" for name, value in feature.medians]
    yield f"Typical values: {say.joined(values, _NAMED)}."
    if findings.table.task == "regression":
        way = "rises" if feature.agreement > 0 else "falls"
        rank = say.decimal(feature.agreement, 2)
        yield f"With it {target_of(findings)} {way}: rank correlation {rank}."
    elif len(names) == 2:
        larger, smaller = (1, 0) if feature.agreement >= 0.5 else (0, 1)
        share = max(feature.agreement, 1 - feature.agreement)
        yield (
            f"In {say.percent(share)} of all pairs of a “{names[larger]}” and a “{names[smaller]}” "
            f"series the “{names[larger]}” one has the larger value."
        )


def _place(findings: SeriesFindings, feature: SeriesFeature) -> str:
    table = findings.table
    if (feature.begin, feature.end) == (0.0, 1.0):
        return "It looks at the whole series."
    if table.shortest != table.longest:
        part = f"{say.percent(feature.begin)} to {say.percent(feature.end)}"
        return f"It looks at {part} of each series."
    first = min(int(feature.begin * table.longest + 0.5), table.longest - 1)
    last = min(max(int(feature.end * table.longest + 0.5), first + 1), table.longest)
    said = f"It looks at values {first + 1:,} to {last:,} of {table.longest:,}"
    if len(table.columns) == table.longest:
        ends = say.clean(table.columns[first]), say.clean(table.columns[last - 1])
        if ends != (str(first + 1), str(last)):
            said += f", columns {ends[0]} to {ends[1]}"
    return f"{said}."


def _front_blocks(findings: SeriesFindings) -> Iterator[Block]:
    front, kind = findings.front, ""
    rule = _RULES.get(findings.choose, f"chosen by the rule {say.clean(findings.choose)}")
    if any(not math.isnan(size.outside) for size in front.sizes):
        kind = (
            "Errors in the search are of the best of many and so too good; on new series the whole "
            "search was run again without them, and took the best with at most so many features."
        )
    yield paragraph(f"Chosen: {say.count(front.chosen.size, 'feature')}; {rule}.", kind)
    yield from figures(findings, front.picture)
    what = "Typical miss" if front.measure == "typical miss" else "Wrong"
    yield Table(
        "front-series",
        "The best features of each number; the chosen line is set strong. Guessing has "
        f"{error_words(front, front.guessing)}.",
        (
            Heading("Features", numeric=True),
            Heading(f"{what}, search", numeric=True, help="Of series left out, one by one."),
            Heading(f"{what}, new series", numeric=True, help="On outer folds."),
            Heading("Cost", numeric=True, help="Operations for one series."),
        ),
        tuple(
            (
                Cell(f"{size.size:,}", order=float(size.size), strong=size.chosen),
                error_cell(front, size.error, strong=size.chosen),
                error_cell(front, size.outside, strong=size.chosen),
                Cell(f"{size.cost:,.0f}", order=size.cost, strong=size.chosen),
            )
            for size in front.sizes
        ),
    )


def _beside(findings: SeriesFindings, found: ModelComparison) -> Iterator[Block]:
    yield paragraph(
        f"All methods had the same {findings.n_outer} outer folds; none had seen the series that "
        "it was tested on, and the features were searched for anew in each.",
    )
    yield from figures(findings, found.picture)
    numbers = findings.table.task == "regression"
    also: tuple[Heading, ...] = ()
    if found.metric == "log loss":
        also = (Heading("Log loss", numeric=True, help="Of probabilities; less is better."),)
    yield Table(
        "table-methods",
        "All methods, the best first.",
        (
            Heading("Method"),
            Heading("Typical miss" if numbers else "Wrong", numeric=True, help="On new series."),
            Heading("Interval", numeric=True, help=f"95 %{', of the variance left' * numbers}."),
            *also,
            Heading("Behind", numeric=True, help="The best: 95 % interval, same series."),
            Heading("What it does"),
        ),
        tuple(_method_row(findings, found, model) for model in found.models),
        emphasised=guesses(found),
    )
    for name, why in found.left_out:
        yield paragraph(f"Not among them: {with_article(name)}, since {say.clean(why)}.")


def _method_row(
    findings: SeriesFindings, found: ModelComparison, model: ComparedModel
) -> tuple[Cell, ...]:
    strong, gap = model.family == _OURS, model.difference
    numbers = findings.table.task == "regression"
    error = miss(model, findings.unit) if numbers else say.percent(model.error.estimate)
    return (
        Cell(say.clean(model.name), strong=strong),
        Cell(error, order=model.error.estimate, strong=strong),
        Cell(say.percent_range(model.error) if numbers else say.share_range(model.error)),
        *((number_cell(model.log_loss, 3),) if found.metric == "log loss" else ()),
        Cell(say.DASH if model.is_best else gap_range(found, gap), order=gap.estimate),
        Cell(say.clean(model.words).replace("every row", "every series")),
    )


def _series_blocks(findings: SeriesFindings) -> Iterator[Block]:
    table, channels = findings.table, ""
    if table.channels:
        channels = f" in {say.spelled(len(table.channels))} channels, {say.named(table.channels)},"
    sizes = say.joined([f"{n:,} {say.quoted(name)}" for name, n in table.classes], 12)
    yield paragraph(
        f"{_count(table.n_series)} of {_lengths(findings)} values{channels} were used"
        f"{': ' if sizes else ''}{sizes}.",
        _form(findings),
    )
    done = tuple(_treatments(findings))
    if done:
        yield bullets(*done)


def _count(n: int) -> str:
    return say.count(n, "series", "series")


def _form(findings: SeriesFindings) -> str:
    table = findings.table
    if table.is_long:
        order = (
            f"in the order of {say.clean(table.time)}" if table.time else "in the order of the rows"
        )
        return (
            f"A row of the table is one measurement; {say.clean(table.id)} names its series, and "
            f"values are {order}."
        )
    first, last = say.clean(table.columns[0]), say.clean(table.columns[-1])
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
            f"Times are not evenly spaced in {_count(table.n_uneven)}: values were put on even "
            "steps, on the straight lines between the measured ones."
        )
    if table.n_filled:
        yield (
            f"{say.count(table.n_filled, 'missing value')} inside of series "
            f"{say.were(table.n_filled)} "
            "taken from the straight line between neighbours; missing values at the end end a "
            "series."
        )
    for n, why in (
        (table.n_without_target, "without a target"),
        (table.n_empty, "without a value in a channel"),
        (table.n_rare, "of classes with fewer than 3"),
    ):
        if n:
            yield f"{_count(n)} {why} {say.were(n)} left out."
    if table.n_without_id:
        rows = say.count(table.n_without_id, "row")
        yield f"{rows} without {say.clean(table.id)} {say.were(table.n_without_id)} left out."
    if table.left_out:
        holds = "it holds" if len(table.left_out) == 1 else "they hold"
        yield f"Not part of the series, since {holds} no numbers: {say.named(table.left_out)}."


def _method(findings: SeriesFindings) -> tuple[str, str]:
    honest = "No honest error was measured."
    if findings.n_outer:
        honest = (
            "Honest errors come from outer folds, in each of which the whole search ran again "
            "without the series that it was tested on."
        )
    return (
        f"{findings.front.n_tried:,} method trees were computed (Mierswa 2009): functions "
        "of parts of a series, of its steps, bends and running sum, of its spectrum and "
        "its correlation with itself. Genetic programming varied the best, several "
        "filters ranked them, and NSGA-II searched for subsets by the error of series "
        "left out, in kernel ridge regression on the standardised features.",
        honest,
    )


def _warping_words(findings: SeriesFindings) -> str:
    models = () if findings.comparison is None else findings.comparison.models
    if not any(model.key == "warping" for model in models):
        return ""
    return (
        "With warping, points of a series may shift by a tenth of its length to meet those of "
        "another (Sakoe and Chiba 1978)."
    )


OUTLINE = page.Outline(
    title=lambda f: f"What predicts {target_of(f)} in the series of {say.clean(f.table.name)}",
    kind=lambda _: "A few features in words",
    lead=_lead,
    sections=_sections,
    summary=_summary,
    works=lambda f: ("Mierswa 2009", *["Sakoe and Chiba 1978"] * bool(_warping_words(f))),
    facts=_facts,
)
