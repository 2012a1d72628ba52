"""Whatever is missing or broken in a folder is said, nothing false is said for it, and the rest is
shown."""

import pytest

from fedmgda.report.page import build_page
from fedmgda.report.page._answers import answers
from fedmgda.report.page._facts import group_facts, measure_of
from fedmgda.report.page._joined import compare_groups
from fedmgda.report.page._section import Context, LeftOut
from fedmgda.report.page._sections import all_sections
from fedmgda.report.page._source import read_source
from runs import copy_of, finished_run, stopped_run

EVERYTHING = {
    "attack": {"name": "scale-update", "clients": [1]},
    "evaluation": {"every": 2, "pareto": True},
}
RESULTS = (
    "rounds.jsonl", "evaluations.jsonl", "clients.csv", "summary.json", "partition.npz",
    "predictions.npz", "model.safetensors", "gram.bin",
)  # fmt: skip
RECORDS = ("rounds.jsonl", "evaluations.jsonl", "partition.npz")
DAMAGE = {
    "deleted": lambda path, _: path.unlink(),
    "emptied": lambda path, _: path.write_bytes(b""),
    "cut": lambda path, content: path.write_bytes(content[: len(content) // 3]),
    "changed": lambda path, content: path.write_bytes(
        content[: len(content) // 2] + b"~" + content[len(content) // 2 + 1 :]
    ),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a finished run and one that was killed, of which a page shows almost everything."""
    path = tmp_path_factory.mktemp("whole")
    finished_run(path / "finished", **EVERYTHING)
    stopped_run(path / "stopped", **EVERYTHING)
    return path


def read(folder):
    """Return what a page says is broken, what it leaves out and why, and its answers."""
    source = read_source([folder])
    joined, measure = compare_groups(source), measure_of(source)
    parts = all_sections(Context(source=source, joined=joined, measure=measure))
    left_out = {part.title: part.why for part in parts if isinstance(part, LeftOut)}
    facts = [group_facts(group, measure, joined) for group in source.groups]
    return source.broken, left_out, {one.question: one.answer for one in answers(facts, joined)}


# The end of a killed run's evaluations may be missing: resume makes it anew.
CASES = [
    (run, name, how)
    for run, names in {"finished": RESULTS, "stopped": RECORDS}.items()
    for name in names
    for how in DAMAGE
    if (run, name, how) != ("stopped", "evaluations.jsonl", "cut")
]


@pytest.mark.parametrize(("run", "name", "how"), CASES)
def test_what_a_damage_takes_away_is_said_to_be_damaged(runs, tmp_path, run, name, how):
    _, before, whole = read(runs / run)
    folder = copy_of(runs / run, tmp_path / run)
    DAMAGE[how](folder / name, (folder / name).read_bytes())
    broken, after, told = read(folder)
    assert broken
    assert any(name in sentence for sentence in broken)
    for title in after.keys() - before.keys():
        said = after[title]
        assert any(
            word in said for word in ("cannot be read", name, "No run is finished and whole")
        )
    for question in told.keys() & whole.keys():
        if told[question] != whole[question]:
            assert any(word in told[question] for word in ("Not known", "damaged")), question


def test_a_run_that_attacks_by_name_is_not_called_broken_before_it_is_finished(tmp_path):
    table = tmp_path / "t.csv"
    rows = [f"{'abcd'[i % 4]},{(i * 37) % 101},{i % 2}" for i in range(160)]
    table.write_text("\n".join(["client,x,label", *rows]) + "\n")
    data = {"path": str(table), "client": "client", "target": "label"}
    attack = {"name": "scale-update", "clients": ["c"]}
    stopped_run(tmp_path / "run", data=data, model={}, attack=attack)
    page = build_page([tmp_path / "run"])
    assert page.broken == ()
    assert "no run was attacked" not in page.html


def test_a_spec_that_cannot_be_read_is_named_with_its_folder(runs, tmp_path):
    folder = copy_of(runs / "finished", tmp_path / "bad")
    spec = folder / "spec.toml"
    spec.write_text(spec.read_text().replace("uniform", "unifogm"))
    page = build_page([runs / "stopped", folder])
    assert any(f"{spec} is damaged" in sentence for sentence in page.broken)


def test_rounds_of_one_run_that_cannot_be_read_are_no_all_clear_for_it(runs, tmp_path):
    folder = copy_of(runs / "finished", tmp_path / "other")
    (folder / "rounds.jsonl").unlink()
    source = read_source([runs / "stopped", folder])
    joined = compare_groups(source)
    facts = [group_facts(group, "accuracy", joined) for group in source.groups]
    told = {one.question: one.answer for one in answers(facts, joined)}
    for question in ("Was anyone sacrificed?", "Did rounds do nothing?"):
        assert "Not known of other: no round could be read." in told[question]
