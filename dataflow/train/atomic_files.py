"""Replace a file so that a reader, or a kill at any moment, sees the old file or the new one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator

from dataflow.errors import NotFoundError, ResourceExhaustedError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_atomically(path: str, content: bytes) -> None:
    """Make ``content`` the content of the file ``path``.

    Raises `ResourceExhaustedError` on a full disk and `NotFoundError` where the folder does not
    exist; the old file is then as it was.
    """

    def write(temporary: str) -> None:
        with open(temporary, "wb") as opened:
            opened.write(content)

    replace_with(path, write)


def replace_with(path: str, write: Callable[[str], None]) -> None:
    """Let ``write(temporary)`` write a file beside ``path``, then move it there in one step.

    The bytes are on the disk before the move, so a power cut cannot leave an empty file either.
    """
    directory, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(directory, f".{name}.{os.getpid()}.tmp")
    with _explained(path, directory):
        try:
            write(temporary)
            with open(temporary, "rb+") as opened:
                os.fsync(opened.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_directory(directory)


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
