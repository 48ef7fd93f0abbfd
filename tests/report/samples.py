"""Findings made by hand, for tests of everything that reads findings. The numbers are invented."""

from dataclasses import replace

from parsimon.report.findings import (
    CalibrationBin,
    Checks,
    ComponentFinding,
    Decision,
    Findings,
    Honest,
    InteractionFinding,
    Interval,
    Joint,
    KernelSearchFindings,
    ModelFinding,
    OuterFold,
    Picture,
    Roc,
    RowFinding,
    RunFindings,
    Study,
    TableFindings,
    Treatment,
    Variable,
    VariableFinding,
)
from parsimon.report.findings.shared_findings import EffectFinding, RowExplanation, RowPart
from parsimon.structures import Claim

HOSTILE = "<script>alert(1)</script> \"q\" 'a' & $x$ #let 年龄"
NAMES = ("plasma glucose", "body mass index", "pedigree", "age")


def claim(kind: str, variables: tuple[str, ...], probability: float, words: str) -> Claim:
    return Claim(
        kind=kind,
        variables=variables,
        probability=probability,
        certain=probability >= 0.97,
        words=words,
        shape="smooth" if kind == "shape" else "",
    )


def claims(names: tuple[str, ...] = NAMES, target: str = "diabetes") -> tuple[Claim, ...]:
    glucose, _, pedigree, age = names
    return (
        claim("variable", (glucose,), 0.99996, f"{glucose} matters"),
        claim("variable", (age,), 0.991, f"{age} matters"),
        claim("shape", (glucose,), 0.982, f"{target} follows {glucose} in a curve"),
        claim("variable", (pedigree,), 0.872, f"{pedigree} matters"),
        claim("interaction", (pedigree, age), 0.641, f"{pedigree} and {age} interact"),
    )


def interval(estimate: float, half: float) -> Interval:
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half)


def roc(lift: float = 0.4) -> Roc:
    steps = [k / 20 for k in range(21)]
    return Roc(
        fpr=tuple(steps),
        tpr=tuple(min(1.0, x ** (1 - lift)) for x in steps),
        thresholds=tuple(1 - x for x in steps),
        n_positive=249,
        n_negative=475,
        auc=interval(0.5 + lift / 2, 0.03),
    )


def model(
    symbols: str, words: str, variables: tuple[str, ...], size: int, error: float
) -> ModelFinding:
    return ModelFinding(
        expression=words,
        symbols=symbols,
        words=words,
        kind="constant" if not size else "smooth" if size == 1 else "additive",
        variables=variables,
        size=size,
        error=error,
        standard_error=0.012,
        log_loss=error * 2,
        negative_log_evidence=468.6 - 300 * (0.344 - error),
        fold_negative_log_evidence=375.1 - 240 * (0.344 - error),
        roc=roc(min(0.9, 2 * (0.35 - error))),
    )


def models(names: tuple[str, ...] = NAMES) -> tuple[ModelFinding, ...]:
    glucose, bmi, pedigree, age = names
    return (
        model("C", "a constant", (), 0, 0.3439),
        model("SE_1", f"{glucose} alone", (glucose,), 1, 0.2500),
        model("SE_1 + SE_2", f"{glucose} alone, plus {bmi} alone", (glucose, bmi), 2, 0.2390),
        model(
            "SE_1 + SE_3 × SE_4",
            f"{glucose} alone, plus an interaction of {pedigree} and {age}",
            (glucose, pedigree, age),
            3,
            0.2238,
        ),
    )


def variables(names: tuple[str, ...] = NAMES) -> tuple[VariableFinding, ...]:
    ranges = ((44, 199, 121.9, 30.7), (18.2, 67.1, 32.5, 6.9), (0.08, 2.42, 0.47, 0.33))
    ranges += ((21, 81, 33.4, 11.8),)
    errors = (0.25, 0.3371, 0.3412, 0.3454)
    bands = ("some", "little", "little", "none")
    return tuple(
        VariableFinding(
            variable=Variable(
                name=name, column=name, minimum=low, maximum=high, mean=mean, deviation=deviation
            ),
            model=model(f"SE_{place + 1}", f"{name} alone", (name,), 1, errors[place]),
            ratio=errors[place] / 0.3439,
            band=bands[place],
            log_bayes_factor=(87.4, 36.8, 10.1, -0.7)[place],
            in_model=place != 1,
        )
        for place, (name, (low, high, mean, deviation)) in enumerate(
            zip(names, ranges, strict=True)
        )
    )


def effects(names: tuple[str, ...] = NAMES) -> tuple[EffectFinding, ...]:
    glucose, _, pedigree, age = names
    return (
        EffectFinding(
            columns=(glucose,),
            rising=0.98,
            falling=0.02,
            turning=0.01,
            way="rising",
            picture="study-1-effect-1",
        ),
        EffectFinding(columns=(age,), rising=0.55, falling=0.45, way="joined"),
        EffectFinding(columns=(pedigree,), rising=0.55, falling=0.45, way="joined"),
        EffectFinding(columns=(pedigree, age), picture="study-1-effect-4"),
    )


def rows(names: tuple[str, ...] = NAMES) -> tuple[RowFinding, ...]:
    return tuple(
        RowFinding(
            row=row,
            label="diabetic",
            probability=0.02 * (k + 1),
            score=5.6 - k,
            values=((names[0], "88"), (names[3], "23")),
        )
        for k, row in enumerate((126, 7, 502))
    )


def honest(names: tuple[str, ...] = NAMES) -> Honest:
    return Honest(
        error=interval(0.2334, 0.026),
        baseline_error=interval(0.3439, 0.01),
        gain=interval(0.1105, 0.03),
        guide_error=0.2251,
        auc=interval(0.834, 0.031),
        log_loss=0.479,
        baseline_log_loss=0.644,
        brier=0.157,
        root_mean_square=float("nan"),
        folds=tuple(
            OuterFold(
                n_train=579,
                n_test=145,
                error=0.22 + 0.01 * k,
                baseline_error=0.344,
                guide_error=0.225,
                words=models(names)[3].words,
                variables=models(names)[3].variables,
            )
            for k in range(5)
        ),
        n_planned=5,
    )


def checks(names: tuple[str, ...] = NAMES) -> Checks:
    return Checks(
        source="outer folds",
        calibration=tuple(
            CalibrationBin(
                predicted=x, observed=Interval(estimate=x, low=x - 0.04, high=x + 0.06), n_rows=145
            )
            for x in (0.05, 0.2, 0.4, 0.6, 0.85)
        ),
        calibration_slope=0.94,
        calibration_intercept=0.03,
        slope_interval=interval(0.94, 0.17),
        intercept_interval=interval(0.03, 0.2),
        brier=0.157,
        roc=roc(),
        hull=((0.0, 0.0), (0.1, 0.5), (1.0, 1.0)),
        surprising=rows(names),
        influential=rows(names),
        calibration_picture="study-1-calibration",
        roc_picture="study-1-roc",
    )


def explained(names: tuple[str, ...] = NAMES, label: str = "diabetic") -> tuple:
    parts = (((names[0],), 0.81), ((names[2], names[3]), -0.32))
    return tuple(
        RowExplanation(
            row=row,
            role=role,
            label=label,
            probability=probability,
            level=-0.4,
            parts=tuple(
                RowPart(values=tuple((name, "88") for name in own), contribution=value * sign)
                for own, value in parts
            ),
        )
        for row, role, probability, sign in (
            (12, "typical", 0.61, 1),
            (40, "borderline", 0.34, 0.25),
            (126, "surprising", 0.02, -1),
        )
    )


def study(names: tuple[str, ...] = NAMES, positive: str = "diabetic") -> Study:
    front = models(names)
    product = model(
        "SE_3 × SE_4", f"an interaction of {names[2]} and {names[3]}", names[2:], 2, 0.32
    )
    return Study(
        task="classification",
        positive=positive,
        negative=f"not {positive}",
        n_positive=249,
        n_negative=475,
        structure_found=True,
        model=front[3],
        baseline=front[0],
        front=front,
        knee=1,
        chosen=3,
        front_variables=front,
        variables=variables(names),
        components=(
            ComponentFinding(
                alone=front[1],
                cumulative=front[1],
                gain=0.0939,
                strength=0.92,
            ),
            ComponentFinding(
                alone=product,
                cumulative=front[3],
                gain=0.0262,
                strength=0.41,
            ),
        ),
        interactions=(
            InteractionFinding(
                variables=names[2:],
                additive=front[2],
                gain=0.0152,
                log_bayes_factor=4.2,
            ),
        ),
        honest=honest(names),
        checks=checks(names),
        search=KernelSearchFindings(
            n_candidates=72,
            n_cross_validated=24,
            depth=4,
            beam=2,
            base=("se",),
            guide="cv_error",
            n_folds=5,
            stopped_by="depth",
            inference="expectation propagation",
            n_rows=724,
            choose="supported",
            picture="study-1-search",
        ),
        claims=claims(names),
        effects=effects(names),
        front_picture="study-1-front",
        explained=explained(names, positive),
    )


def picture(name: str) -> Picture:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200" width="400" role="img">'
        f'<title>{name}</title><path d="M10 190 L200 60 L390 20" fill="none" stroke="#0072B2"/>'
        f'<text x="20" y="30" fill="#7F7F7F">{name}</text></svg>'
    )
    return Picture(name=name, svg=svg, caption=f"Caption of {name}.", title=f"Title of {name}")


def findings(names: tuple[str, ...] = NAMES, positive: str = "diabetic") -> Findings:
    one = study(names, positive)
    parts = ("effect-1", "effect-4", "calibration", "roc", "search", "front")
    return Findings(
        table=TableFindings(
            name="pima",
            n_rows=768,
            n_rows_used=724,
            n_columns=9,
            n_missing=47,
            target="diabetes",
            task="classification",
            classes=((one.negative, 475), (positive, 249)),
            variables=tuple(found.variable for found in one.variables),
            treatments=(
                Treatment(kind="rows_without_target", count=44),
                Treatment(kind="cells_filled", column=names[1], count=3, value="32.3"),
                Treatment(kind="column_category", column="colour", count=3, value=""),
                Treatment(kind="column_constant", column="hospital", value="A"),
            ),
            picture="data",
        ),
        studies=(one,),
        run=RunFindings(
            version="0.0.0",
            seed=0,
            seconds=61.2,
            date="2026-01-31",
            command="parsimon report pima --seed 0",
            options=(("depth", "4"), ("beam", "2"), ("outer", "5")),
            skipped=(),
            fingerprint="c0ffee" * 10,
            libraries=(("numpy", "2.0.0"),),
        ),
        claims=one.claims,
        pictures=(picture("data"), *(picture(f"study-1-{part}") for part in parts)),
    )


def hostile() -> Findings:
    return findings((HOSTILE, "  spaces  in  it ", "x" * 90, "возраст"), positive="<b>yes</b>")


def no_structure() -> Findings:
    found = findings()
    flat = replace(
        found.studies[0],
        structure_found=False,
        model=found.studies[0].baseline,
        chosen=0,
        knee=0,
        front=found.studies[0].front[:1],
        front_variables=found.studies[0].front[:1],
        components=(),
        interactions=(),
        checks=replace(found.studies[0].checks, calibration_picture="", roc_picture=""),
        claims=(),
    )
    return replace(found, studies=(flat,), claims=())


def fast() -> Findings:
    found = findings()
    quick = replace(
        found.studies[0],
        honest=None,
        checks=replace(found.studies[0].checks, source="leave-one-out"),
    )
    return replace(
        found, studies=(quick,), run=replace(found.run, skipped=("outer folds", "interactions"))
    )


def three_classes() -> Findings:
    found = findings()
    labels = ("setosa", "versicolor", "virginica")
    return replace(
        found,
        table=replace(found.table, classes=tuple((label, 50) for label in labels)),
        studies=tuple(replace(study(positive=label), negative="the rest") for label in labels),
        joint=Joint(
            classes=labels,
            error=interval(0.04, 0.03),
            baseline_error=interval(0.667, 0.01),
            confusion=((50, 0, 0), (0, 47, 3), (0, 3, 47)),
            source="outer folds",
        ),
    )


def regression() -> Findings:
    found = findings()
    one = found.studies[0]
    bare = tuple(replace(each, roc=None) for each in one.front)
    numeric = replace(
        one,
        task="regression",
        positive="",
        negative="",
        n_positive=0,
        n_negative=0,
        model=bare[3],
        baseline=bare[0],
        front=bare,
        front_variables=bare,
        honest=replace(
            one.honest,
            auc=None,
            log_loss=float("nan"),
            baseline_log_loss=float("nan"),
            brier=float("nan"),
            root_mean_square=54.1,
            error=interval(0.5, 0.06),
            baseline_error=interval(1.0, 0.0),
            folds=tuple(replace(fold, baseline_error=1.0) for fold in one.honest.folds),
            gain=interval(0.5, 0.06),
            miss=Interval(estimate=54.1, low=51.6, high=57.0),
        ),
        checks=Checks(
            source="leave-one-out",
            coverage=0.947,
            coverage_interval=interval(0.947, 0.02),
            surprising=one.checks.surprising[:1],
        ),
        explained=tuple(
            replace(each, probability=150.0, level=150.0, label="151") for each in explained()
        ),
        claims=claims(target="progression"),
    )
    table = replace(found.table, task="regression", classes=(), target="progression")
    return replace(found, table=table, studies=(numeric,), claims=numeric.claims)


def rare() -> Findings:
    """Ten of 510 rows are of the class asked for."""
    found = findings()
    at = Decision(
        threshold=0.0196,
        n_called=120,
        error=interval(0.22, 0.03),
        balanced_error=interval(0.26, 0.1),
        precision=interval(0.058, 0.03),
        recall=interval(0.7, 0.25),
    )
    curve = roc()
    curve = replace(
        curve,
        thresholds=tuple(one / 10 for one in curve.thresholds),
        n_positive=10,
        n_negative=500,
    )
    one = replace(
        found.studies[0],
        n_positive=10,
        n_negative=500,
        claims=claims()[:1],
        checks=replace(found.studies[0].checks, roc=curve),
        honest=replace(
            found.studies[0].honest,
            error=interval(0.0196, 0.01),
            baseline_error=interval(0.0196, 0.01),
            gain=interval(0.0, 0.01),
            log_loss=0.081,
            baseline_log_loss=0.097,
            log_loss_gain=interval(0.016, 0.009),
            average_precision=interval(0.12, 0.08),
            at_half=replace(at, n_called=0, precision=None, error=interval(0.0196, 0.01)),
            at_base_rate=at,
        ),
    )
    table = replace(found.table, classes=((one.negative, 500), (one.positive, 10)))
    return replace(found, table=table, studies=(one,), claims=one.claims)
