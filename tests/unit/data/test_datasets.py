"""What every record of the tables of data sets and partitions must keep."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedmgda._errors import SpecError
from fedmgda.data import DATASETS, PARTITIONS, Examples, FederatedData, find_dataset
from fedmgda.experiments import spec_keys
from unit.data._laws import assert_complete_and_disjoint

DOCS = Path(__file__).parents[3] / "docs"


def rows_of(page, heading):
    """Return the cells of the first table below a heading of a document."""
    text = (DOCS / page).read_text(encoding="utf-8").split(f"## {heading}\n")[1]
    lines = text[text.index("\n|") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.fixture(params=DATASETS)
def dataset(request):
    return DATASETS[request.param]


def test_every_data_set_is_described(dataset):
    assert DATASETS[dataset.name] is dataset
    assert find_dataset(dataset.name) is dataset
    assert all([dataset.title, dataset.federation, dataset.licence, dataset.model])
    assert dataset.origin is None or dataset.origin.name == dataset.name


def test_every_data_set_says_who_takes_part_once(dataset):
    said = (dataset.participation, dataset.per_round, dataset.most_per_round)
    assert sum(value is not None for value in said) == 1


def test_every_default_is_one_that_may_be_given(dataset):
    partition = dataset.settings.get("partition")
    assert (partition is None) == (dataset.default_partition is not None)
    assert partition is None or partition in PARTITIONS
    assert (partition == "natural") == (dataset.clients == "given")
    dealt = {} if partition is None else PARTITIONS[partition].settings
    assert set(dataset.released) <= {*dataset.settings, *dealt, "local_split"}
    splits = {both.get("local_split") for both in (dataset.settings, dataset.released)} - {None}
    assert splits <= set(dataset.local_splits)


def test_data_that_is_not_fetched_is_made_or_read_at_once():
    for name in ("digits", "synthetic", "quadratics"):
        settings = {"name": name, **DATASETS[name].settings}
        once, again = (DATASETS[name].load(settings, 7) for _ in range(2))
        assert isinstance(once, Examples if DATASETS[name].clients == "dealt" else FederatedData)
        np.testing.assert_array_equal(once.features, again.features)
        np.testing.assert_array_equal(once.targets, again.targets)


def test_the_settings_reach_the_data():
    made = DATASETS["synthetic"].load({"num_clients": 3, "alpha": 0.5, "beta": 0.0}, 1)
    assert (made.num_clients, made.name) == (3, "synthetic(0.5, 0)")
    assert DATASETS["quadratics"].load({"num_clients": 4}, 1).num_clients == 4


def test_a_function_of_the_users_own_has_a_record_too():
    record = find_dataset("my.module:make")
    assert (record.name, record.clients, record.options) == (
        "my.module:make",
        "given",
        ("options",),
    )
    assert "my.module:make" not in DATASETS


def test_the_tables_need_no_large_package():
    code = (
        "import sys, fedmgda.data\n"
        "large = {'torch', 'sklearn', 'pyarrow', 'h5py', 'PIL', 'scipy', 'urllib.request'}\n"
        "sys.exit(', '.join(large & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def images(groups=None):
    targets = np.repeat(np.arange(5), 60)
    features = np.arange(300, dtype=np.float32)[:, None]
    return Examples(name="toy", features=features, targets=targets, num_classes=5, groups=groups)


@pytest.mark.parametrize("partition", PARTITIONS.values(), ids=lambda partition: partition.name)
def test_every_partition_deals_everything_once_with_its_own_defaults(partition):
    assert PARTITIONS[partition.name] is partition
    assert partition.title
    rng = np.random.default_rng(0)
    portions = partition.deal(images(np.arange(300) % 7), partition.settings, rng)
    assert_complete_and_disjoint(portions, 300)
    assert len(portions) == partition.settings.get("num_clients", 7)


def test_only_data_that_names_its_clients_is_dealt_by_nature():
    with pytest.raises(SpecError, match="'natural' needs data that names its clients"):
        PARTITIONS["natural"].deal(images(), {}, np.random.default_rng(0))


def test_the_document_has_a_row_for_every_data_set():
    rows = rows_of("data.md", "Data sets and the federations they become")
    assert {row[0].strip("`") for row in rows} == set(DATASETS)
    fetched = {name for name, dataset in DATASETS.items() if dataset.origin}
    rows = rows_of("data.md", "Sources, in the order in which they are tried")
    assert {row[0].strip("`") for row in rows} == fetched


def test_the_document_pins_what_the_records_pin():
    pins, name = {}, ""
    for row in rows_of("data.md", "Checksums"):
        name = row[0].strip("`") or name
        pins.setdefault(name, {})[row[1]] = row[2].strip("`")
    for dataset in DATASETS.values():
        if dataset.origin and dataset.name != "shakespeare":  # 37 texts, listed in the code alone
            assert pins.get(dataset.name, {}) == dict(dataset.origin.files)
    text = (DOCS / "data.md").read_text(encoding="utf-8")
    sources = [s for d in DATASETS.values() if d.origin for s in d.origin.sources]
    digests = {item.sha256 for source in sources for item in source.downloads if item.sha256}
    assert digests == set(re.findall(r"sha256 `([0-9a-f]{64})`", text))


def test_the_keys_of_a_spec_name_every_data_set_partition_and_setting():
    keys = spec_keys()
    assert keys["data.name"].names == tuple(DATASETS)
    assert keys["data.partition"].names == tuple(PARTITIONS)
    settings = [record.settings for record in (*DATASETS.values(), *PARTITIONS.values())]
    for key in {key for each in settings for key in each}:
        assert f"data.{key}" in keys
    for partition in PARTITIONS.values():
        for name, value in partition.settings.items():
            if name != "num_clients":  # which every data set has for itself
                assert str(value) in keys[f"data.{name}"].default
                assert f"`{partition.name}`" in keys[f"data.{name}"].meaning
