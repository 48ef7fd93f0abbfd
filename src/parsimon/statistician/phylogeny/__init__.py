"""From a table of species and a tree to findings about one trait.

`analyse_traits` does all of it; the `TraitAnalysis` that it returns writes the page.
"""

from parsimon.statistician.phylogeny.analyse import analyse_traits
from parsimon.statistician.phylogeny.analysis import TraitAnalysis

__all__ = ["TraitAnalysis", "analyse_traits"]
