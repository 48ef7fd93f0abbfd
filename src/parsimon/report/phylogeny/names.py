"""What models are called on the page."""

from parsimon.report.phylogeny.findings import ModelName

CALLED: dict[ModelName, str] = {
    "mean": "mean of the others",
    "relatives": "tree alone",
    "ols": "least squares without tree",
    "rvm": "RVM without tree",
    "pgls": "PGLS",
    "phyrvm": "PhyRVM",
}
SPOKEN: dict[ModelName, str] = {
    "mean": "the mean of the other species",
    "relatives": "the tree alone",
    "ols": "least squares without the tree",
    "rvm": "the RVM without the tree",
    "pgls": "PGLS",
    "phyrvm": "PhyRVM",
}
MEANING: dict[ModelName, str] = {
    "mean": "the mean of the species that were seen, for every species: the baseline",
    "relatives": "the tree and no features",
    "ols": "all features by ordinary least squares, and no tree",
    "rvm": "features chosen by their evidence, and no tree",
    "pgls": "all features by least squares, and the tree",
    "phyrvm": "features chosen by their evidence, and the tree",
}
