import os
import re
from pathlib import Path

import pytest

import fedmgda
from fedmgda._errors import DataError
from fedmgda._paths import is_folder, kind_of, paths_in

SOURCE = Path(fedmgda.__file__).parent


def test_a_path_leads_to_a_file_a_folder_or_nothing(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("")
    link.symlink_to(file)
    assert (kind_of(tmp_path), kind_of(file), kind_of(link)) == ("folder", "file", "file")
    assert kind_of(tmp_path / "none") is None
    assert kind_of(file / "below a file") is None
    assert (is_folder(tmp_path), is_folder(file)) == (True, False)
    assert paths_in(tmp_path) == [file, link]


@pytest.mark.parametrize("name", ["n" * 300, "n/" * 3000, "a\0b"])
def test_a_name_that_no_file_can_have_is_a_sentence(name, tmp_path):
    with pytest.raises(DataError, match=r"cannot be read: .*\.$"):
        kind_of(tmp_path / name)
    with pytest.raises(DataError, match="cannot be read"):
        paths_in(tmp_path / name)


def test_pipes_and_devices_are_neither(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(DataError, match="is neither a file nor a folder"):
            kind_of(path)


def test_json_is_parsed_in_one_place_which_bounds_it():
    """What lies within the package is ours."""
    parses = re.compile(r"json\.loads?\(")
    found = {file.name for file in SOURCE.rglob("*.py") if parses.search(file.read_text())}
    assert found == {"_json.py", "_cost.py"}


def test_what_a_user_names_is_asked_about_in_one_place():
    """`Path.exists` and its kin raise on names that are too long; those of DONE are our own."""
    asks = re.compile(r"(?<!DONE\))\.(exists|is_file|is_dir)\(\)")
    folders = (SOURCE / "cli", SOURCE / "experiments", SOURCE / "data" / "own", SOURCE / "report")
    for file in (file for folder in folders for file in folder.rglob("*.py")):
        assert not asks.search(file.read_text()), file
