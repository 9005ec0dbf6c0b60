"""Replace a file so that a reader, or a kill at any moment, sees the old file or the new one.

A file is written under a temporary name beside the one that it will have. The writer holds a
lock (``flock``) on it, which ends with the process however that ends; so the next writer in the folder
can tell what a killed one left behind, and removes it. That holds where a process id has been given to
another process, and in containers that do not see each other's processes. Files of other hosts are
left alone, as a network's file system may keep locks for each host. So are all on Windows, which has no
such locks.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import itertools
import os
import platform
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dataflow.errors import NotFoundError, ResourceExhaustedError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows; in JupyterLite's kernel there is an empty module of that name
    flock = None  # type: ignore[assignment]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
#: ``.name.df-host-pid-number.tmp``
_TEMPORARY = re.compile(r"\..*\.df-([0-9a-f]{8})-\d+-\d+\.tmp", re.DOTALL)
_MAX_NAME_BYTES = 200
_numbers = itertools.count()


def write_atomically(path: str, content: bytes, *, durable: bool = True) -> None:
    """Make ``content`` the content of the file ``path``; see `replace_with`."""

    def write(temporary: str) -> None:
        with open(temporary, "wb") as opened:
            opened.write(content)

    replace_with(path, write, durable=durable)


def replace_with(path: str, write: Callable[[str], None], *, durable: bool = True) -> None:
    """Let ``write(temporary)`` write a file beside ``path``, then move it there in one step.

    The file's permissions are what the umask leaves of ``rw-rw-rw-``. Temporary files that killed
    processes of this host left in the folder are removed first.

    Args:
        path: the file; its folder must be there.
        write: gets the path of an empty file, which it may open to write, but not replace.
        durable: the bytes are on the disk before the move, so that a power cut cannot leave an empty
            file either. False for what can be made again.

    Raises:
        ResourceExhaustedError: the disk is full; the old file is then as it was.
        NotFoundError: the folder does not exist.
    """
    replace_together({path: write}, durable=durable)


def replace_together(
    files: Mapping[str, Callable[[str], None]],
    moved: Mapping[str, str] | None = None,
    *,
    durable: bool = True,
) -> None:
    """Let several files of one folder take their places, in the order given, once all are whole.

    Only a kill between two moves, which follow each other at once, leaves some of the old files; a disk
    that is full leaves all of them.

    Args:
        files: path to what writes the file, as for `replace_with`; called in this order.
        moved: path to a file that is whole already and takes that place, before the others do.
        durable: as for `replace_with`.

    Raises as `replace_with`.
    """
    last = list(files)[-1]
    directory = os.path.dirname(os.path.abspath(last))
    written: list[tuple[str, str]] = []
    with _explained(last, directory), contextlib.ExitStack() as stack:
        remove_abandoned(directory)
        for path, write in files.items():
            temporary, descriptor = _create(directory, os.path.basename(path))
            written.append((temporary, path))
            stack.callback(_remove, temporary)  # gone by then, if all went well
            with contextlib.ExitStack() as opened:
                opened.callback(os.close, descriptor)
                write(temporary)
                if durable:
                    os.fsync(descriptor)
                if flock is not None:  # Windows does not move a file that is open
                    stack.enter_context(opened.pop_all())
        for source, path in [*((s, p) for p, s in (moved or {}).items()), *written]:
            os.replace(source, path)
        if durable:
            _sync_directory(directory)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def remove_abandoned(directory: str) -> list[str]:
    """Remove the temporary files that killed processes of this host left in ``directory``.

    Returns their names. A file that is still being written, here or elsewhere, stays.
    """
    removed = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            found = _TEMPORARY.fullmatch(entry.name)
            if found is not None and found[1] == _host() and _remove_unlocked(entry.path):
                removed.append(entry.name)
    return removed


def _remove_unlocked(path: str) -> bool:
    """Remove the file if no process holds its lock."""
    if flock is None:
        return False
    flags = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        descriptor = os.open(path, flags)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                # A file system without locks raises here as well: nothing is known, nothing removed.
                flock(descriptor, LOCK_EX | LOCK_NB)
                os.unlink(path)
                return True
        finally:
            os.close(descriptor)
    return False


def _create(directory: str, name: str) -> tuple[str, int]:
    """A new file and its open descriptor, which holds the lock on it."""
    short = name.encode(errors="surrogateescape")[:_MAX_NAME_BYTES].decode(errors="ignore")
    while True:
        end = f"df-{_host()}-{os.getpid()}-{next(_numbers)}.tmp"
        path = os.path.join(directory, f".{short}.{end}")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:  # of a process that had this id
            continue
        if flock is None:
            return path, descriptor
        with contextlib.suppress(OSError):  # a file system without locks
            flock(descriptor, LOCK_EX)
        # Another process may have removed it before it was locked.
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)


@functools.cache
def _host() -> str:
    """Eight hexadecimal digits that tell machines, and containers with names of their own, apart."""
    machine = b""
    for place in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with contextlib.suppress(OSError):
            machine = machine or Path(place).read_bytes().strip()
    return hashlib.sha256(platform.node().encode() + b"\0" + machine).hexdigest()[:8]


def _sync_directory(directory: str) -> None:
    # Some file systems (and Windows) do not let a folder be synced; the file itself has been.
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _explained(path: str, directory: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise ResourceExhaustedError(
                message=f"{path}: cannot be written: {error.strerror}. "
                "What was there before is unchanged. Make room on the disk and save again."
            ) from error
        if error.errno == errno.ENOENT and not os.path.isdir(directory):
            raise NotFoundError(
                message=f"{path}: the folder {directory} does not exist. Make it first."
            ) from error
        raise
