"""How it was done, how to do it in Python, and the works that are cited."""

from typing import Any

from parsimon.report.document import Block, Code, Section
from parsimon.report.findings.trait_findings import TraitFindings
from parsimon.report.sections._blocks import Sentence, bullets, paragraph
from parsimon.report.sections._page import again, options, software
from parsimon.report.sections._phrases import NARROW


def trait_methods(findings: TraitFindings) -> Section:
    """Return the section about how everything was measured."""
    blocks: list[Block] = [
        paragraph(*_signal()),
        *((paragraph(*_regressions(findings)),) if findings.phyrvm is not None else ()),
        *((paragraph(*_folds()),) if findings.error is not None else ()),
        paragraph(*_ancestors()),
        paragraph(options(findings.run), software(findings.run)),
        *again(findings.run, "table, tree", "the table with the tree"),
    ]
    return Section("methods", "Methods", tuple(blocks))


def in_python(findings: TraitFindings) -> Section:
    """Return the section about the same in Python."""
    return Section(
        "python",
        "The same in Python",
        (
            paragraph(
                "Below, table is the data frame, and tree the tree as parsimon.phylo.read_tree "
                "reads it. All of this page:"
            ),
            bullets(*_coded(_whole(findings))),
            paragraph("Then one by one:"),
            bullets(*_coded(_parts(findings))),
        ),
    )


def cited_works(findings: TraitFindings) -> list[str]:
    """Return the short names of the works that this report cites."""
    short = ["Pagel 1999", "Blomberg et al. 2003", "Martins and Hansen 1997", "Felsenstein 1985"]
    if findings.phyrvm is not None:
        short += ["Grafen 1989", "Fearn 2021", "Tipping 2001", "Holm 1979"]
        short += ["Schmolck and Everson 2007"] * (findings.phyrvm.prior == "smooth")
    short += ["Dempster et al. 1977"] * (findings.table.n_completed > 0)
    if findings.error is not None:
        short += ["Roberts et al. 2017", "Nadeau and Bengio 2003"]
    return short


def _signal() -> tuple[str, ...]:
    return (
        "Under Brownian motion two species covary by the length of the path that they share from "
        "the root (Felsenstein 1985); Pagel's lambda multiplies these shared paths (Pagel 1999) "
        "and is estimated by maximum likelihood.",
        f"Its interval holds the values that a likelihood-ratio test at 95{NARROW}% does not "
        "reject; its p-value is cautious, because zero is the end of the range.",
        "Blomberg's K compares the spread of the species with what Brownian motion expects, and is "
        "tested by shuffling values among the species (Blomberg et al. 2003).",
    )


def _regressions(findings: TraitFindings) -> tuple[str, ...]:
    gaps = (
        "Features that a species lacks are expectations given all cells that are there: features "
        "evolve together along the tree, with the covariance and the lambda that an exact EM "
        "algorithm finds most likely (Dempster et al. 1977). The target has no part in it."
    )
    prior = "ard" if findings.phyrvm is None else findings.phyrvm.prior
    price = {
        "smooth": "Features are many for the species here, so that a penalty for degrees of "
        "freedom is added (Schmolck and Everson 2007): without it the model would go through "
        "every value.",
        "priced": "A feature that adds less than 2 to the logarithm of the evidence is left out.",
    }
    return (
        *([gaps] if findings.table.n_completed else ()),
        "Features are standardised: every weight is the change of the target for one standard "
        "deviation of its feature.",
        "PGLS (Grafen 1989; Martins and Hansen 1997) is linear regression whose residuals covary "
        "along the tree; p-values are of t tests, and Holm's rule (Holm 1979) allows for their "
        "number.",
        "PhyRVM (Fearn 2021) gives the weight of each feature a prior of its own and maximises the "
        "evidence, which sends most weights to zero (Tipping 2001); lambda maximises the same "
        "evidence.",
        *([price[prior]] if prior in price else ()),
        f"The interval of its lambda holds 95{NARROW}% of the posterior probability, if every "
        "lambda was as probable as any other beforehand.",
        "Both regressions predict a species from its features and from the residuals of its "
        "relatives.",
    )


def _folds() -> tuple[str, ...]:
    return (
        "Folds are made of whole clades (Roberts et al. 2017): the largest clade is divided until "
        "none is larger than a fold should be.",
        "Standardising, choosing features and estimating lambda are done again in each fold.",
        "Intervals of errors and of their differences leave one fold out at a time (the "
        "jackknife) and correct for training parts that overlap (Nadeau and Bengio 2003).",
        "The difference between the leading model and the mean is one question; differences "
        f"between models have intervals that all hold together with 95{NARROW}% (Bonferroni).",
    )


def _ancestors() -> tuple[str, ...]:
    return (
        "Ancestors are expectations given the species, by generalised least squares (Martins and "
        "Hansen 1997); their intervals count the uncertainty of the root and of the rate, but not "
        "that of lambda.",
        "The tree was reduced to the species of the table; its root is their last common ancestor.",
    )


def _coded(lines: tuple[str, ...]) -> tuple[Sentence, ...]:
    return tuple((Code(line),) for line in lines)


def _whole(findings: TraitFindings) -> tuple[str, ...]:
    table, asked = findings.table, dict(findings.run.options)
    given: dict[str, Any] = {"name": table.name}
    if table.tip_found == "given":
        given["tip"] = table.tip
    given["model"] = asked["model"]
    if "features" in asked:
        # Of those that were named, some may have been left out.
        levels = tuple(f"{column} = " for column in table.coded)
        names = [one.name for one in table.features if not one.name.startswith(levels)]
        others = [one for one in table.coded if one not in names]
        given["features"] = names + others + [one.column for one in table.left_out]
    if table.dropped:
        given["drop"] = list(table.dropped)
    given |= {"folds": int(asked["folds"]), "seed": int(asked["seed"])}
    if "rivals" in asked:
        given["rivals"] = asked["rivals"]
    written = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return (
        "from parsimon.statistician import analyse_traits",
        f"analysis = analyse_traits(table, tree, {table.target!r}, {written})",
        'analysis.to_html("page.html")',
    )


def _parts(findings: TraitFindings) -> tuple[str, ...]:
    fits: list[str] = []
    if findings.phyrvm is not None:
        fits = [
            "from parsimon.phylo import PGLS, CladeKFold, PhyRVM",
            "from sklearn.model_selection import cross_val_predict",
            "from sklearn.pipeline import make_pipeline",
            "from sklearn.preprocessing import StandardScaler",
            'scaler = StandardScaler().set_output(transform="pandas")',
            *_fits(findings),
            *_judged(findings),
        ]
    return (
        "from parsimon.phylo import ancestral_states, phylogenetic_signal",
        "tree, measured, X, y = analysis.tree, analysis.measured, analysis.X, analysis.y",
        f"phylogenetic_signal(tree, measured, random_state={findings.run.seed})",
        'ancestral_states(tree, measured, model="lambda").plot()',
        *fits,
    )


def _fits(findings: TraitFindings) -> list[str]:
    plain = findings.phyrvm is not None and findings.phyrvm.prior == "ard"
    model = 'PhyRVM(tree, prior="ard")' if plain else "PhyRVM(tree)"
    lines = [f"phyrvm = make_pipeline(scaler, {model}).fit(X, y)"]
    if findings.pgls is not None:
        redundant = list(findings.table.redundant)
        features = f"X.drop(columns={redundant!r})" if redundant else "X"
        lines.append(f"pgls = make_pipeline(scaler, PGLS(tree)).fit({features}, y)")
    return lines


def _judged(findings: TraitFindings) -> list[str]:
    """Return the lines that make the error of the leading model, as the page has it."""
    error, model = findings.error, findings.model
    if error is None:
        return []
    redundant = list(findings.table.redundant) if model == "pgls" else []
    features = f"X.drop(columns={redundant!r})" if redundant else "X"
    folds = f"cv=CladeKFold(tree, {error.n_folds})"
    return [
        f"predicted = cross_val_predict({model}, {features}, y, {folds})",
        "rmse = ((y - predicted) ** 2).mean() ** 0.5",
    ]
