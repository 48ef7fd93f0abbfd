"""Thirty small tables of every kind that a page must be true of, each with options that are quick.

Some are like tables of packages whose pages once contradicted themselves; `like` names them.
"""

from functools import partial

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_sets

from parsimon.datasets import load

FAST = {"fast": True, "rivals": ["linear", "tree"]}
PLAIN = {"outer": 2, "depth": 1, "families": "gp", "rivals": ["linear", "tree"]}
GUESSES = {"outer": 2, "depth": 1, "families": "gp", "rivals": ["tree"]}
FORMULA = {"outer": 2, "depth": 1, "families": "gp,formula", "rivals": ["linear"]}
TREE = {"outer": 2, "families": "none", "rivals": ["tree", "linear"]}


def columns(rng, n, d=3):
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{k}" for k in range(d)])


def classes(seed, n=90, d=3, shift=0.0, slope=2.0, names=("no", "yes")):
    """Two or more classes by the first column; `slope` 0 is noise, `shift` makes one rare."""
    rng = np.random.default_rng(seed)
    table = columns(rng, n, d)
    latent = slope * table["x0"] + rng.logistic(size=n) + shift
    cuts = np.quantile(latent, np.linspace(0, 1, len(names) + 1)[1:-1]) if len(names) > 2 else [0.0]
    return table.assign(y=np.array(names)[np.digitize(latent, cuts)])


def numbers(seed, n=90, d=3, noise=1.0, effect=lambda table: table["x0"]):
    rng = np.random.default_rng(seed)
    table = columns(rng, n, d)
    return table.assign(y=effect(table) + noise * rng.normal(size=n))


def levels(seed, n=150):
    """Like titanic: three columns of a few levels each."""
    rng = np.random.default_rng(seed)
    names = {"class": ["1st", "2nd", "3rd"], "age": ["adult", "child"], "sex": ["man", "woman"]}
    table = pd.DataFrame({name: rng.choice(every, n) for name, every in names.items()})
    chance = 0.15 + 0.5 * (table["sex"] == "woman") + 0.2 * (table["class"] == "1st")
    return table.assign(survived=np.where(rng.random(n) < chance, "yes", "no"))


def breaks(seed, n=54):
    """Like warpbreaks: counts at the levels of two categories."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"wool": rng.choice([*"AB"], n), "tension": rng.choice([*"LMH"], n)})
    return table.assign(y=rng.poisson(20 + 10 * (table["tension"] == "L")))


def affairs(seed, n=120):
    """Like fair: most are none, a few many, so that parts of the table differ in variance."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.integers(1, 6, n) for name in ("rate", "age", "faith")})
    some = rng.random(n) < 0.35 - 0.05 * table["rate"]
    return table.assign(y=np.where(some, rng.exponential(4, n).round(2), 0.0))


def cars(seed, n=32):
    """Like mtcars: columns that stand for each other."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    own = {f"x{k}": size + 0.3 * rng.normal(size=n) for k in range(3)}
    return pd.DataFrame(own).assign(y=20 - 5 * size + 2 * rng.normal(size=n))


def mess(seed, n=80):
    """Missing cells, text, dates, truth values, a constant, a copy, names, a rare level."""
    rng = np.random.default_rng(seed)
    dose = rng.uniform(0, 10, n)
    return pd.DataFrame(
        {
            "dose": np.where(rng.random(n) < 0.2, np.nan, dose),
            "site": rng.choice(["north", "south", None], n),
            "when": pd.date_range("2024-01-01", periods=n),
            "smokes": rng.random(n) < 0.4,
            "unit": "mg",
            "again": np.where(rng.random(n) < 0.2, np.nan, dose),
            "name": [f"person {k}" for k in range(n)],
            "died": np.where(dose + rng.normal(size=n) > 6, "yes", "no"),
        }
    )


def copied(seed, n=60):
    table = numbers(seed, n)
    return pd.concat([table, table.iloc[:5]], ignore_index=True)


def towns(seed, n=120):
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 15, n)
    table = pd.DataFrame({"town": [f"town {k}" for k in town], "x": rng.normal(size=n)})
    return table.assign(y=2 * (town < 5) + rng.normal(size=n))


def bundled(name, target, n=100, most=6):
    frame = load(name).frame
    few = [*[one for one in frame.columns if one != target][:most], target]
    return frame[few].sample(min(n, len(frame)), random_state=0).rename(columns={target: "y"})


def of_sklearn(name, n=100, most=5):
    found = getattr(sklearn_sets, f"load_{name}")(as_frame=True)
    table = found.frame.iloc[:, [*range(most), -1]].rename(columns={"target": "y"})
    return table.sample(n, random_state=0)


def nothing(table):
    return 0.0


def product(table):
    return 2 * table["x0"] * table["x1"]


THREE = ("low", "middle", "high")
TABLES = {
    "two classes": (partial(classes, 0), PLAIN),
    "two classes, fast": (partial(classes, 1), FAST),
    "two classes, formula": (partial(classes, 2), FORMULA),
    "two classes of noise": (partial(classes, 3, slope=0.0), PLAIN),
    "few rows, like spector": (partial(classes, 4, n=32, slope=0.8), GUESSES),
    "noise, fast": (partial(classes, 5, slope=0.0), FAST),
    "a rare class": (partial(classes, 6, n=150, shift=-4.5), PLAIN),
    "a rare class of noise, like survey": (partial(classes, 7, n=150, shift=-3, slope=0), GUESSES),
    "a rare class, by a tree": (partial(classes, 8, n=150, shift=-3.5), TREE),
    "a common class is asked for": (partial(classes, 9, n=120, shift=4.5), PLAIN),
    "three classes": (partial(classes, 10, names=THREE), PLAIN),
    "three classes of noise": (partial(classes, 11, slope=0.0, names=THREE), GUESSES),
    "three classes, fast": (partial(classes, 12, slope=5.0, names=THREE), FAST),
    "a number": (partial(numbers, 13), PLAIN),
    "a number of noise": (partial(numbers, 14, effect=nothing), GUESSES),
    "a number, formula": (partial(numbers, 15, effect=lambda table: table["x0"] ** 2), FORMULA),
    "a product, fast": (partial(numbers, 16, noise=0.5, effect=product), FAST),
    "a product": (partial(numbers, 17, n=120, noise=0.5, effect=product), {**PLAIN, "depth": 2}),
    "heavy tails, like fair": (partial(affairs, 18), PLAIN),
    "columns alike, like mtcars": (partial(cars, 19), PLAIN),
    "counts at levels, like warpbreaks": (partial(breaks, 20), PLAIN),
    "levels alone, like titanic": (partial(levels, 21), FAST),
    "a mess": (partial(mess, 22), PLAIN),
    "wide": (partial(numbers, 23, n=50, d=30), {**PLAIN, "rivals": ["linear"]}),
    "twelve rows": (partial(numbers, 24, n=12), PLAIN),
    "rows entered twice": (partial(copied, 25), FAST),
    "many levels": (partial(towns, 26), PLAIN),
    "wine of scikit-learn": (partial(of_sklearn, "wine", n=70, most=3), TREE),
    "diabetes of scikit-learn": (partial(of_sklearn, "diabetes"), FAST),
    "pima": (partial(bundled, "pima_cleaned", "diabetes"), TREE),
}
TARGETS = {"a mess": "died", "levels alone, like titanic": "survived"}
