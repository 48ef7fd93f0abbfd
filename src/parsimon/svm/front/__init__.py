"""The front of a support vector machine: margin against loss, as arrays.

Read `losses` first (the two objectives of a population), then `primal` (evolution seeded by a few
exact machines), `path` (the exact front) and `printed` (the dual objectives as the source prints
them). `found` holds what a search found, `choice` the rules, `machine` the classifier that one
row of a front is.
"""
