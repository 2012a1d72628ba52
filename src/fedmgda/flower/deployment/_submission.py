"""Hand a run to a SuperLink, follow it, and say how it ended.

What `flwr run` returns says nothing about the run. The ServerApp's last line does, and where its
machine is this one, a file that it leaves beside the run folder.
"""

from __future__ import annotations

import json
import queue
import re
import shlex
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any, final

from fedmgda._errors import FedmgdaError
from fedmgda._text import without_colours
from fedmgda.flower.wire._end import End

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["FlowerError", "Submission", "flwr_json"]

_STARTED = re.compile(r"[Ss]tarted run (\d+)")
_NEWS = re.compile(r"fedmgda: (.*)")
_ENDED = re.compile(r"exit (\d+): (.*)")
_FINISHED = "already finished"  # what a run says to whoever wants to stop it too late
_LOOK = 0.5  # seconds between two looks at what else may have ended
_STOPS = 20.0  # seconds for a run to end that was asked to
_KEPT = 12  # lines, for the sentence where there is no other


class FlowerError(FedmgdaError):
    """A command of Flower's own failed."""


def flwr_json(environment: Mapping[str, str], *arguments: str, seconds: float = 60.0) -> Any:
    """Run a command of Flower's own and return what it says in JSON.

    Raises:
        FlowerError: If it fails, or takes longer.
    """
    command = ["flwr", *arguments, "--format", "json"]
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise FlowerError(f"{shlex.join(command)} took more than {seconds:g} s.") from None
    start = done.stdout.find("{")
    words = " ".join((done.stderr or done.stdout).split())[-400:]
    if done.returncode or start < 0:
        raise FlowerError(f"{shlex.join(command)} ended with code {done.returncode}: {words}")
    found, _ = json.JSONDecoder().raw_decode(done.stdout[start:])
    if not found.get("success"):
        raise FlowerError(f"{shlex.join(command)} said: {words}")
    return found


@final
class Submission:
    """A run that was handed to a SuperLink.

    Args:
        app: The folder of the app.
        connection: The SuperLink's name in Flower's configuration.
        environment: In which `flwr` finds that configuration.
    """

    def __init__(self, app: Path, connection: str, environment: Mapping[str, str]) -> None:
        self._connection, self._environment = connection, dict(environment)
        self._run_id: str | None = None
        self._last: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            ["flwr", "run", str(app), connection, "--stream"],  # noqa: S607 (the PATH is ours)
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,  # Ctrl-C is for this process to decide on
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def follow(
        self, news: Callable[[str], None], look: Callable[[], End | None] = lambda: None
    ) -> End:
        """Wait for the run's end.

        Args:
            news: Told what the run says of itself.
            look: Called all the time: whether the run has ended in another way; may raise.
        """
        looked = time.monotonic()
        while True:
            try:
                line = self._lines.get(timeout=_LOOK)
            except queue.Empty:
                line = ""
            if line is None:
                return look() or self._unsaid()
            end = self._take(line, news)
            if end is not None:
                return end
            if time.monotonic() - looked >= _LOOK:
                looked = time.monotonic()
                if (end := look()) is not None:
                    return end

    def stop(self) -> End | None:
        """Ask the SuperLink to end the run, and wait a moment for it to be saved.

        Returns:
            How it ended; None if it did not say so.
        """
        if self._run_id is None:
            return None
        try:
            flwr_json(self._environment, "stop", self._run_id, self._connection, seconds=_STOPS)
        except FlowerError as error:
            if _FINISHED not in str(error):
                raise
        until = time.monotonic() + _STOPS
        while time.monotonic() < until:
            try:
                line = self._lines.get(timeout=_LOOK)
            except queue.Empty:
                continue
            if line is None:
                return None
            if (end := self._take(line, lambda _: None)) is not None:
                return end
        return None

    def close(self) -> None:
        """Follow no longer; the run itself goes on."""
        self._process.kill()
        self._process.wait()
        self._reader.join()  # the pipe has ended with its other side
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _take(self, line: str, news: Callable[[str], None]) -> End | None:
        if line.strip():
            self._last = [*self._last, line.strip()][-_KEPT:]
        if self._run_id is None and (found := _STARTED.search(line)):
            self._run_id = found[1]
        if (said := _NEWS.search(line)) is None:
            return None
        if ended := _ENDED.fullmatch(said[1].strip()):
            return End(int(ended[1]), ended[2])
        news(said[1].strip())
        return None

    def _unsaid(self) -> End:
        """Say what is known of a run that ended without a word."""
        code = self._process.wait()
        if self._run_id is None:
            words = " ".join(self._last)[-600:] or "it said nothing"
            return End(FlowerError.exit_code, f"flwr run ended with code {code}: {words}")
        return End(
            FlowerError.exit_code,
            f"The run {self._run_id} ended without saying why, as one does whose ServerApp was "
            f"killed or could not start ({self._last[-1]:.300}); the same command goes on from "
            "the last round that was saved.",
        )

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(without_colours(line))
        self._lines.put(None)
