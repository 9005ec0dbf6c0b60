"""Downloads, against a server on the loopback interface."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dataflow_datasets import fetch
from dataflow_datasets.registry import RemoteFile

CONTENT = bytes(range(256)) * 4096  # 1 MiB, so that it comes in several chunks


class Server(ThreadingHTTPServer):
    """Serves ``content``; can cut the answer short, refuse ranges, or fail."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.ranges: list[str | None] = []
        self.cut_at: int | None = None
        self.honors_range = True
        self.status: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/file.bin"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        wanted = self.headers.get("Range")
        server.ranges.append(wanted)
        if server.status is not None:
            self.send_error(server.status)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        total = len(server.content)
        if wanted and server.honors_range and start >= total:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{total}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if not (wanted and server.honors_range):
            start = 0
            self.send_response(200)
        else:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        body = server.content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if server.cut_at is None else body[: server.cut_at])

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join(timeout=10)
        assert not thread.is_alive()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATAFLOW_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DATAFLOW_DATA", raising=False)
    monkeypatch.delenv("DATAFLOW_OFFLINE", raising=False)
    # A proxy of the machine must not see requests to the loopback interface.
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path


def test_a_server_that_does_not_answer_is_given_up_and_not_asked_again(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    over = threading.Event()

    def silent(address: Any, timeout: float) -> Any:
        asked.append(address)
        over.wait(60)  # as a name server that is out of reach
        raise OSError

    monkeypatch.setattr(fetch.socket, "create_connection", silent)
    monkeypatch.setattr(fetch, "CONNECT_SECONDS", 0.05)
    monkeypatch.setattr(fetch, "_unreachable_until", {})
    monkeypatch.setattr(fetch.urllib.request, "getproxies", dict)
    try:
        with pytest.raises(
            fetch.DatasetUnavailableError, match="no connection to 127.0.0.2 within"
        ):
            fetch.fetch(remote("http://127.0.0.2:9/file.bin"))
        with pytest.raises(fetch.DatasetUnavailableError, match="a moment ago"):
            fetch.fetch(remote("http://127.0.0.2:9/file.bin"))
    finally:
        over.set()
    assert asked == [("127.0.0.2", 9)]


def remote(*urls: str, content: bytes = CONTENT, member: str | None = None) -> RemoteFile:
    digest = hashlib.sha256(content).hexdigest()
    return RemoteFile("folder", "file.bin", urls, digest, len(content), member)


def test_download_goes_to_the_cache_once(server: Server, places: Path) -> None:
    path = fetch.fetch(remote(server.url))
    assert path == places / "cache" / "folder" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert fetch.fetch(remote(server.url)) == path
    assert server.ranges == [None]
    assert not path.with_name("file.bin.part").exists()


def test_data_directory_comes_before_cache_and_network(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = fetch.fetch(remote(server.url))
    mine = places / "data" / "folder" / "file.bin"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    monkeypatch.setenv("DATAFLOW_DATA", str(places / "data"))
    assert fetch.fetch(remote(server.url)) == mine
    mine.unlink()
    assert fetch.fetch(remote(server.url)) == cached


def test_given_directory_is_looked_in_and_downloaded_to(server: Server, places: Path) -> None:
    path = fetch.fetch(remote(server.url), places / "MNIST_data")
    assert path == places / "MNIST_data" / "file.bin"
    assert path.read_bytes() == CONTENT


def test_unpacked_file_will_do_for_a_gzipped_one(places: Path) -> None:
    file = RemoteFile("folder", "images.gz", (), "0" * 64, 1)
    (places / "images").write_bytes(b"raw")
    assert fetch.find(file, places) == places / "images"


def test_broken_connection_keeps_the_part_and_the_next_call_continues(
    server: Server, places: Path
) -> None:
    server.cut_at = 300_000
    with pytest.raises(fetch.DatasetUnavailableError):
        fetch.fetch(remote(server.url))
    part = places / "cache" / "folder" / "file.bin.part"
    have = part.stat().st_size
    assert have == 300_000
    assert not part.with_name("file.bin").exists()
    server.cut_at = None
    assert fetch.fetch(remote(server.url)).read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={have}-"]


def test_server_without_ranges_starts_anew(server: Server, places: Path) -> None:
    part = places / "cache" / "folder" / "file.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"something else")
    server.honors_range = False
    assert fetch.fetch(remote(server.url)).read_bytes() == CONTENT


@pytest.mark.parametrize("extra", [b"", b"too much"])
def test_part_as_long_as_the_file_or_longer(server: Server, places: Path, extra: bytes) -> None:
    part = places / "cache" / "folder" / "file.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT + extra)
    assert fetch.fetch(remote(server.url)).read_bytes() == CONTENT
    assert len(server.ranges) == (2 if extra else 1)


def test_wrong_checksum_keeps_nothing(server: Server, places: Path) -> None:
    with pytest.raises(fetch.ChecksumError, match="got: .*\n *needed: "):
        fetch.fetch(remote(server.url, content=b"another file"))
    left = {p.name for p in (places / "cache" / "folder").iterdir()}
    assert left == {"file.bin.lock"}


def test_a_part_of_another_file_is_caught_by_the_checksum_and_not_kept(
    server: Server, places: Path
) -> None:
    part = places / "cache" / "folder" / "file.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"\xff" * 1000)
    with pytest.raises(fetch.ChecksumError):
        fetch.fetch(remote(server.url))
    assert fetch.fetch(remote(server.url)).read_bytes() == CONTENT


def test_second_address_is_tried(server: Server, places: Path) -> None:
    bad = server.url.replace("http://", "http://127.0.0.1:1/?")  # nobody listens on port 1
    assert fetch.fetch(remote(bad, server.url)).read_bytes() == CONTENT


def test_member_of_an_archive(server: Server, places: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../outside", b"x")
        archive.writestr("inner", CONTENT)
    server.content = buffer.getvalue()
    path = fetch.fetch(remote(server.url, member="inner"))
    assert path.read_bytes() == CONTENT
    left = {p.name for p in path.parent.iterdir()}
    assert left == {"file.bin", "file.bin.lock"}
    path.unlink()
    server.content = b"no archive"
    with pytest.raises(fetch.DatasetUnavailableError, match="not a zip file"):
        fetch.fetch(remote(server.url, member="inner"))
    assert {p.name for p in path.parent.iterdir()} == {"file.bin.lock"}


def test_error_says_which_file_to_put_where(
    server: Server, places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.status = 503
    with pytest.raises(fetch.DatasetUnavailableError) as caught:
        fetch.fetch(remote(server.url))
    message = str(caught.value)
    assert "'folder/file.bin' (1,048,576 bytes)" in message
    assert "503" in message
    assert server.url in message
    assert f"put it at: {places / 'cache' / 'folder' / 'file.bin'}" in message
    assert hashlib.sha256(CONTENT).hexdigest() in message
    monkeypatch.setenv("DATAFLOW_DATA", str(places / "data"))
    with pytest.raises(fetch.DatasetUnavailableError) as caught:
        fetch.fetch(remote(server.url))
    assert f"put it at: {places / 'data' / 'folder' / 'file.bin'}" in str(caught.value)


def test_offline_never_asks(server: Server, places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAFLOW_OFFLINE", "1")
    with pytest.raises(fetch.DatasetUnavailableError, match="DATAFLOW_OFFLINE"):
        fetch.fetch(remote(server.url))
    assert server.ranges == []
    assert not (places / "cache").exists()


def test_other_schemes_are_refused(places: Path) -> None:
    with pytest.raises(ValueError, match="http or https"):
        fetch.download("file:///etc/hostname", places / "x", "0" * 64)


def test_processes_that_download_at_once_do_it_once(server: Server, places: Path) -> None:
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(fetch.fetch(remote(server.url))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(paths) == 4
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert len(server.ranges) == 1
