"""Report on a table: what predicts a column, how sure that is, and how often it is wrong.

Look at the second line (the structure in words), at the honest error beside what the
search itself believed, and at crabs-report.html, which has the pictures. The shell does
the same with `parsimon report crabs.csv --target species`.
"""

from parsimon.datasets import load
from parsimon.report.sections import summary_lines
from parsimon.statistician import analyse


def main() -> None:
    table = load("crabs", target="species").frame
    # A table as it comes: a column of text, and cells that nobody filled in.
    table.loc[::9, "body_depth"] = None

    # Smaller than the defaults (depth 4, 5 outer folds, all cores), to end in seconds.
    analysis = analyse(
        table, "species", name="crabs", positive="blue", depth=2, outer=3, n_jobs=1, seed=0
    )
    for line in summary_lines(analysis.findings):
        print("-", line)

    print("\nDone to the cells:")
    for treatment in analysis.findings.table.treatments:
        print(" ", treatment.kind, treatment.column, treatment.count, treatment.value)

    analysis.to_html("crabs-report.html")
    analysis.save("crabs-model.skops")


if __name__ == "__main__":
    main()
