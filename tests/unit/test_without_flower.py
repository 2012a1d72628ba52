import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A module that is None in sys.modules cannot be found or imported.
COLLECT = """
import sys
sys.modules.update(dict.fromkeys(("flwr", "ray", "psutil")))
import pytest
sys.exit(pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def test_a_machine_without_the_extra_sees_one_line():
    options = ["tests", "src/fedmgda", "--ignore=tests/unit"]
    command = [sys.executable, "-c", COLLECT, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert sum("SKIPPED" in line for line in lines) == 1
    assert "Flower is not installed" in done.stdout
    found = {line.split("::")[0] for line in lines if "::" in line}
    assert "tests/system/test_kill.py" in found
    assert not [path for path in found if "/flower/" in path]
