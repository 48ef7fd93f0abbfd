"""Choose a classifier from a front of cases caught, false alarms and size.

Look at how many vectors each rule asks for, and at the rates, which are those of rows
that took no part in the search. Those on the front guided it and are too good to be
quoted.
"""

from parsimon.datasets import load
from parsimon.roc import confusion_rates
from parsimon.rvm import ParetoRVC

RULES = {
    "the simplest that is about as accurate as any": "one_se",
    "where further vectors stop paying": "knee",
    "most cases caught, at most 10 % false alarms": "best:tpr where fpr<=0.1",
    "the same, with at most 3 vectors": "best:tpr where fpr<=0.1 and complexity<=3",
}


def main() -> None:
    ripley = load("ripley")
    train = (ripley.split == "train").to_numpy()
    X, y = ripley.data[train], ripley.target[train]
    X_test, y_test = ripley.data[~train], ripley.target[~train]

    # Leave max_iter out for real work: the search ends when it finds nothing new.
    search = ParetoRVC(gamma=4.0, max_iter=500, random_state=0).fit(X, y)
    print(search.front_)

    for words, rule in RULES.items():
        model = search.select(rule)  # a fitted RVC
        rates = confusion_rates(y_test, model.predict(X_test))
        print(
            f"{words}: {len(model.relevance_)} vectors; on {len(y_test)} new rows "
            f"{rates.tpr[1]:.0%} caught, {rates.fpr[1]:.0%} false alarms"
        )

    # A missed case costs as much as five false alarms, and one in ten is a case.
    cheapest = search.front_.cheapest(cost_fp=1, cost_fn=5, prevalence=0.1)
    print("cheapest at 1 to 5, one case in ten:", search.front_[cheapest])
    search.to_frame().to_csv("ripley-front.csv", index=False)


if __name__ == "__main__":
    main()
