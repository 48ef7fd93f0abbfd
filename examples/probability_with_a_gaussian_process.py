"""A probability that says how much it knows, with a Gaussian process.

Look at the three women: the second lies where the table has hardly any rows, and her
interval is wide. Then at the parts of the sum: why the probability of the first is
higher than that of the third.
"""

import pandas as pd
from scipy.stats import norm

from parsimon.datasets import load
from parsimon.gp import GPClassifier
from parsimon.kernels import SquaredExponential as SE
from parsimon.kernels import spoken


def main() -> None:
    pima = load("pima_cleaned")
    X, y = pima.data[["glucose", "bmi", "age"]], pima.target

    # Effects that add up: glucose and bmi together, and age in its own way.
    kernel = (SE((0, 1)) + SE(2)).start(X)
    model = GPClassifier(kernel, n_restarts=0).fit(X, y)
    print("kernel:", spoken(model.kernel_, list(X.columns)))
    print(f"log evidence {model.log_evidence_:.1f}, to compare kernels on the same rows")
    print(f"error of each row without itself: {model.leave_one_out().error:.1%}\n")

    women = pd.DataFrame(
        [[150, 33, 45], [199, 18, 78], [90, 24, 25]],
        columns=X.columns,
        index=["among many rows", "where there are few", "a healthy one"],
    )
    probability = model.predict_proba(women)[:, 1]
    mean, deviation = model.latent(women, return_std=True)
    low, high = norm.cdf(mean - 1.96 * deviation), norm.cdf(mean + 1.96 * deviation)
    for name, share, least, most in zip(women.index, probability, low, high, strict=True):
        print(f"{name}: {share:.2f}, 95 % between {least:.2f} and {most:.2f}")

    print("\nFrom the third woman to the first, on the scale of the latent function:")
    for part in model.components(women.iloc[[2, 0]]):
        print(f"  {part.name}: {part.mean[1] - part.mean[0]:+.2f}")


if __name__ == "__main__":
    main()
