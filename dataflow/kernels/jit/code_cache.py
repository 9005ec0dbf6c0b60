"""A cache of machine code on disk: the next process that needs the same loop need not compile it.

Compiling a loop takes 5 to 12 ms, and the matrix products 50 ms; loading from the cache takes 0.3 ms, and needs
no LLVM (`object_file`).

A file is named by everything that its code depends on (the text, the processor, LLVM's version) and
begins with the SHA-256 of what follows, so that a truncated or foreign file is not
mistaken for code. The folder is `DATAFLOW_KERNEL_CACHE`, or ``dataflow/kernels`` in the user's cache;
with an empty `DATAFLOW_KERNEL_CACHE` nothing is cached. Code is loaded only from a folder that no
other user can write to. Where a file cannot be read or written, the loop is compiled as usual.
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
#: The size limit; the least recently used files are deleted first.
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
        os.utime(path)  # mark it as recently used
    except OSError:
        return None
    digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def store(key: str, code: bytes) -> None:
    """Stores the code under that name, and deletes the least recently used files over the limit."""
    folder = _folder(os.environ.get(VARIABLE))
    if folder is None:
        return
    from dataflow.formats.atomic_files import write_atomically

    content = hashlib.sha256(code).digest() + code
    try:
        write_atomically(str(folder / f"{key}.o"), content, durable=False)
    except (OSError, OpError):  # no space, or no longer writable
        return
    _make_room(folder)


@functools.cache
def _folder(wanted: str | None) -> Path | None:
    """The folder, created if needed; ``None`` where nothing is cached."""
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
        with contextlib.suppress(OSError):  # another process may delete it too
            status = path.stat()
            files.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MOST_BYTES:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
