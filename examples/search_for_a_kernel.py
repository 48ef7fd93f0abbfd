"""Search for a kernel: which columns matter, alone and together.

Look at the table of the search (neither measure of a crab tells its species, the two
together nearly do), and at the honest score at the end, for which the whole search ran
again in each fold.
"""

from parsimon.datasets import load
from parsimon.evaluation import honest_score
from parsimon.gp import KernelSearch
from parsimon.kernels import Matern, spoken


def main() -> None:
    crabs = load("crabs", target="species")
    X = crabs.data[["frontal_lobe", "carapace_width", "body_depth"]]
    y = crabs.target

    search = KernelSearch(depth=2, random_state=0).fit(X, y)
    print(search.describe(), "\n")

    table = search.history_.to_frame().nsmallest(8, "error").round(3)
    print(table[["kernel", "error", "log_evidence"]].to_string(index=False), "\n")

    for rule in ("best:error", "knee", "best:kernels"):
        model = search.select(rule)  # a fitted GPClassifier
        print(f"{rule}: {spoken(model.kernel_, list(X.columns))}")

    # A kernel of your own, judged on the very same folds.
    own = search.judge((Matern(0) + Matern(1)).start(X))
    print(f"rough functions instead of smooth ones: error {own.error:.3f}\n")

    quick = KernelSearch(depth=2, guide="bic", random_state=0)
    print(honest_score(quick, X, y, outer=3, random_state=0).describe())


if __name__ == "__main__":
    main()
