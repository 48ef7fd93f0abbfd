"""Regression along a tree of species: relatives are not independent rows.

Look at lambda (0: the tree does not matter, 1: all of it does), at which features are
kept, and at the last table: random folds leave a sister of each test species in
training, so their error is too low for a clade that nobody has measured.
"""

import numpy as np
from sklearn.model_selection import KFold, cross_val_score

from parsimon.phylo import PGLS, CladeKFold, PhyRVM, brownian_traits, yule_tree


def main() -> None:
    # Your own: read_tree("lizards.nwk"), and a table with the names of tips in its index.
    tree = yule_tree(80, random_state=3)
    features = brownian_traits(tree, 6, random_state=4)
    noise = brownian_traits(tree, pagel_lambda=0.8, random_state=5)["trait1"]
    mass = 1 + 2 * features["trait1"] - features["trait4"] + noise

    model = PGLS(tree).fit(features[["trait1", "trait4"]], mass)
    print(model.summary())

    sparse = PhyRVM(tree).fit(features, mass)
    print("\nPhyRVM, given all six features, keeps:")
    print(sparse.ranking())

    new, old = features.index[::8], features.index.difference(features.index[::8])
    fitted = PGLS(tree).fit(features.loc[old, ["trait1"]], mass[old])
    for name in ("conditional", "marginal"):
        error = fitted.predict(features.loc[new, ["trait1"]], prediction=name) - mass[new]
        print(f"{name} prediction of {len(new)} species: off by {np.sqrt((error**2).mean()):.2f}")

    print("\nError of PGLS on all six features:")
    folds = {
        "random folds": KFold(5, shuffle=True, random_state=0),
        "folds of whole clades": CladeKFold(tree, 5),
    }
    for name, cv in folds.items():
        scores = cross_val_score(
            PGLS(tree), features, mass, cv=cv, scoring="neg_root_mean_squared_error"
        )
        print(f"  {name}: {-scores.mean():.2f}")


if __name__ == "__main__":
    main()
