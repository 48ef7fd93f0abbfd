"""Findings about a trait made by hand, as `tests.report.samples` makes those of a table."""

from dataclasses import replace

from parsimon.report.findings import Interval, Picture, RunFindings
from parsimon.report.findings.trait_findings import (
    Ancestor,
    CladeError,
    Coefficient,
    Feature,
    Judged,
    LambdaCurve,
    PglsFinding,
    PhyRvmFinding,
    RootFinding,
    SignalFinding,
    SpeciesFinding,
    TraitFindings,
    TraitTable,
    Weight,
)
from parsimon.report.sections import write
from tests.report.reading import paragraphs, plain, sections

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300"><path d="M0 0L9 9"/></svg>'
PICTURES = ("tree", "lambda", "posterior", "features", "errors", "predicted")


def around(estimate, reach=0.1):
    return Interval(estimate=estimate, low=estimate - reach, high=estimate + reach)


def judged(model, rmse, difference=None, explained=0.5, coverage=0.94):
    return Judged(
        model=model,
        rmse=around(rmse),
        difference=difference,
        explained=explained,
        coverage=coverage,
    )


def table(**changes):
    made = TraitTable(
        name="lizards",
        target="length",
        tip="species",
        tip_found="matched",
        n_rows=40,
        n_columns=5,
        n_tips=44,
        n_in_tree=40,
        n_measured=40,
        n_fitted=40,
        target_mean=4.0,
        target_minimum=3.0,
        target_maximum=5.5,
        features=tuple(
            Feature(name=name, mean=1.0, deviation=2.0, minimum=0.0, maximum=3.0)
            for name in ("head", "tail")
        ),
    )
    return replace(made, **changes)


def signal(**changes):
    made = SignalFinding(
        pagel_lambda=Interval(estimate=0.95, low=0.8, high=1.0),
        likelihood_ratio=30.0,
        lambda_p_value=1e-7,
        K=0.95,
        K_p_value=0.001,
        n_permutations=999,
        n_species=40,
    )
    return replace(made, **changes)


def weight(feature="head", n_kept=5):
    return Weight(
        feature=feature,
        weight=around(0.3),
        deviation=0.05,
        relevance=0.31,
        loss=12.0,
        n_kept=n_kept,
    )


def phyrvm(**changes):
    made = PhyRvmFinding(
        pagel_lambda=Interval(estimate=0.9, low=0.6, high=0.99),
        lambda_mean=0.85,
        lambda_values=(0.2, 0.5, 0.9),
        lambda_density=(0.1, 0.4, 2.0),
        intercept=4.0,
        weights=(weight(),),
        log_evidence=-10.0,
        r_squared=0.6,
        converged=True,
    )
    return replace(made, **changes)


def coefficient(feature, p=0.0001):
    return Coefficient(
        feature=feature,
        estimate=around(0.28),
        standard_error=0.05,
        t=5.6,
        p_value=p,
        adjusted_p_value=min(1.0, 2 * p),
    )


def pgls(**changes):
    made = PglsFinding(
        pagel_lambda=Interval(estimate=0.88, low=0.5, high=0.99),
        intercept=4.0,
        coefficients=(coefficient("head"), coefficient("tail", p=0.6)),
        log_likelihood=-8.0,
        aic=26.0,
        bic=34.0,
        r_squared=0.61,
        residual_error=0.2,
        degrees_of_freedom=37,
    )
    return replace(made, **changes)


def error(**changes):
    worse = Interval(estimate=0.3, low=0.1, high=0.5)
    clades = (
        judged("mean", 0.5, worse, explained=0.0, coverage=float("nan")),
        judged("relatives", 0.4, worse, explained=0.2),
        judged("ols", 0.25, Interval(estimate=0.05, low=-0.1, high=0.2), explained=0.7),
        judged("phyrvm", 0.2, explained=0.8),
    )
    made = CladeError(
        n_folds=5,
        clades=clades,
        random=tuple(replace(one, rmse=around(0.6 * one.rmse.estimate)) for one in clades),
        species=(SpeciesFinding(tip="a", observed=4.0, predicted=around(4.1), fold=1),),
        leak=Interval(estimate=0.08, low=0.02, high=0.14),
    )
    return replace(made, **changes)


def ancestor(node=0, name="", n_tips=40):
    return Ancestor(
        node=node, name=name, first="a", last="b", n_tips=n_tips, depth=0.1, value=around(4.0)
    )


def findings(**changes):
    made = TraitFindings(
        table=table(),
        signal=signal(),
        model="phyrvm",
        curves=(
            LambdaCurve(
                of="target",
                values=(0.0, 0.5, 1.0),
                heights=(-40.0, -30.0, -25.0),
                best=Interval(estimate=1.0, low=0.8, high=1.0),
            ),
        ),
        pgls=pgls(),
        phyrvm=phyrvm(),
        error=error(),
        root=(
            RootFinding(way="lambda", value=around(4.0)),
            RootFinding(way="brownian", value=around(4.1)),
            RootFinding(way="line", value=around(4.2)),
        ),
        ancestors=(ancestor(), ancestor(1, "Iguania", 20), ancestor(2, "98", 12)),
        predictions=(SpeciesFinding(tip="z", observed=float("nan"), predicted=around(4.4)),),
        run=RunFindings(
            version="1.0",
            seed=3,
            seconds=4.0,
            date="2026-01-31",
            command="parsimon phylo lizards.csv --target length --tree t.nwk --seed 3",
            options=(("model", "phyrvm"), ("folds", "5"), ("seed", "3")),
            skipped=(),
            fingerprint="c0ffee" * 8,
            libraries=(("numpy", "2.0"),),
        ),
        pictures=tuple(
            Picture(name=name, svg=SVG, caption=f"About the {name}.", title=name)
            for name in PICTURES
        ),
    )
    return replace(made, **changes)


HOSTILE = "</script><img src=x onerror=alert(1)> $\\alpha$ | `a` *b* _c_ #let \u202e\n&amp;"


def hostile():
    return findings(
        table=table(
            name=HOSTILE,
            target=HOSTILE,
            tip=HOSTILE,
            features=(Feature(name=HOSTILE, mean=1.0, deviation=1.0, minimum=0.0, maximum=2.0),),
            not_in_tree=(HOSTILE,),
        ),
        phyrvm=phyrvm(weights=(weight(HOSTILE),)),
        pgls=pgls(coefficients=(coefficient(HOSTILE),)),
        ancestors=(ancestor(), ancestor(1, HOSTILE, 20)),
        predictions=(SpeciesFinding(tip=HOSTILE, observed=float("nan"), predicted=around(1.0)),),
    )


def tree_alone():
    return findings(
        table=table(features=()),
        model="relatives",
        phyrvm=None,
        pgls=None,
        error=error(
            clades=(
                judged("mean", 0.5, around(0.2)),
                judged("relatives", 0.3),
            ),
            random=(judged("mean", 0.5, around(0.2)), judged("relatives", 0.1)),
        ),
        root=(RootFinding(way="lambda", value=around(4.0)),),
        predictions=(),
    )


def said(found):
    """Return all paragraphs of the page as one text."""
    document = write(found)
    numbers = document.numbers()
    parts = [plain(one, numbers) for one in paragraphs(document.lead)]
    for section in sections(document):
        parts += [plain(one, numbers) for one in paragraphs(section.blocks)]
    return "\n".join(parts).replace("\u202f", " ")
