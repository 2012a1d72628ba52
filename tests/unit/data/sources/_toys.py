"""A small data set of two files, a server that carries it, and ways to spoil both."""

import hashlib
import io
import re
import tarfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fedmgda.data.sources._archives import copy, gunzip, restore_plain, store_plain, unpack_tar
from fedmgda.data.sources._origin import Download, Origin, Source

FILES = {"rows.txt": b"1,2,3\n" * 50_000, "more.txt": b"4,5,6\n"}


def md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def tar_of(members, *, mode="w:gz"):
    """Return a tar file; a member may be bytes or a TarInfo-changing function."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                archive.addfile(content(info))
    return buffer.getvalue()


def ar_of(members):
    """Return an `ar` archive, the outer form of a Debian package."""
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        parts.append(f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode())
        parts.append(content + b"\n" * (len(content) % 2))
    return b"".join(parts)


GOOD = tar_of({f"toy-1.0/data/{name}": content for name, content in FILES.items()})


def toy(*urls, sha256=None, **changes):
    """Return a data set with one source per address."""
    download = partial(Download, client="https", file="toy-1.0.tar.gz", sha256=sha256)
    options = {
        "name": "toy",
        "size": len(GOOD),
        "files": {name: md5(content) for name, content in FILES.items()},
        "sources": tuple(
            Source(name=f"place {number}", downloads=(download(address=url),))
            for number, url in enumerate(urls, 1)
        ),
        "forms": {
            "toy-1.0.tar.gz": partial(unpack_tar, inside="toy-1.0/data", names=tuple(FILES)),
            "*.txt": copy,
            "*.txt.gz": gunzip,
        },
        "store": store_plain,
        "restore": restore_plain,
        "home": "nowhere",
    }
    return Origin(**(options | changes))


class Server:
    """What is served under which path, and what was asked for.

    Attributes:
        url: The address of the folder.
        content: For each path the bytes, or None for a path that never answers.
        cut: Break off after so many bytes of an answer; None serves all.
        ranges: Whether Range is honoured.
        length: Whether an answer says how long it is.
        requests: The Range header of each request, in order.
    """

    def __init__(self, url):
        self.url = url
        self.content = {}
        self.cut = None
        self.ranges = True
        self.length = True
        self.requests = []
        self.silence = threading.Event()


@contextmanager
def serving():
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # a client that hangs up is part of the tests
    handler.state = state = Server(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        state.silence.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    state = None

    def do_GET(self):
        self.state.requests.append(self.headers.get("Range"))
        if self.path not in self.state.content:
            self.send_error(404)
            return
        content = self.state.content[self.path]
        if content is None:
            self.state.silence.wait(30)
            return
        start = self._start(len(content))
        if start is None:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if self.state.length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = len(content) if self.state.cut is None else start + self.state.cut
        self.wfile.write(content[start:end])

    def _start(self, length):
        asked = re.match(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if not asked or not self.state.ranges:
            return 0
        return int(asked[1]) if int(asked[1]) < length else None

    def log_message(self, *_):
        pass
