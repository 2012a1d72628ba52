"""Fetch one file over the network, in pieces, going on where an earlier attempt stopped."""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from fedmgda.data.sources._origin import SourceError, Step

if TYPE_CHECKING:
    from pathlib import Path

    from fedmgda.data.sources._origin import Progress

__all__ = ["download"]

ANSWER = 5.0  # seconds a source has for its first answer, finding its address included
STALL = 20.0  # seconds without a byte after which a transfer counts as broken
ATTEMPTS = 3
_PIECE = 1 << 20


def download(url: str, target: Path, *, max_bytes: int, progress: Progress) -> None:
    """Write what is at `url` to `target`; what arrived of a broken transfer waits beside it.

    Raises:
        SourceError: If the source does not answer, breaks off, or sends more than `max_bytes`.
    """
    part = target.with_name(target.name + ".part")
    for attempt in range(ATTEMPTS):
        before = part.stat().st_size if part.exists() else 0
        try:
            _transfer(url, part, max_bytes=max_bytes, progress=progress)
        except _BrokenOffError:
            # Worth another attempt only if this one brought something.
            if attempt == ATTEMPTS - 1 or part.stat().st_size <= before:
                raise
        else:
            part.replace(target)
            return


class _BrokenOffError(SourceError):
    """The transfer began and did not end."""


def _transfer(url: str, part: Path, *, max_bytes: int, progress: Progress) -> None:
    start = part.stat().st_size if part.exists() else 0
    with _open(url, start) as response:
        resumed = getattr(response, "status", None) == http.HTTPStatus.PARTIAL_CONTENT
        done = start if resumed else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdigit() else None
        with part.open("ab" if resumed else "wb") as file:
            while max(done, total or 0) <= max_bytes and (piece := _read(response)):
                done += len(piece)
                file.write(piece)
                progress(Step(text=part.stem, done=done, total=total))
    if max(done, total or 0) > max_bytes:
        part.unlink()
        raise SourceError(f"the file is larger than the {max_bytes} bytes expected")
    if total is not None and done < total:
        raise _BrokenOffError(f"the connection ended after {done} of {total} bytes")


def _read(response: Any) -> bytes:
    try:
        return bytes(response.read(_PIECE))
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenOffError(f"the connection broke ({_reason(error)})") from error


def _open(url: str, start: int) -> Any:
    """Return the open response, or give up after a few seconds."""
    if not url.startswith(("https://", "http://", "file://")):
        raise SourceError(f"{url} is not an address that can be fetched")
    headers = {"User-Agent": "fedmgda", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 (checked above)
    answer = _answer(request)
    if isinstance(answer, urllib.error.HTTPError):
        answer.close()
        if start and answer.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return _open(url, 0)  # nothing beyond `start`: the part is not of this file
    if isinstance(answer, Exception):
        raise SourceError(_reason(answer)) from answer
    return answer


def _answer(request: urllib.request.Request) -> Any:
    """Return the response or the error; in a thread, as finding a name has no limit of its own."""
    answers: list[Any] = []
    given_up = threading.Event()

    def ask() -> None:
        try:
            response = urllib.request.urlopen(request, timeout=STALL)  # noqa: S310 (checked)
        except (OSError, http.client.HTTPException, ValueError) as error:
            answers.append(error)
            return
        answers.append(response)
        if given_up.is_set():
            response.close()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(ANSWER)
    if not answers:
        given_up.set()
        raise SourceError(f"no answer within {ANSWER:g} s")
    return answers[0]


def _reason(error: Any) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answered {error.code} {error.reason}"
    cause = getattr(error, "reason", None) or error
    return str(getattr(cause, "strerror", None) or cause or type(error).__name__)
