"""R in a process of its own: what it found, what it took, or why it could not."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.phylo import Tree

SCRIPT = Path(__file__).with_name("_phylo.R")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
INSTALL = (
    "R with ape and nlme is missing: install the Debian packages r-base-core, r-cran-ape and "
    "r-cran-nlme for the comparison."
)
# Seconds for all runs on one tree.
LIMIT = 3600.0


class RFit(NamedTuple):
    """What `gls` estimated, and the seconds of each fit, by the clock and of the processor."""

    seconds: list[float]
    processor: list[float]
    pagel_lambda: float
    coefficients: list[float]
    log_likelihood: float
    kilobytes: list[float]
    versions: str

    @property
    def memory(self) -> str:
        """Peak memory of the process in words."""
        if not self.kilobytes:
            return "memory unknown"
        return f"peak {self.kilobytes[0] * 1024 / 1e9:.2f} GB"


def r_is_ready() -> bool:
    """Return whether Rscript runs and has both packages."""
    if shutil.which("Rscript") is None:
        return False
    asked = "quit(status = !(requireNamespace('ape') && requireNamespace('nlme')))"
    return (
        subprocess.run(["Rscript", "-e", asked], capture_output=True, check=False).returncode == 0
    )


def run_r(tree: "Tree", table: "pd.DataFrame", repeats: int) -> RFit | str:
    """Return the fit of y on x, or in words why there is none."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    with tempfile.TemporaryDirectory() as folder:
        newick, csv = Path(folder, "tree.nwk"), Path(folder, "table.csv")
        tree.write(newick)
        table.rename_axis("tip")[["x", "y"]].to_csv(csv, float_format="%.17g")
        command = ["Rscript", str(SCRIPT), str(newick), str(csv), str(repeats)]
        try:
            answer = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return f"stopped after {LIMIT / 60:.0f} minutes without an answer"
    if answer.returncode:
        # Without a word it was ended from outside, as for want of memory.
        said = answer.stderr.strip().splitlines() or ["nothing"]
        return f"ended with status {answer.returncode} and said: {said[-1]}"
    found = json.loads(answer.stdout)
    found["pagel_lambda"] = found.pop("lambda")
    return RFit(**found)
