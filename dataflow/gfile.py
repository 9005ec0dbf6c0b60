"""`tf.gfile`: files and folders, with TensorFlow's names and error classes.

A path is a str, bytes or `os.PathLike`; ``file:///tmp/a`` is ``/tmp/a``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat as stat_module
from collections.abc import Iterator
from typing import Any

from dataflow.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)
from dataflow.formats.local_paths import local_path, matching_paths

_CLASSES: list[tuple[type[OSError], type[OpError]]] = [
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
]


@contextlib.contextmanager
def _translated(path: Any) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        for base, error_class in _CLASSES:
            if isinstance(e, base):
                raise error_class(None, None, f"{path}; {e.strerror}") from e
        raise UnknownError(None, None, f"{path}; {e}") from e


class GFile:
    """A file: text in mode ``"r"``/``"w"``/``"a"``, bytes with ``"b"`` added.

    Opened when first used. Reading returns ``str`` or ``bytes``; a missing file is a
    `NotFoundError`.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = os.fsdecode(name)
        self._path = local_path(name)
        self._mode = mode
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise ValueError(f"mode is not 'r' or 'w' or 'a': {mode!r}")
        self._file: Any = None

    @property
    def name(self) -> str:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode that it is opened in."""
        return self._mode

    def _open(self) -> Any:
        if self._file is None:
            with _translated(self._name):
                encoding = None if "b" in self._mode else "utf-8"
                # As in TensorFlow, line breaks are read and written as they are.
                newline = None if encoding is None else "\n"
                self._file = open(  # noqa: SIM115
                    self._path, self._mode, encoding=encoding, newline=newline
                )
        return self._file

    def read(self, n: int = -1) -> Any:
        """The next ``n`` bytes or characters; everything left by default."""
        with _translated(self._name):
            return self._open().read(n)

    def readline(self) -> Any:
        """The next line with its line break; empty at the end."""
        return self._open().readline()

    def readlines(self) -> list[Any]:
        """All lines that are left."""
        return self._open().readlines()  # type: ignore[no-any-return]

    def write(self, file_content: Any) -> None:
        """Appends to what was written.

        As in TensorFlow, a file of bytes takes text, too, as UTF-8, and a file of text takes bytes.
        Raises `TypeError` for anything else.
        """
        if "b" in self._mode and isinstance(file_content, str):
            file_content = file_content.encode()
        with _translated(self._name):
            opened = self._open()
            if "b" not in self._mode and isinstance(file_content, bytes):
                opened.flush()  # what it holds goes first; these need not be UTF-8: a pickle
                opened = opened.buffer
            opened.write(file_content)

    def seek(self, offset: int = 0, whence: int = 0, position: int | None = None) -> None:
        """Moves to ``offset``."""
        self._open().seek(offset if position is None else position, whence)

    def tell(self) -> int:
        """The current position in bytes."""
        return int(self._open().tell())

    def size(self) -> int:
        """The file's size in bytes."""
        with _translated(self._name):
            return os.path.getsize(self._path)

    def flush(self) -> None:
        """Writes out what is buffered."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def seekable(self) -> bool:
        """True: files can be moved in."""
        return True

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._open())

    def __next__(self) -> Any:
        return next(self._open())

    def next(self) -> Any:
        """The next line, as ``next(file)`` gives it."""
        return next(self)


class FastGFile(GFile):
    """The same as `GFile`; TensorFlow's variant skips locks."""


Open = GFile


def Exists(filename: Any) -> bool:
    """Whether a file or folder exists."""
    return os.path.exists(local_path(filename))


def IsDirectory(dirname: Any) -> bool:
    """Whether a path is a folder."""
    return os.path.isdir(local_path(dirname))


def MkDir(dirname: Any) -> None:
    """Makes one folder."""
    with _translated(dirname):
        os.mkdir(local_path(dirname))


def MakeDirs(dirname: Any) -> None:
    """Makes a folder and those above it; fine when it exists."""
    with _translated(dirname):
        os.makedirs(local_path(dirname), exist_ok=True)


def Remove(filename: Any) -> None:
    """Removes a file."""
    with _translated(filename):
        os.remove(local_path(filename))


def DeleteRecursively(dirname: Any) -> None:
    """Removes a folder and everything in it."""
    with _translated(dirname):
        path = local_path(dirname)
        if not os.path.isdir(path):
            os.stat(path)
            os.remove(path)
        else:
            shutil.rmtree(path)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Renames; an existing target is an `AlreadyExistsError` unless ``overwrite``."""
    with _translated(newname):
        target = local_path(newname)
        if not overwrite and os.path.exists(target):
            raise FileExistsError(17, "file already exists", newname)
        os.replace(local_path(oldname), target)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file; an existing target is an `AlreadyExistsError` unless ``overwrite``."""
    with _translated(newpath):
        target = local_path(newpath)
        if not overwrite and os.path.exists(target):
            raise FileExistsError(17, "file already exists", newpath)
        shutil.copyfile(local_path(oldpath), target)


def ListDirectory(dirname: Any) -> list[str]:
    """Names in a folder."""
    with _translated(dirname):
        return os.listdir(local_path(dirname))


def Glob(filename: Any) -> list[str]:
    """Paths that match a pattern, or any of a list of patterns."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return [path for pattern in patterns for path in matching_paths(pattern)]


def Walk(top: Any, in_order: bool = True) -> Iterator[Any]:
    """(folder, folders in it, files in it) of everything below ``top``."""
    plain = local_path(top)
    url = os.fsdecode(top).removesuffix(plain)
    for folder, folders, files in os.walk(plain, topdown=in_order):
        yield url + folder, folders, files


class FileStatistics:
    """What `Stat` says: ``length`` in bytes, ``mtime_nsec``, ``is_directory``."""

    def __init__(self, length: int, mtime_nsec: int, is_directory: bool) -> None:
        self.length = length
        self.mtime_nsec = mtime_nsec
        self.is_directory = is_directory


def Stat(filename: Any) -> FileStatistics:
    """Size and time of a file."""
    with _translated(filename):
        found = os.stat(local_path(filename))
        return FileStatistics(found.st_size, found.st_mtime_ns, stat_module.S_ISDIR(found.st_mode))


# The names that tf.io.gfile uses.
exists, isdir, mkdir, makedirs, remove = Exists, IsDirectory, MkDir, MakeDirs, Remove
rmtree, rename, copy, listdir, glob, walk, stat = (
    DeleteRecursively,
    Rename,
    Copy,
    ListDirectory,
    Glob,
    Walk,
    Stat,
)
