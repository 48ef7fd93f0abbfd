"""The whole report on findings made by hand, sentence for sentence.

If a change of wording is meant, write the file anew and read the difference:

    python -m tests.report.test_golden
"""

from pathlib import Path

from parsimon.report.markdown import to_markdown
from parsimon.report.sections import write
from tests.report.samples import findings

GOLDEN = Path(__file__).parent / "golden" / "report.md"


def test_the_report_reads_as_it_was_approved():
    assert to_markdown(write(findings())) == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text(to_markdown(write(findings())), encoding="utf-8")
