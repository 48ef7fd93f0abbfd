"""Trace margin against error: all machines from the widest street to the narrowest.

Look at the error of the rows held out: it falls with the training error for a while,
and then it rises, where the machine learns its rows by heart. overfitting.svg draws it.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.datasets import load
from parsimon.svm import ParetoSVC


def main() -> None:
    ionosphere = load("ionosphere")
    train = np.arange(len(ionosphere.target)) % 3 != 0
    X, y = ionosphere.data[train], ionosphere.target[train]
    X_test, y_test = ionosphere.data[~train], ionosphere.target[~train]

    pipeline = make_pipeline(StandardScaler(), ParetoSVC(random_state=0)).fit(X, y)
    scaler, search = pipeline[0], pipeline[-1]
    print(search.front_)

    table = search.to_frame()
    places = np.linspace(0, len(table) - 1, 8).astype(int)
    shown = ["margin", "C", "training_error", "holdout_error", "n_support"]
    print(table.iloc[places][shown].round(3).to_string(index=False))

    print("\nOn rows that took no part in anything:")
    for rule in ("holdout_error", "one_se", "knee", "holdout_error where n_support<=80"):
        machine = search.select(rule)  # a fitted classifier
        accuracy = machine.score(scaler.transform(X_test), y_test)
        print(f"  {rule}: {accuracy:.0%} right with {len(machine.support_)} support vectors")

    search.plot_overfitting().figure.savefig("overfitting.svg")


if __name__ == "__main__":
    main()
