"""Standard streams that are closed, full, left by their reader or of few letters end no command."""

import subprocess
import sys

import pytest

PRINT = """
import sys
from fedmgda.cli._streams import prepare_streams
prepare_streams()
for _ in range(3):
    print("x" * 70_000, "ε \\udcff", flush=True)
    print("ε", file=sys.stderr, flush=True)
sys.exit(9)
"""


def shell(line, code=PRINT, **environment):
    return subprocess.run(
        ["bash", "-c", line, "-", sys.executable, code],
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", **environment},
    )


@pytest.mark.parametrize("left", ["head -c 1", "true", "sleep 0"])
@pytest.mark.parametrize("flags", ["", "-u"])
def test_who_stops_reading_changes_no_exit_code(left, flags):
    line = f'"$1" {flags} -c "$2" | {left} > /dev/null; exit ${{PIPESTATUS[0]}}'
    result = shell(line)
    assert (result.returncode, b"Traceback" in result.stderr) == (9, False)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2> /dev/full"])
def test_a_stream_that_is_not_there_changes_no_exit_code(closed):
    assert shell(f'"$1" -c "$2" {closed}').returncode == 9


def test_no_file_gets_the_number_of_a_closed_stream():
    code = PRINT.replace("for _ in range(3):", "sys.exit(open('/dev/null').fileno())\nif True:")
    assert shell('"$1" -c "$2" <&- >&- 2>&-', code).returncode > 2


def test_what_an_encoding_lacks_is_escaped():
    result = shell('"$1" -c "$2"', PYTHONIOENCODING="ascii")
    assert result.returncode == 9
    assert result.stdout.endswith(rb"x \u03b5 \udcff" + b"\n")
    assert result.stderr == rb"\u03b5" + b"\n" + rb"\u03b5" + b"\n" + rb"\u03b5" + b"\n"


def test_a_full_disk_is_still_an_error():
    result = shell('"$1" -c "$2" > /dev/full')
    assert b"No space left on device" in result.stderr
