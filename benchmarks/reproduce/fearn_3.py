"""Chapter 3 of Fearn (2021): tables 3.1 to 3.3, the mean of rows amid clutter.

Every printed figure is there twice: beside the source's form, on samples of the weighted sum from
which the printed rows of ADF and EP seem to come, and beside ours, on samples of the mixture that
the text states. Bars stand where the source can be reproduced: the rows of ADF and EP at 200 rows
and at most a quarter of clutter. The rows of gamma-EP depend on a cap of passes, an optimiser and
multipliers that are not given.

The other rows are findings: eight readings of the generator; the evidence, printed and corrected,
beside quadrature; the evidence of a gamma other than -1, which is no probability; the prior, which
drops out of such a gamma; p-values of the differences, paired and unpaired; orders of rows; and how
often passes settle. The one-minute form has a fifth of the samples and five cells.
"""

from benchmarks.reproduce import _fearn_clutter, _fearn_clutter_rows
from benchmarks.reproduce._resume import run_all
from benchmarks.rows import Row


def rows(*, quick: bool) -> list[Row]:
    """Return all rows; `quick` fits ten samples of five cells."""
    samples = _fearn_clutter.jobs(quick=quick)
    found = run_all(
        samples,
        _fearn_clutter.work,
        title="samples",
        file_name=None if quick else "fearn-3.jsonl",
    )
    readings = run_all(
        _fearn_clutter.generators(quick=quick),
        _fearn_clutter.generated,
        title="generators",
        file_name=None if quick else "fearn-3-generators.jsonl",
    )
    return [
        *_fearn_clutter_rows.table_rows(found),
        *_fearn_clutter_rows.generator_rows(readings),
        *_fearn_clutter_rows.evidence_rows(found),
        *_fearn_clutter_rows.gamma_rows(found),
        *_fearn_clutter_rows.p_value_rows(found),
        *_fearn_clutter_rows.accuracy_rows(found),
        *_fearn_clutter_rows.demonstration_rows(quick=quick),
    ]
