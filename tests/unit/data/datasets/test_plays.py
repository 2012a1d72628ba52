import pytest

from fedmgda._errors import DataError
from fedmgda.data.datasets._plays import PLAY_FILES, read_roles, roles_of

PLAY = """THE TRAGEDY

PERSONS REPRESENTED.

KING.
An old man.

ACT I.

SCENE I. A room. [Enter the
KING and a FOOL.]

A trumpet sounds.

KING.
Who  calls
on me?

[Exit Fool.]

Speak!

FIRST LORD.
[Aside.] My liege.

 SONG.

KING. [Rising.]
Say on, [sits] sir.

SCENE II.
A heath.

The rain falls.

FIRST LORD
It rains.
"""

PLAYS = [file.removesuffix("_gut.txt") for file in PLAY_FILES]


def test_a_role_says_all_its_lines_and_nothing_else():
    assert roles_of(PLAY) == {
        "KING": "Who calls on me? Speak! Say on, sir.",
        "FIRST LORD": "My liege. It rains.",
    }


def test_names_in_small_letters_are_known_by_their_repetition_before_speeches():
    speeches = "Ham.\nWords.\n\nPol.\nWhat?\n\nWords.\n\n" * 3
    assert roles_of(f"ACT I.\n\n{speeches}Come hither, sir.\nNow.\n") == {
        "HAM": "Words. Words. Words.",
        "POL": "What? Words. What? Words. What? Words. Come hither, sir. Now.",
    }


def test_a_play_without_full_stops_needs_its_own_rule():
    play = "ACT I.\n\nPUCK\nLord!\n\nHERMIA\nWhat, out of hearing?\n\nPUCK\nAnon.\n"
    assert roles_of(play, full_stop=False) == {
        "PUCK": "Lord! Anon.",
        "HERMIA": "What, out of hearing?",
    }
    assert roles_of(play) == {}


def test_a_stage_direction_that_is_never_closed_ends_with_its_paragraph():
    assert roles_of("ACT I.\n\nKING.\nHear [aside\nthis\n\nGo on.") == {"KING": "Hear Go on."}


def test_there_are_thirty_seven_plays_and_one_of_them_has_no_full_stops(tmp_path):
    assert len(PLAYS) == len(set(PLAYS)) == 37
    for play in PLAYS:
        dot = "" if play == "midsummer_nights_dream" else "."
        (tmp_path / f"{play}_gut.txt").write_text(f"ACT I.\n\nKING{dot}\nI am in {play}.\n")
    roles = read_roles(tmp_path)
    assert roles == {f"{play}/KING": f"I am in {play}." for play in PLAYS}


def test_a_missing_play_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no alls_well_that_ends_well_gut.txt in .* fetch"):
        read_roles(tmp_path)


def test_a_file_that_is_too_large_for_a_play_is_not_read(tmp_path):
    (tmp_path / f"{PLAYS[0]}_gut.txt").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(DataError, match="too many for a play"):
        read_roles(tmp_path)
