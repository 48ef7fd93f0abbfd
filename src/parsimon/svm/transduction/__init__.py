"""Transduction: labels for the rows that have none, such that the margin to all rows is wide.

Read `problem` first: for given labels the machine is exact, for given scores the labels are. Then
`descent` (local searches, Joachims' greedy solver among them), `evolution` (the default),
`exhaustive` (branch and bound) and `joint` (the printed problem, which points the wrong way).
`objectives`, `seeds` and `front` are about margin, training and test loss as three objectives.
"""
