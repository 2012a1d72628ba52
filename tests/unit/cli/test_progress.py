"""What is said while several runs go on."""

from fedmgda.cli._progress import watch_jobs
from fedmgda.experiments import Collection, PlannedRun
from runs import small_spec


def test_what_differs_by_the_split_of_a_seed_is_read_once(tmp_path, capsys):
    """A table with rare categories had a note of ten lines, with other numbers for each seed."""
    notes = {0: ("9 clients are left out.", "3 are rare."), 1: ("4 are rare.",)}
    runs = [
        PlannedRun(cell={"variant": name}, seed=seed, spec=small_spec(seed=seed), notes=notes[seed])
        for seed in (0, 1)
        for name in ("a", "b")
    ]
    for _ in range(2):  # also where nothing is left to do
        watch_jobs(Collection(tmp_path, runs), 1, quiet=False, notes=True)
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Note:")]
        assert said == [f"Note: {sentence}" for sentence in notes[0]]
    watch_jobs(Collection(tmp_path, runs), 1, quiet=True, notes=True)
    assert not capsys.readouterr().err
