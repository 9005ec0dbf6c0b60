"""Machine code kept on disk: the next process that wants the same loop need not compile it.

Compiling a loop takes 12 ms and the products of matrices 90 ms; to load what is here, 1.5 ms.

A file is named by everything that its code depends on (the text, the processor, LLVM's version) and
begins with the SHA-256 of what follows, so that half a file, or a file of something else, is not
taken for code. The folder is `DATAFLOW_KERNEL_CACHE`, or ``dataflow/kernels`` in the user's cache;
with an empty `DATAFLOW_KERNEL_CACHE` nothing is kept. Code is only taken from a folder that nobody
but the user can write to. Where a file cannot be read or written, the loop is compiled as usual.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import sys
from pathlib import Path

from dataflow.errors import OpError
from dataflow.user_cache import cache_folder

VARIABLE = "DATAFLOW_KERNEL_CACHE"
#: The files used last, up to so many bytes, are kept.
MOST_BYTES = 64 << 20
_DIGEST_BYTES = hashlib.sha256().digest_size


def key_of(*parts: str) -> str:
    """The name of the code that is made from ``parts``."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def load(key: str) -> bytes | None:
    """The code of that name, or ``None`` where there is none."""
    folder = _folder(os.environ.get(VARIABLE))
    if folder is None:
        return None
    path = folder / f"{key}.o"
    try:
        content = path.read_bytes()
        os.utime(path)  # it is among those used last
    except OSError:
        return None
    digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def store(key: str, code: bytes) -> None:
    """Keeps the code under that name; the files that have not been used for longest make room."""
    folder = _folder(os.environ.get(VARIABLE))
    if folder is None:
        return
    from dataflow.formats.atomic_files import write_atomically

    content = hashlib.sha256(code).digest() + code
    try:
        write_atomically(str(folder / f"{key}.o"), content, durable=False)
    except (OSError, OpError):  # no room, or no longer ours to write to
        return
    _make_room(folder)


@functools.cache
def _folder(wanted: str | None) -> Path | None:
    """The folder, made if need be; ``None`` where nothing is kept."""
    if wanted == "":
        return None
    try:
        folder = Path(wanted) if wanted else cache_folder("kernels")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except (OSError, RuntimeError):  # read-only, or no home
        return None
    if sys.platform != "win32" and (
        status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        return None
    return folder


def _make_room(folder: Path) -> None:
    files = []
    for path in folder.glob("*.o"):
        with contextlib.suppress(OSError):  # another process makes room as well
            status = path.stat()
            files.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MOST_BYTES:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
