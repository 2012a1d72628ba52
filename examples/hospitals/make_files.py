"""Write three files as three hospitals would have them, and a fourth with new patients.

The patients are real: 569 biopsies of breast tumours at the University of Wisconsin, each with 30
measurements and the diagnosis (Street, Wolberg and Mangasarian, 1993), as scikit-learn brings them
along. The hospitals are not: a tumour goes to one by its size, mostly, so that each sees other
cases. Some columns are there as hospitals have them: a case number, the day, a device that only
two of the three own.

    python make_files.py FOLDER
"""

from __future__ import annotations

import csv
import sys
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np

MEASURED = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave points", "symmetry", "fractal dimension",
)  # fmt: skip
COLUMNS = [f"{kind} {name}" for kind in ("mean", "error", "worst") for name in MEASURED]
HOSPITALS = ("north", "coast", "valley")
DEVICES = {"north": ("Axio", "Leica"), "coast": ("Leica", "Nikon"), "valley": ("Axio", "Nikon")}
NEW = 40


def main(folder: Path) -> None:
    """Write the files."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    table = read_biopsies()
    table = table[rng.permutation(len(table))]
    new, known = table[:NEW], table[NEW:]
    size = np.argsort(np.argsort(known[:, 0])) / len(known)  # the rank of the mean radius
    pull = size + rng.normal(0, 0.35, len(known))
    owner = np.digitize(pull, np.quantile(pull, [0.45, 0.8]))
    for number, hospital in enumerate(HOSPITALS):
        write(folder / f"{hospital}.csv", known[owner == number], DEVICES[hospital], rng)
    write(folder / "new.csv", new, ("Axio", "Leica"), rng, diagnosed=False)


def read_biopsies() -> np.ndarray:
    """Return 30 measurements and the diagnosis, 0 for malignant, of shape `(569, 31)`."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise SystemExit("The biopsies are part of scikit-learn: pip install scikit-learn")
    file = Path(package.origin).parent / "datasets" / "data" / "breast_cancer.csv"
    return np.loadtxt(file, delimiter=",", skiprows=1)


def write(
    path: Path,
    rows: np.ndarray,
    devices: tuple[str, ...],
    rng: np.random.Generator,
    *,
    diagnosed: bool = True,
) -> None:
    """Write one file, with the gaps that files have."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "day", "device", *COLUMNS, *(["diagnosis"] if diagnosed else [])])
        for number, row in enumerate(rows):
            day = date(1993, 1, 4) + timedelta(days=int(rng.integers(0, 700)))
            cells = [f"{value:.6g}" for value in row[:-1]]
            if rng.random() < 0.15:
                cells[9] = ""  # nobody measured the fractal dimension
            said = ["malignant" if row[-1] == 0 else "benign"] if diagnosed else []
            writer.writerow(
                [f"{path.stem}-{1000 + 3 * number}", day, rng.choice(devices), *cells, *said]
            )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "files"))
