"""The commands of docs/flower.md for several machines, typed as they stand, on one."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deployed import wait_for
from fedmgda.experiments import open_run
from fedmgda.flower.deployment._environment import quiet_environment
from fedmgda.flower.deployment._ports import free_ports, is_open

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "hospitals"
EVERYWHERE = "0.0.0.0"  # noqa: S104 (to be replaced)


class Terminal:
    """A shell in a folder of its own, whose commands that stay are stopped at the end."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port
        self.environment = quiet_environment(folder / "flwr")
        self.running = []

    def blocks(self, title):
        """Return the fenced blocks under a title of docs/flower.md, for this machine."""
        page = (ROOT / "docs" / "flower.md").read_text()
        section = page.split(f"## {title}\n")[1].split("\n## ")[0]
        found = re.findall(r"^```[^\n]*\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
        return [self._here(text).replace("\\\n", " ").splitlines() for text in found]

    def _here(self, text):
        local = {
            "LINK": "127.0.0.1", EVERYWHERE: "127.0.0.1", "8100": str(self.port),
            "/home/me": str(self.folder), "/srv": str(self.folder),
        }  # fmt: skip
        for word, other in local.items():
            text = text.replace(word, other)
        return text

    def do(self, line):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def begin(self, line, folder):
        with (folder / "log").open("wb") as log:
            started = subprocess.Popen(
                ["bash", "-c", f"exec {line}"],
                cwd=folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running.append(started)

    def close(self):
        for process in reversed(self.running):
            os.killpg(process.pid, signal.SIGTERM)
        for process in self.running:
            process.wait(60)


@pytest.fixture
def terminal(tmp_path):
    made = Terminal(tmp_path, free_ports(1)[0])
    yield made
    made.close()


def sit_down(terminal, line, index, site):
    """Start the node of a site, which has its file, its key, the certificate and the spec."""
    folder = terminal.folder / f"site{index}"
    folder.mkdir()
    for file in ("keys/ca.crt", f"keys/node{index}", "spec.toml"):
        shutil.copy(terminal.folder / file, folder)
    shutil.copy(terminal.folder / "files" / f"{site}.csv", folder / "visits.csv")
    line = line.replace("node0", f"node{index}").replace("--node 0", f"--node {index}")
    terminal.begin(line.replace("north", site), folder)


@pytest.mark.slow
def test_the_section_from_its_first_command_to_its_last(terminal, tmp_path):
    link, config, register, node, run = terminal.blocks("A secured federation on several machines")
    terminal.do(f"{sys.executable} {EXAMPLE / 'make_files.py'} files")
    shutil.copy(EXAMPLE / "spec.toml", tmp_path)
    for line in link[:-1]:
        terminal.do(line)
    terminal.begin(link[-1], tmp_path)
    (tmp_path / "flwr").mkdir()
    (tmp_path / "flwr" / "config.toml").write_text("\n".join(config) + "\n")
    assert wait_for(lambda: is_open(terminal.port), 120)
    for line in register:
        terminal.do(line)
    for index, site in enumerate(("north", "coast")):
        sit_down(terminal, node[-1], index, site)
    terminal.do(f"{run[-1]} -c rounds=2")  # all else is what the sites agreed to
    finished = open_run(tmp_path / "runs" / "a")
    assert finished.finished
    assert [client.name for client in finished.clients] == ["coast", "north"]
