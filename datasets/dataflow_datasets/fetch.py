"""Find a data set's file, or download it once.

The places, in order: ``$DATAFLOW_DATA/<folder>/<name>``, the user cache (``$DATAFLOW_CACHE``, else
``$XDG_CACHE_HOME/dataflow/datasets``, else ``~/.cache/dataflow/datasets``), then the network.
A file appears in the cache only whole and with the right checksum: bytes go to ``<name>.part``,
which a later call continues, and the last step is an atomic rename.
``DATAFLOW_OFFLINE=1`` forbids the network; ``DATAFLOW_PROGRESS=0`` hides the progress bar. A server that
takes no connection within five seconds is given up, and not asked again for a minute: a lesson that can
do with other data goes on at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .registry import RemoteFile

CHUNK_BYTES = 1 << 18
TIMEOUT_SECONDS = 30.0  # for the bytes, once there is a connection
CONNECT_SECONDS = 5.0
RETRY_SECONDS = 60.0

_unreachable_until: dict[tuple[str, int], float] = {}


class DatasetUnavailableError(FileNotFoundError):
    """A file of a data set is neither here nor to be had; the message says where to put it."""


class ChecksumError(OSError):
    """What was downloaded is not the file that the data set is made of."""


def data_directory() -> Path | None:
    """The folder named by ``DATAFLOW_DATA``, or ``None``."""
    value = os.environ.get("DATAFLOW_DATA")
    return Path(value).expanduser() if value else None


def cache_directory() -> Path:
    """The folder that downloads go to; it need not exist yet."""
    if value := os.environ.get("DATAFLOW_CACHE"):
        return Path(value).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "dataflow" / "datasets"


def find(file: RemoteFile, directory: str | os.PathLike[str] | None = None) -> Path | None:
    """The file's path on this machine, or ``None``; never touches the network.

    ``directory`` is looked in first, without the file's folder. Where ``name`` ends in ``.gz`` the
    unpacked file will do as well.
    """
    places = [Path(directory).expanduser()] if directory is not None else []
    if (data := data_directory()) is not None:
        places.append(data / file.folder)
    places.append(cache_directory() / file.folder)
    names = [file.name] + ([file.name[:-3]] if file.name.endswith(".gz") else [])
    for place in places:
        for name in names:
            if (place / name).is_file():
                return place / name
    return None


def fetch(file: RemoteFile, directory: str | os.PathLike[str] | None = None) -> Path:
    """The file's path on this machine, downloading it to the cache if it is not here yet.

    Args:
        file: which file.
        directory: looked in first, and downloaded to, instead of the cache. Empty, it is the
            current folder, to which nothing is downloaded.

    Raises:
        DatasetUnavailableError: it is not here and cannot be downloaded.
        ChecksumError: what the servers gave is another file; nothing is kept.
    """
    found = find(file, directory)
    if found is not None:
        return found
    if directory is not None and os.fspath(directory):
        target = Path(directory).expanduser() / file.name
    else:
        target = cache_directory() / file.folder / file.name
    if os.environ.get("DATAFLOW_OFFLINE", "0") not in ("", "0"):
        raise _unavailable(file, target, ["downloads are forbidden by DATAFLOW_OFFLINE"])
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target):
        if target.is_file():  # another process downloaded it while this one waited
            return target
        _download_first_that_works(file, target)
    return target


def _download_first_that_works(file: RemoteFile, target: Path) -> None:
    reasons: list[str] = []
    mismatch: ChecksumError | None = None
    for url in file.urls:
        try:
            download(url, target, file.sha256, member=file.member)
            return
        except ChecksumError as error:
            mismatch = error
            reasons.append(str(error))
        except (OSError, http.client.HTTPException, zipfile.BadZipFile, KeyError) as error:
            reasons.append(f"{url}: {error}")
    if mismatch is not None and len(reasons) == 1:
        raise mismatch
    raise _unavailable(file, target, reasons)


def _unavailable(file: RemoteFile, target: Path, reasons: list[str]) -> DatasetUnavailableError:
    data = data_directory()
    in_data = (data / file.folder / file.name) if data else None
    lines = [
        f"The data file {file.relative_path!r} ({file.size_bytes:,} bytes) is not on this machine "
        "and could not be downloaded.",
        *(f"  tried: {reason}" for reason in reasons),
        "  Get it on a machine with a network, from:",
        *(
            f"    {url}" + (f" (the member {file.member!r} of that archive)" if file.member else "")
            for url in file.urls
        ),
        f"  and put it at: {in_data or target}",
    ]
    if in_data is None:
        lines.append(f"  or set DATAFLOW_DATA to a folder that holds {file.relative_path!r}.")
    lines.append(f"  Its SHA-256 is {file.sha256}.")
    return DatasetUnavailableError("\n".join(lines))


def download(
    url: str,
    target: str | os.PathLike[str],
    sha256: str | None = None,
    *,
    member: str | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> None:
    """Download ``url`` to ``target``, which appears whole or not at all.

    An earlier attempt's ``<target>.part`` is continued where the server can (HTTP 206), and started
    anew where it cannot. Without ``sha256``, nothing is compared. With ``member``, ``url`` is a zip archive of which only that file is kept.

    Raises:
        ChecksumError: the bytes do not have the SHA-256 given; they are thrown away.
        OSError: no connection, a bad status, or the connection broke (the part is kept).
    """
    target = Path(target)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not an http or https address.")
    part = target.with_name(target.name + (".zip.part" if member else ".part"))
    _receive(url, part, timeout_seconds)
    whole = part
    if member is not None:
        whole = target.with_name(target.name + ".member")
        try:
            _extract(part, member, whole)
        except (zipfile.BadZipFile, KeyError):
            part.unlink()  # what came was not the archive: continuing it would never help
            raise
    actual = _sha256_of(whole) if sha256 is not None else None
    if actual != sha256:
        size_bytes = whole.stat().st_size
        whole.unlink()
        part.unlink(missing_ok=True)
        raise ChecksumError(
            f"{url}: the file received is not the one expected.\n"
            f"  got:    sha256 {actual} ({size_bytes:,} bytes)\n"
            f"  needed: sha256 {sha256}\n"
            "  It was thrown away. If the source changed its file, download the old one by hand."
        )
    os.replace(whole, target)
    if member is not None:
        part.unlink()


def _receive(url: str, part: Path, timeout_seconds: float) -> None:
    """Append to ``part`` until it holds all that ``url`` serves."""
    have_bytes = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "dataflow-datasets", "Accept-Encoding": "identity"}
    if have_bytes:
        headers["Range"] = f"bytes={have_bytes}-"
    request = urllib.request.Request(url, headers=headers)
    _require_connection(url)
    try:
        response = urllib.request.urlopen(request, timeout=timeout_seconds)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416 or not have_bytes:
            raise
        # 416: the part is as long as the file (the checksum will tell) or longer (start anew).
        total = (error.headers.get("Content-Range") or "").rpartition("/")[2]
        if total == str(have_bytes):
            return
        part.unlink()
        _receive(url, part, timeout_seconds)
        return
    with response:
        content_range = response.headers.get("Content-Range") or ""
        resumed = response.status == 206 and content_range.startswith(f"bytes {have_bytes}-")
        if response.status == 206 and not resumed:
            raise OSError(f"the server answered with another range: {content_range!r}")
        start = have_bytes if resumed else 0
        length = response.headers.get("Content-Length")
        total_bytes = start + int(length) if length is not None else None
        with part.open("ab" if resumed else "wb") as out, _bar(part, start, total_bytes) as bar:
            received = start
            while chunk := response.read(CHUNK_BYTES):
                out.write(chunk)
                received += len(chunk)
                bar.update(len(chunk))
        if total_bytes is not None and received != total_bytes:
            raise OSError(
                f"the connection broke after {received:,} of {total_bytes:,} bytes; "
                "call again to continue"
            )


def _require_connection(url: str) -> None:
    """Raises OSError unless the server takes a connection within `CONNECT_SECONDS`.

    The time-out of a socket does not count looking up the server's address, which can take far longer
    where there is no network; hence a thread, which is left alone when the time is over.
    """
    parts = urllib.parse.urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host):
        return  # the proxy connects, not this machine
    if time.monotonic() < _unreachable_until.get((host, port), 0.0):
        raise OSError(f"no connection to {host} a moment ago; not tried again yet")
    outcome: list[OSError | None] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
            outcome.append(None)
        except OSError as error:
            outcome.append(error)

    thread = threading.Thread(target=connect, daemon=True, name=f"connect to {host}")
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(
            f"no connection to {host}: this Python has no threads, nor sockets"
        ) from error
    thread.join(CONNECT_SECONDS)
    if not outcome or outcome[0] is not None:
        _unreachable_until[host, port] = time.monotonic() + RETRY_SECONDS
        why = outcome[0] if outcome else "no answer"
        raise OSError(f"no connection to {host} within {CONNECT_SECONDS:g} s: {why}")


def _extract(archive: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(archive) as opened, opened.open(member) as source:
        with target.open("wb") as out:
            while chunk := source.read(CHUNK_BYTES):
                out.write(chunk)


def _sha256_of(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


class _NoBar:
    def update(self, num_bytes: int) -> None:
        """Count nothing."""


@contextlib.contextmanager
def _bar(part: Path, start: int, total_bytes: int | None) -> Iterator[Any]:
    """A tqdm bar that shows itself once two seconds have passed; nothing in tests."""
    hidden = os.environ.get("DATAFLOW_PROGRESS") == "0" or "PYTEST_CURRENT_TEST" in os.environ
    try:
        from tqdm.auto import tqdm
    except ImportError:
        hidden = True
    if hidden:
        yield _NoBar()
        return
    name = part.name.removesuffix(".part").removesuffix(".zip")
    with tqdm(
        desc=name, initial=start, total=total_bytes, unit="B", unit_scale=True, delay=2
    ) as bar:
        yield bar


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Let one process at a time download ``target``; a lock dies with its process."""
    try:
        from fcntl import LOCK_EX, flock
    except ImportError:  # Windows, a web page: two downloads at once end in the same atomic rename
        yield
        return
    with target.with_name(target.name + ".lock").open("w") as opened:
        flock(opened, LOCK_EX)
        yield
