"""A spec is written so that it is read back, whatever texts are in it."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fedmgda._errors import SpecError
from fedmgda.experiments import RunFolder, Spec, open_run, parse, to_table, to_toml, with_overrides
from fedmgda.experiments._spec import DataSpec
from fedmgda.experiments._toml import parse_toml
from runs import small_spec

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
PLAIN = st.one_of(ANY_TEXT, st.booleans(), st.integers(-(2**62), 2**62), st.floats(-1e9, 1e9))


def read_back(spec):
    return parse(Spec, parse_toml(to_toml(spec).encode(), Path("spec.toml")))


@given(
    st.builds(
        DataSpec,
        path=ANY_TEXT,
        client=ANY_TEXT,
        target=ANY_TEXT,
        features=st.lists(ANY_TEXT, max_size=3).map(tuple),
        options=st.none() | st.dictionaries(KEYS, PLAIN | st.lists(PLAIN, max_size=2), max_size=3),
    )
)
def test_any_text_is_read_back(data):
    spec = replace(Spec(), data=data)
    assert read_back(spec) == spec
    assert parse(Spec, to_table(spec)) == spec
    assert tomllib.loads(to_toml(spec)) == to_table(spec)


@pytest.mark.parametrize("code", [*range(0x20), 0x7F, 0x80, 0x9F, 0x2028, 0x1F600])
def test_every_control_character_in_a_name_is_read_back(tmp_path, code):
    spec = replace(small_spec(), data=replace(small_spec().data, client=f"a{chr(code)}b"))
    folder = RunFolder.create(tmp_path / "run", spec)
    assert open_run(folder.path).spec == spec
    assert RunFolder.create(tmp_path / "run", spec).spec() == spec


def test_a_text_that_is_no_unicode_is_one_sentence():
    with pytest.raises(SpecError, match="cannot be written in UTF-8"):
        to_toml(replace(Spec(), data=DataSpec(path="\ud800")))


@pytest.mark.parametrize(
    "content", [b"\xff", b"a = ", b"a = " + b"[" * 99_999, b"a = " + b"9" * 5000]
)
def test_what_is_no_toml_is_one_sentence(content):
    with pytest.raises(SpecError, match=r"spec\.toml is not "):
        parse_toml(content, Path("spec.toml"))


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_as_they_like_and_a_mark_may_come_first(ends):
    content = b"\xef\xbb\xbf" + ends.join([b"seed = 3", b"rounds = 4", b""])
    assert parse_toml(content, Path("spec.toml")) == {"seed": 3, "rounds": 4}


def test_an_override_takes_the_place_of_what_the_file_says_in_other_words():
    file = {"clients": {"participation": 1.0, "local_epochs": 2}}
    assert with_overrides(file, ["clients.per_round=9"]) == {
        "clients": {"per_round": 9, "local_epochs": 2}
    }
    assert with_overrides({"clients": {"per_round": 9}}, ["clients.participation=0.5"]) == {
        "clients": {"participation": 0.5}
    }
    # Two overrides that say it twice are the user's mistake, and refused later.
    both = with_overrides({}, ["clients.per_round=9", "clients.participation=0.5"])
    assert both == {"clients": {"per_round": 9, "participation": 0.5}}
