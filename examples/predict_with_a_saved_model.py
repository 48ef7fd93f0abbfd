"""Predict new rows with a model that was saved earlier, gaps in the new rows included.

Look at the probabilities: a row with a gap is predicted from what the fit learnt to put
there, and a rule of your own (here: call it at 30 %) moves the calls, not the
probabilities. Loading the file runs no code from it. The shell does the same with
`parsimon predict MODEL TABLE`.
"""

import pandas as pd

from parsimon.datasets import load
from parsimon.statistician import analyse, load_model


def main() -> None:
    # Once: fit to the table and save. `fast` leaves the outer folds out.
    pima = load("pima_cleaned").frame
    analysis = analyse(pima, "diabetes", depth=1, fast=True, n_jobs=1)
    path = analysis.save("pima-model.skops")
    print(f"{analysis}; saved as {path}")

    # Later, elsewhere: the file is all that is needed.
    model = load_model(path)
    new = pd.DataFrame(
        {
            "glucose": [95, 165, None, 135],
            "bmi": [24.5, 36.1, 29.0, 31.0],
            "pedigree": [0.3, 0.8, 0.2, None],
            "age": [27, 44, 31, 58],
        }
    )
    for treatment in model.preparer.treatments_of(new):
        print(f"{treatment.kind}: {treatment.column} taken as {treatment.value}")

    probability = model.predict_proba(new)[:, list(model.classes_).index("yes")]
    new["probability"] = probability.round(2)
    new["predicted"] = model.predict(new)
    new["called at 30 %"] = ["yes" if share >= 0.3 else "no" for share in probability]
    print(new.to_string())
    new.to_csv("pima-predicted.csv", index=False)


if __name__ == "__main__":
    main()
