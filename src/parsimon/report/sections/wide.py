"""The report about a table with more columns than rows: which are chosen again, and how good.

Read `OUTLINE` first: it names the parts.
"""

import math
from collections.abc import Iterator, Sequence

from parsimon.report.document import Block, Cell, Figure, Heading, KeyFigure, Section, Table
from parsimon.report.findings.column_findings import StableColumn, WideFindings
from parsimon.report.sections import _page as page
from parsimon.report.sections._blocks import bullets, note, paragraph, target_of
from parsimon.report.sections._phrases import DASH, clean, count, joined, were

_NAMED, _ALIKE = 6, 4
_WORKS = (
    "Clark 2011",
    "Meinshausen and Bühlmann 2010",
    "Nogueira et al. 2018",
    "Shah and Samworth 2013",
    "Tusher et al. 2001",
)


def _facts(findings: WideFindings) -> list[tuple[str, str]]:
    table = findings.table
    lines = [
        ("Rows", f"{table.n_rows:,}"),
        ("Columns", f"{table.n_columns:,}"),
        ("Target", clean(table.target)),
        ("Splits", f"{findings.n_splits:,} into halves"),
    ]
    fixed = ", ".join(map(clean, table.fixed))
    return [*lines, ("Fixed", fixed)] if fixed else lines


def _lead(findings: WideFindings) -> tuple[Block, ...]:
    return page.first_screen(
        _answer(findings),
        (_good(findings),),
        _key_figures(findings),
        _figures(findings, "totals"),
        page.sure_and_unsure(_found(findings), (_screened_names(findings),), _doubts(findings)),
    )


def _summary(findings: WideFindings) -> tuple[str, ...]:
    return (_answer(findings), *_found(findings), _good(findings))


def _answer(findings: WideFindings) -> str:
    """Return which columns predict whichever rows are taken."""
    kept, target = _kept(findings), target_of(findings)
    if not kept:
        return (
            f"No column surely predicts {target}: none is chosen again and again from other rows."
        )
    verb = "predicts" if findings.n_kept == 1 else "predict"
    which = "either half of the rows" if findings.n_splits == 1 else "most halves of the rows"
    return f"{kept} {verb} {target}, chosen from {which}."


def _kept(findings: WideFindings) -> str:
    """Return the stable columns; empty if there are none."""
    names = [column.name for column in findings.columns if column.kept]
    return _listed(names, findings.n_kept) if names else ""


def _listed(names: Sequence[str], n: int) -> str:
    """Return the first of n names as a list."""
    shown = [clean(name) for name in names[:_NAMED]]
    more = n - len(shown)
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


def _often(findings: WideFindings) -> str:
    return (
        f"{100 * findings.threshold:.0f} % of the {2 * findings.n_splits:,} fits to halves of the "
        "rows"
    )


def _found(findings: WideFindings) -> tuple[str, ...]:
    """Return which columns are stable, and how many chance would choose; nothing without any."""
    kept, bounds = _kept(findings), dict(findings.expected_false)
    if not kept:
        return ()
    permuted = ""
    if not math.isnan(bounds["permuted"]):
        permuted = f"; with the target permuted {bounds['permuted']:.2g} were"
    return (
        f"{count(findings.n_kept, 'column')} {were(findings.n_kept)} chosen in at least "
        f"{_often(findings)}: {kept}.",
        f"By chance alone at most {bounds['meinshausen_buhlmann']:.2g} columns would be chosen so "
        f"often{permuted}.",
    )


def _doubts(findings: WideFindings) -> Iterator[str]:
    """Yield what keeps a reader careful, the gravest first."""
    if not _kept(findings):
        yield (
            f"No column was selected in {_often(findings)}; more rows are needed, or columns must "
            "be grouped."
        )
    yield from _treatments(findings)
    if findings.suspects:
        rows = joined([f"{row.row} ({clean(row.label)})" for row in findings.suspects])
        many = "Row" if len(findings.suspects) == 1 else "Rows"
        yield f"{many} {rows} may have the wrong label."
    if any(column.alike for column in findings.columns if column.kept):
        yield "Some of these columns stand for others that say the same: see the table."
    yield page.NOT_A_CAUSE


def _good(findings: WideFindings) -> str:
    what = "an AUC" if findings.table.classes else "a concordance"
    guess = "0.5" if math.isnan(findings.null_sd) else f"0.50 ± {findings.null_sd:.2f}"
    return (
        f"Models of a half have {what} of {findings.area:.2f} on the other half; guessing has "
        f"{guess}."
    )


def _treatments(findings: WideFindings) -> Iterator[str]:
    table = findings.table
    if table.shared_unit:
        yield (
            "All columns were taken for measurements of one kind: values were put on a "
            "logarithm-like scale and the median of each row was taken out."
        )
    if table.n_filled:
        yield f"{count(table.n_filled, 'empty cell')} got the median of the column."
    if table.n_without_target:
        n = table.n_without_target
        yield f"{count(n, 'row')} without a target {were(n)} left out."
    if table.left_out:
        names = [clean(name) for name in table.left_out[:_NAMED]]
        rest = len(table.left_out) - len(names)
        yield (
            f"Left out, since they hold no numbers or one value only: {', '.join(names)}"
            + (f" and {rest:,} more." if rest else ".")
        )


def _sections(findings: WideFindings) -> Iterator[Section]:
    yield _columns(findings)
    yield _models(findings)
    if findings.suspects or not math.isnan(findings.hit_rate):
        yield _labels(findings)
    yield page.how_found(findings.run, paragraph(_method(findings)))


def _figures(findings: WideFindings, *names: str) -> tuple[Figure, ...]:
    found = (findings.picture(name) for name in names)
    return tuple(Figure(drawn.name, drawn) for drawn in found if drawn is not None)


def _columns(findings: WideFindings) -> Section:
    permuted = "Share of columns that so many fits select when the target is permuted."
    table = Table(
        "stable-columns",
        f"The {len(findings.columns)} columns that were selected most often, of "
        f"{2 * findings.n_splits:,} fits and {findings.n_splits:,} splits; those called stable "
        "are set strong.",
        (
            Heading("Column"),
            Heading("Fits", numeric=True, help="Fits to halves that select it."),
            Heading("Both halves", numeric=True, help="Splits in which both halves select it."),
            Heading("Permuted", numeric=True, help=permuted),
            Heading(
                "Screen", numeric=True, help="False discovery rate of a regression on it alone."
            ),
            Heading("Can be replaced by"),
        ),
        tuple(_row(column) for column in findings.columns),
    )
    blocks: list[Block] = [
        paragraph(
            f"The two halves of a split share {findings.observed_coincidences:.1f} columns on "
            f"average; random selections of the same sizes would share "
            f"{findings.expected_coincidences:.2g}, and with a permuted target they share "
            f"{findings.permuted_coincidences:.2g}. Fits of different splits share rows, so that a "
            "column which predicts the target in these rows by luck is chosen again too: the "
            "permuted target is the stricter yardstick."
        ),
        table,
    ]
    screened = _screened_names(findings)
    if screened:
        small = (
            "Their effect may be real, but is small beside the scatter that is typical of all "
            "columns, or others say the same and leave them no place."
        )
        blocks.append(paragraph(screened, small))
    blocks += _figures(findings, "totals", "coincidences")
    return Section("columns", "Which columns are chosen from other rows", tuple(blocks))


def _screened_names(findings: WideFindings) -> str:
    """Return which other columns a regression on each alone would name; empty if none."""
    n = len(findings.screened)
    if not n:
        return ""
    return (
        f"A regression on each column alone names {count(n, 'more column')} at a false discovery "
        f"rate of 5 %: {_listed(findings.screened, n)}."
    )


def _row(column: StableColumn) -> tuple[Cell, ...]:
    screen = DASH if math.isnan(column.adjusted_p) else f"{column.adjusted_p:.2g}"
    alike = [clean(name) for name in column.alike[:_ALIKE]]
    rest = len(column.alike) - len(alike)
    return (
        Cell(clean(column.name), strong=column.kept),
        Cell(f"{column.total:,}", order=column.total),
        Cell(f"{column.coincident:,}", order=column.coincident),
        Cell(f"{column.permuted:.2g}", order=column.permuted),
        Cell(screen, order=column.adjusted_p),
        Cell(", ".join(alike) + (f" and {rest} more" if rest > 0 else "")),
    )


def _models(findings: WideFindings) -> Section:
    titles = ("Columns", "AUC" if findings.table.classes else "Concordance", "Stability")
    table = Table(
        "sizes",
        "Models of the best columns of a half, judged on the other half.",
        tuple(Heading(title, numeric=True) for title in titles),
        tuple(
            (
                Cell(str(size.n_columns), order=size.n_columns),
                Cell(f"{size.area:.3f}", order=size.area),
                Cell(f"{size.stability:.2f}", order=size.stability),
            )
            for size in findings.sizes
        ),
    )
    unseen = "Every figure here is of rows that took no part in choosing the columns or in fitting."
    blocks: tuple[Block, ...] = (paragraph(unseen), table, *_figures(findings, "areas", "null"))
    return Section("models", "How good small models are", blocks)


def _labels(findings: WideFindings) -> Section:
    blocks: list[Block] = [paragraph("No row looks more like the other class when it is held out.")]
    if findings.suspects:
        rows = [
            f"row {row.row} ({clean(row.label)}): {row.suspicion:.1f} standard deviations on the "
            "other side"
            for row in findings.suspects
        ]
        blocks = [paragraph("These rows look more like the other class:"), bullets(*rows)]
    if not math.isnan(findings.hit_rate):
        hits = (
            f"When {findings.n_flipped} labels of each class of this table were flipped on "
            f"purpose, {100 * findings.hit_rate:.0f} % of them were among as many rows that "
            "looked most wrong."
        )
        blocks.append(note("note", hits))
    return Section("labels", "Labels that may be wrong", tuple(blocks))


def _method(findings: WideFindings) -> str:
    fixed = joined([clean(name) for name in findings.table.fixed])
    added = f" What a column adds to {fixed} was judged." if fixed else ""
    return (
        f"The rows were dealt into two halves {findings.n_splits:,} times, each class alike, and "
        "columns were selected in each half alone (Clark 2011): those whose classes lie furthest "
        "apart, also without the extreme rows of each, over the scatter of the column and a "
        f"typical scatter (Tusher et al. 2001).{added} A column is stable if at least "
        f"{100 * findings.threshold:.0f} % of the fits select it, which bounds the expected number "
        "of false ones (Meinshausen and Bühlmann 2010; Shah and Samworth 2013). Stability is that "
        "of Nogueira et al. (2018)."
    )


OUTLINE = page.Outline(
    title=lambda f: f"Which columns of {clean(f.table.name)} predict {target_of(f)}",
    kind=lambda _: "Many columns, few rows",
    lead=_lead,
    sections=_sections,
    summary=_summary,
    works=lambda _: _WORKS,
    facts=_facts,
)
