"""The report about a table with more columns than rows: which are chosen again, and how good.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import (
    Block,
    Cell,
    Figure,
    Heading,
    KeyFigure,
    Section,
    Table,
)
from parsimon.report.findings.column_findings import StableColumn, WideFindings
from parsimon.report.sections import _first_screen as screen
from parsimon.report.sections._blocks import bullets, note, paragraph
from parsimon.report.sections._outline import Outline
from parsimon.report.sections._phrases import clean, count, joined
from parsimon.report.sections._run import again, options, run_facts, software

_NAMED = 6
_WORKS = (
    "Clark 2011",
    "Meinshausen and Bühlmann 2010",
    "Nogueira et al. 2018",
    "Shah and Samworth 2013",
    "Tusher et al. 2001",
)


def _title(findings: WideFindings) -> str:
    """Return the report's title."""
    table = findings.table
    return f"Which columns of {clean(table.name)} predict {clean(table.target)}"


def _facts(findings: WideFindings) -> tuple[tuple[str, str], ...]:
    """Return the lines of the front page: what is said, and its value."""
    table = findings.table
    lines = [
        ("Rows", f"{table.n_rows:,}"),
        ("Columns", f"{table.n_columns:,}"),
        ("Target", clean(table.target)),
        ("Splits", f"{findings.n_splits:,} into halves"),
    ]
    if table.fixed:
        lines.append(("Fixed", ", ".join(map(clean, table.fixed))))
    return (*lines, *run_facts(findings.run))


def _lead(findings: WideFindings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    return screen.first_screen(
        _answer(findings),
        (_good(findings),),
        screen.shown_large(_key_figures(findings)),
        _figures(findings, "totals"),
        screen.sure_and_unsure(
            (_found(findings), _wrong(findings)) if _kept(findings) else (),
            (_screened_names(findings),),
            tuple(_doubts(findings)),
        ),
    )


def _summary(findings: WideFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    found = (_found(findings), _wrong(findings)) if _kept(findings) else ()
    return (_answer(findings), *found, _good(findings))


def _answer(findings: WideFindings) -> str:
    """Return which columns predict whichever rows are taken."""
    kept, target = _kept(findings), clean(findings.table.target)
    if not kept:
        return (
            f"No column surely predicts {target}: none is chosen again and again from other rows."
        )
    verb = "predicts" if findings.n_kept == 1 else "predict"
    which = "either half of the rows" if findings.n_splits == 1 else "most halves of the rows"
    return f"{_listed(findings, kept)} {verb} {target}, chosen from {which}."


def _kept(findings: WideFindings) -> list[str]:
    return [clean(one.name) for one in findings.columns if one.kept]


def _listed(findings: WideFindings, names: list[str]) -> str:
    shown = names[:_NAMED]
    more = findings.n_kept - len(shown)
    return f"{', '.join(shown)} and {more:,} more" if more > 0 else joined(shown)


def _key_figures(findings: WideFindings) -> Iterator[KeyFigure]:
    yield KeyFigure(f"{findings.n_kept:,}", "stable columns", f"of {findings.table.n_columns:,}")
    bound = dict(findings.expected_false)["meinshausen_buhlmann"]
    if findings.n_kept:
        yield KeyFigure(f"{bound:.2g}", "of them expected by chance", "at most")
    yield KeyFigure(
        f"{findings.area:.2f}",
        "AUC on other rows" if findings.table.classes else "concordance on other rows",
        f"± {findings.area_sd:.2f} over the fits",
    )
    value, low, high = findings.stability
    yield KeyFigure(
        f"{value:.2f}", "stability", f"{low:.2f} to {high:.2f}; 0 is chance, 1 the same"
    )


def _found(findings: WideFindings) -> str:
    return (
        f"{count(findings.n_kept, 'column')} {_were(findings.n_kept)} chosen in at least "
        f"{100 * findings.threshold:.0f} % of the {2 * findings.n_splits:,} fits to halves of the "
        f"rows: {_listed(findings, _kept(findings))}."
    )


def _doubts(findings: WideFindings) -> Iterator[str]:
    """Yield what keeps a reader careful, the gravest first."""
    if not _kept(findings):
        yield (
            f"No column was selected in {100 * findings.threshold:.0f} % of the "
            f"{2 * findings.n_splits:,} fits to halves of the rows; more rows are needed, or "
            "columns must be grouped."
        )
    yield from _treatments(findings)
    if findings.suspects:
        rows = joined([f"{one.row} ({clean(one.label)})" for one in findings.suspects])
        many = "Row" if len(findings.suspects) == 1 else "Rows"
        yield f"{many} {rows} may have the wrong label."
    if any(one.alike for one in findings.columns if one.kept):
        yield "Some of these columns stand for others that say the same: see the table."
    yield screen.NOT_A_CAUSE


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def _wrong(findings: WideFindings) -> str:
    bounds = dict(findings.expected_false)
    sentence = (
        f"By chance alone at most {bounds['meinshausen_buhlmann']:.2g} columns would be chosen so "
        "often"
    )
    permuted = bounds["permuted"]
    if math.isnan(permuted):
        return f"{sentence}."
    return f"{sentence}; with the target permuted {permuted:.2g} were."


def _good(findings: WideFindings) -> str:
    what = "an AUC" if findings.table.classes else "a concordance"
    sentence = f"Models of a half have {what} of {findings.area:.2f} on the other half"
    if math.isnan(findings.null_sd):
        return f"{sentence}; guessing has 0.5."
    return f"{sentence}; guessing has 0.50 ± {findings.null_sd:.2f}."


def _treatments(findings: WideFindings) -> tuple[str, ...]:
    table = findings.table
    said = []
    if table.shared_unit:
        said.append(
            "All columns were taken for measurements of one kind: values were put on a "
            "logarithm-like scale and the median of each row was taken out."
        )
    if table.n_filled:
        said.append(f"{count(table.n_filled, 'empty cell')} got the median of the column.")
    if table.n_without_target:
        n = table.n_without_target
        said.append(f"{count(n, 'row')} without a target {_were(n)} left out.")
    if table.left_out:
        names = [clean(name) for name in table.left_out[:_NAMED]]
        rest = len(table.left_out) - len(names)
        said.append(
            f"Left out, since they hold no numbers or one value only: {', '.join(names)}"
            + (f" and {rest:,} more." if rest else ".")
        )
    return tuple(said)


def _sections(findings: WideFindings) -> Iterator[Section]:
    """Return all sections in order."""
    yield _columns(findings)
    yield _models(findings)
    if findings.suspects or not math.isnan(findings.hit_rate):
        yield _labels(findings)
    yield _methods(findings)


def _figures(findings: WideFindings, *names: str) -> tuple[Figure, ...]:
    found = (findings.picture(name) for name in names)
    return tuple(Figure(one.name, one) for one in found if one is not None)


def _columns(findings: WideFindings) -> Section:
    headings = (
        Heading("Column"),
        Heading("Fits", numeric=True, help="Fits to halves that select it."),
        Heading("Both halves", numeric=True, help="Splits in which both halves select it."),
        Heading(
            "Permuted",
            numeric=True,
            help="Share of columns that so many fits select when the target is permuted.",
        ),
        Heading("Screen", numeric=True, help="False discovery rate of a regression on it alone."),
        Heading("Can be replaced by"),
    )
    table = Table(
        "stable-columns",
        f"The {len(findings.columns)} columns that were selected most often, of "
        f"{2 * findings.n_splits:,} fits and {findings.n_splits:,} splits; those called stable "
        "are set strong.",
        headings,
        tuple(_row(one) for one in findings.columns),
    )
    return Section(
        "columns",
        "Which columns are chosen from other rows",
        (
            paragraph(
                f"The two halves of a split share {findings.observed_coincidences:.1f} columns on "
                f"average; random selections of the same sizes would share "
                f"{findings.expected_coincidences:.2g}, and with a permuted target they share "
                f"{findings.permuted_coincidences:.2g}. Fits of different splits share rows, so "
                "that a column which predicts the target in these rows by luck is chosen again "
                "too: the permuted target is the stricter yardstick."
            ),
            table,
            *_screened(findings),
            *_figures(findings, "totals", "coincidences"),
        ),
    )


def _screened_names(findings: WideFindings) -> str:
    """Return which other columns a regression on each alone would name; empty if none."""
    names = [clean(name) for name in findings.screened[:_NAMED]]
    if not names:
        return ""
    rest = len(findings.screened) - len(names)
    return (
        f"A regression on each column alone names {count(len(findings.screened), 'more column')} "
        "at a false discovery rate of 5 %: "
        + (f"{', '.join(names)} and {rest:,} more." if rest else f"{joined(names)}.")
    )


def _screened(findings: WideFindings) -> tuple[Block, ...]:
    said = _screened_names(findings)
    if not said:
        return ()
    return (
        paragraph(
            said,
            "Their effect may be real, but is small beside the scatter that is typical of all "
            "columns, or others say the same and leave them no place.",
        ),
    )


def _row(one: StableColumn) -> tuple[Cell, ...]:
    screen = "–" if math.isnan(one.adjusted_p) else f"{one.adjusted_p:.2g}"
    alike = [clean(name) for name in one.alike[:4]]
    rest = len(one.alike) - len(alike)
    return (
        Cell(clean(one.name), strong=one.kept),
        Cell(f"{one.total:,}", order=one.total),
        Cell(f"{one.coincident:,}", order=one.coincident),
        Cell(f"{one.permuted:.2g}", order=one.permuted),
        Cell(screen, order=one.adjusted_p),
        Cell(", ".join(alike) + (f" and {rest} more" if rest > 0 else "")),
    )


def _models(findings: WideFindings) -> Section:
    measure = "AUC" if findings.table.classes else "Concordance"
    table = Table(
        "sizes",
        "Models of the best columns of a half, judged on the other half.",
        (
            Heading("Columns", numeric=True),
            Heading(measure, numeric=True),
            Heading("Stability", numeric=True),
        ),
        tuple(
            (
                Cell(str(one.n_columns), order=one.n_columns),
                Cell(f"{one.area:.3f}", order=one.area),
                Cell(f"{one.stability:.2f}", order=one.stability),
            )
            for one in findings.sizes
        ),
    )
    return Section(
        "models",
        "How good small models are",
        (
            paragraph(
                "Every figure here is of rows that took no part in choosing the columns or in "
                "fitting."
            ),
            table,
            *_figures(findings, "areas", "null"),
        ),
    )


def _labels(findings: WideFindings) -> Section:
    blocks: list[Block] = []
    if findings.suspects:
        rows = [
            f"row {one.row} ({clean(one.label)}): {one.suspicion:.1f} standard deviations on the "
            "other side"
            for one in findings.suspects
        ]
        blocks += [paragraph("These rows look more like the other class:"), bullets(*rows)]
    else:
        blocks.append(paragraph("No row looks more like the other class when it is held out."))
    if not math.isnan(findings.hit_rate):
        blocks.append(
            note(
                "note",
                f"When {findings.n_flipped} labels of each class of this table were flipped on "
                f"purpose, {100 * findings.hit_rate:.0f} % of them were among as many rows that "
                "looked most wrong.",
            )
        )
    return Section("labels", "Labels that may be wrong", tuple(blocks))


def _methods(findings: WideFindings) -> Section:
    fixed = (
        f" What a column adds to {joined([clean(one) for one in findings.table.fixed])} was judged."
        if findings.table.fixed
        else ""
    )
    return Section(
        "methods",
        "How this was found",
        (
            paragraph(
                f"The rows were dealt into two halves {findings.n_splits:,} times, each class "
                "alike, and columns were selected in each half alone (Clark 2011): those whose "
                "classes lie furthest apart, also without the extreme rows of each, over the "
                "scatter of the column and a typical scatter "
                f"(Tusher et al. 2001).{fixed} A column is stable if at least "
                f"{100 * findings.threshold:.0f} % of the fits select it, which bounds the "
                "expected number of false ones (Meinshausen and Bühlmann 2010; Shah and Samworth "
                "2013). Stability is that of Nogueira et al. (2018)."
            ),
            paragraph(options(findings.run), software(findings.run)),
            *again(findings.run),
        ),
        folded=True,
    )


OUTLINE = Outline(
    title=_title,
    kind=lambda _: "Many columns, few rows",
    lead=_lead,
    sections=_sections,
    summary=_summary,
    works=lambda _: _WORKS,
    facts=_facts,
)
