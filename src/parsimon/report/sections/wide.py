"""The report about a table with more columns than rows: which columns come back, and how good.

Its parts are those of an outline, as `parsimon.report.sections` asks for them.
"""

import math
from collections.abc import Iterator

from parsimon.report.document import (
    Block,
    Cell,
    Figure,
    Heading,
    KeyFigure,
    KeyFigures,
    Section,
    Table,
)
from parsimon.report.sections._blocks import bullets, note, paragraph
from parsimon.report.sections._phrases import clean, count, joined
from parsimon.report.sections._run import again, options, run_facts, software
from parsimon.report.wide_findings import StableColumn, WideFindings

__all__ = ["facts", "lead", "references", "sections", "subtitle", "summary_lines", "title"]

_NAMED = 6


def title(findings: WideFindings) -> str:
    """Return the report's title."""
    table = findings.table
    return f"Which columns of {clean(table.name)} tell {clean(table.target)}"


def subtitle(findings: WideFindings) -> str:
    """Return the line below the title."""
    run = findings.run
    return f"Many columns, few rows: a report written by Parsimon {run.version} on {run.date}"


def facts(findings: WideFindings) -> tuple[tuple[str, str], ...]:
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


def lead(findings: WideFindings) -> tuple[Block, ...]:
    """Return what comes before the first section."""
    figures = [
        KeyFigure(f"{findings.n_kept:,}", "stable columns", f"of {findings.table.n_columns:,}"),
        KeyFigure(
            f"{findings.area:.2f}",
            "AUC on other rows" if findings.table.classes else "concordance on other rows",
            f"± {findings.area_sd:.2f} over the fits",
        ),
        KeyFigure(
            f"{findings.stability[0]:.2f}",
            "stability",
            f"{findings.stability[1]:.2f} to {findings.stability[2]:.2f}; 0 is chance, 1 the same",
        ),
    ]
    said = summary_lines(findings)
    done = _treatments(findings)
    return (
        KeyFigures(tuple(figures)),
        paragraph(*said),
        *((bullets(*done),) if done else ()),
    )


def summary_lines(findings: WideFindings) -> tuple[str, ...]:
    """Return the report in a few plain sentences."""
    return (_found(findings), _wrong(findings), _good(findings))


def _found(findings: WideFindings) -> str:
    fits = 2 * findings.n_splits
    share = f"{100 * findings.threshold:.0f} %"
    kept = [one for one in findings.columns if one.kept]
    if not kept:
        return (
            f"No column was selected in {share} of the {fits:,} fits to halves of the rows, so "
            "none can be called stable; more rows are needed, or columns must be grouped."
        )
    names = [clean(one.name) for one in kept[:_NAMED]]
    more = f" and {findings.n_kept - len(names):,} more" if findings.n_kept > len(names) else ""
    listed = ", ".join(names) + more if more else joined(names)
    return (
        f"{count(findings.n_kept, 'column')} came back in at least {share} of the {fits:,} fits to "
        f"halves of the rows: {listed}."
    )


def _wrong(findings: WideFindings) -> str:
    bounds = dict(findings.expected_false)
    sentence = (
        f"By chance alone at most {bounds['meinshausen_buhlmann']:.2g} columns would be expected "
        "to come back so often"
    )
    permuted = bounds["permuted"]
    if math.isnan(permuted):
        return f"{sentence}."
    return f"{sentence}; with the target permuted {permuted:.2g} did."


def _good(findings: WideFindings) -> str:
    measure = "AUC" if findings.table.classes else "concordance"
    sentence = (
        f"Models of a half have an {measure} of {findings.area:.2f} on the other half"
        if measure == "AUC"
        else f"Models of a half have a concordance of {findings.area:.2f} with the other half"
    )
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
        were = "was" if table.n_without_target == 1 else "were"
        said.append(f"{count(table.n_without_target, 'row')} without a target {were} left out.")
    if table.left_out:
        names = [clean(name) for name in table.left_out[:_NAMED]]
        rest = len(table.left_out) - len(names)
        said.append(
            f"Left out, since they hold no numbers or one value only: {', '.join(names)}"
            + (f" and {rest:,} more." if rest else ".")
        )
    return tuple(said)


def sections(findings: WideFindings) -> Iterator[Section]:
    """Return all sections in order."""
    yield _columns(findings)
    yield _models(findings)
    if findings.suspects or not math.isnan(findings.hit_rate):
        yield _labels(findings)
    yield _methods(findings)


def _figures(findings: WideFindings, *names: str) -> tuple[Block, ...]:
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
        "Which columns come back",
        (
            paragraph(
                f"The two halves of a split share {findings.observed_coincidences:.1f} columns on "
                f"average; random selections of the same sizes would share "
                f"{findings.expected_coincidences:.2g}, and with a permuted target they share "
                f"{findings.permuted_coincidences:.2g}. Fits of different splits share rows, so "
                "that a column which tells the target in these rows by luck comes back too: the "
                "permuted target is the stricter yardstick."
            ),
            table,
            *_screened(findings),
            *_figures(findings, "totals", "coincidences"),
        ),
    )


def _screened(findings: WideFindings) -> tuple[Block, ...]:
    """Return which other columns a regression on each alone would name."""
    names = [clean(name) for name in findings.screened[:_NAMED]]
    if not names:
        return ()
    rest = len(findings.screened) - len(names)
    named = count(len(findings.screened), "more column")
    return (
        paragraph(
            f"A regression on each column alone names {named} at a false discovery rate of 5 %: "
            + (f"{', '.join(names)} and {rest:,} more. " if rest else f"{joined(names)}. ")
            + "Their effect may be real, but is small beside the scatter that is typical of all "
            "columns, or others tell the same and leave them no place."
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


def references(findings: WideFindings) -> tuple[tuple[str, str], ...]:
    """Return the works that this report cites, short and in full."""
    del findings
    return (
        (
            "Clark 2011",
            "Clark, A. R. J. (2011). Multi-Objective ROC Learning for Classification. PhD thesis, "
            "University of Exeter.",
        ),
        (
            "Meinshausen and Bühlmann 2010",
            "Meinshausen, N. and Bühlmann, P. (2010). Stability selection. Journal of the Royal "
            "Statistical Society B 72, 417–473.",
        ),
        (
            "Nogueira et al. 2018",
            "Nogueira, S., Sechidis, K. and Brown, G. (2018). On the stability of feature "
            "selection algorithms. Journal of Machine Learning Research 18(174), 1–54.",
        ),
        (
            "Shah and Samworth 2013",
            "Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control. "
            "Journal of the Royal Statistical Society B 75, 55–80.",
        ),
        (
            "Tusher et al. 2001",
            "Tusher, V. G., Tibshirani, R. and Chu, G. (2001). Significance analysis of "
            "microarrays applied to the ionizing radiation response. PNAS 98, 5116–5121.",
        ),
    )
