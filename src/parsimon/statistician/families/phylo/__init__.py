"""Regressions on a tree as a family: least squares and sparse regression, with and without it.

`read_traits` matches a table with a tree, `regressions` offers the models, `judge` measures them on
whole clades and on random folds.
"""
