"""Families of models behind one seam; a new family is a value in a module here.

Read `family.Family` and `family.Fitted` first: `plain` has families of ten lines, `kernel_search`
one that searches and has a section of its own; `registered` is the table of their names.
"""
