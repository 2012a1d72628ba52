"""The files of a run folder are named, and so opened, in few places."""

import ast
from pathlib import Path

import fedmgda
from fedmgda.experiments import _folder_files, _records
from fedmgda.experiments._spec import EvaluationSpec

SOURCE = Path(fedmgda.__file__).parent
NAMES = {*_folder_files.RESULTS, _folder_files.DONE, _records.TIMINGS, "checkpoints"}
"""What only a run folder has; a spec and an environment are also published beside tables."""

HOME = {
    "experiments/_folder_files.py",
    "experiments/_records.py",
    "experiments/_store.py",
}
OF_A_SWEEP = {"experiments/_collection.py": {"summary.json"}}  # the table over its runs


def texts_of(path):
    """Yield the texts of a module, those of its docstrings apart."""
    tree = ast.parse(path.read_text())
    told = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def test_nothing_but_the_reader_and_the_writer_names_the_files_of_a_run():
    found = {
        (str(path.relative_to(SOURCE)), name)
        for path in SOURCE.rglob("*.py")
        for text in texts_of(path)
        for name in NAMES
        if text == name or text.endswith((f"/{name}", ".jsonl"))
    }
    strangers = {(path, name) for path, name in found if path not in HOME}
    assert strangers == {(path, name) for path, names in OF_A_SWEEP.items() for name in names}


def test_files_are_opened_in_one_place_only():
    opening = {"open", "read_bytes", "write_bytes", "read_text", "write_text", "savetxt", "tofile"}
    for path in (SOURCE / "experiments").glob("*.py"):
        calls = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        # A spec of the user's is read where it lies, as is the head of a table that may be written
        # over; the demo's comes with the package, and an archive in memory is opened member by
        # member.
        allowed = {
            "_toml.py": {"read_bytes"},
            "_comparison.py": {"open"},
            "_demo.py": {"read_text"},
            "_jobs.py": {"open"},
            "_npz.py": {"open"},
        }
        assert calls & opening <= allowed.get(path.name, set()), path.name


def test_when_an_evaluation_is_due_stands_once():
    when = EvaluationSpec(every=4, offset=1, last=True)
    assert [r for r in range(11) if when.is_due(r, 10)] == [0, 1, 5, 9, 10]
    when = EvaluationSpec(every=4, offset=0, last=False)
    assert [r for r in range(11) if when.is_due(r, 10)] == [0, 4, 8]
    assert [r for r in range(1, 7) if EvaluationSpec(improved_every=3).improved_is_due(r)] == [3, 6]
    assert not EvaluationSpec(improved=False).improved_is_due(1)
    users = [path.name for path in SOURCE.rglob("*.py") if ".every ==" in path.read_text()]
    assert users == ["_spec.py"]
