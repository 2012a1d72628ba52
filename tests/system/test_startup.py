"""What a command loads before it does anything: large packages only where they are needed."""

import os
import subprocess
import sys

import pytest

HEAVY = ("torch", "sklearn", "scipy", "numba", "matplotlib", "pyarrow", "vl_convert", "altair")
COMMAND = """
import sys
sys.argv = ["fedmgda", *{arguments!r}]
from fedmgda.cli import main
try:
    main()
except SystemExit as end:
    print(end.code, sorted({heavy!r} & sys.modules.keys()), file=sys.stderr)
"""


def python(code, cwd, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=True,
        env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["reproduce", "list"]])
def test_what_only_prints_loads_nothing_large(arguments, tmp_path):
    result = python(COMMAND.format(arguments=arguments, heavy=set(HEAVY)), tmp_path)
    assert result.stderr.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("fedmgda re", {"resume", "report", "reproduce"}),
        ("fedmgda reproduce fmnist-e", {"fmnist-exact", "fmnist-epsilon"}),
        ("fedmgda data fetch cif", {"cifar10"}),
    ],
)
def test_the_shell_is_told_how_a_word_goes_on_without_loading_torch(words, found, tmp_path):
    asked = {
        "_FEDMGDA_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    result = python(COMMAND.format(arguments=[], heavy=set(HEAVY)), tmp_path, **asked)
    assert set(result.stdout.split()) == found
    assert result.stderr.splitlines()[-1] == "0 []"


def test_the_digits_are_read_without_scikit_learn_and_are_the_same(tmp_path):
    result = python(
        "import sys, numpy as np\n"
        "from fedmgda.data import load_digits\n"
        "digits = load_digits()\n"
        "assert 'sklearn' not in sys.modules\n"
        "from sklearn.datasets import load_digits\n"
        "features, targets = load_digits(return_X_y=True)\n"
        "np.testing.assert_array_equal(digits.features, (features / 16.0).astype(np.float32))\n"
        "np.testing.assert_array_equal(digits.targets, targets.astype(np.int64))\n"
        "print(digits.features.dtype, digits.targets.dtype, digits.features.flags.c_contiguous)",
        tmp_path,
    )
    assert result.stdout.split() == ["float32", "int64", "True"]


def test_training_with_torch_needs_no_compiler(tmp_path):
    spec = 'rounds = 1\n[data]\nnum_clients = 2\n[clients]\nper_round = 1\npath = "torch"\n'
    (tmp_path / "spec.toml").write_text(spec)
    command = COMMAND.format(arguments=["run", "spec.toml", "--json"], heavy={"numba"})
    blocked = 'import sys\nsys.modules["numba"] = None\n'  # an import of it would raise
    result = python(blocked + command.replace("sorted(", "list("), tmp_path)
    assert result.stderr.splitlines()[-1] == "0 ['numba']"
    assert (tmp_path / "runs" / "spec" / "DONE").exists()


def test_next_to_nothing_is_loaded_before_an_interruption_is_taken_care_of(tmp_path):
    """What is: the way to `signal`; all else comes when a Ctrl-C is a code and no traceback."""
    code = "import sys, signal; before = {*sys.modules}; import fedmgda.cli; "
    loaded = python(f"{code} print(*sorted({{*sys.modules}} - before))", tmp_path).stdout.split()
    assert loaded == ["__future__", "fedmgda", "fedmgda.cli"]
