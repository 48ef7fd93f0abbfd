"""From the cells of a table to finite numbers: what is asked, what each column is, what to search.

`outcome.py` reads the target, `preparation.py` turns the other columns into numbers and says what
it did, `screening.py` keeps the variables that are worth a search.
"""
