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
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
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

    As in TensorFlow it has two ends. The one that reads begins at the file's start, the one that
    writes puts everything at its end, after emptying it in all modes but ``"a"`` and ``"a+"``;
    what was written is read after `flush`. Each opens when first used, so a missing file is a
    `NotFoundError` of the first read. Offsets and ``n`` count bytes. Raises `InvalidArgumentError`
    for another mode, `PermissionDeniedError` for reading or writing what the mode does not say.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = os.fsdecode(name)
        self._path = local_path(name)
        self._mode = mode
        kind = mode.replace("b", "")
        if kind not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(
                None, None, f"mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+': {mode!r}"
            )
        self._reads = kind == "r" or kind.endswith("+")
        self._writes = kind != "r"
        self._reader: Any = None
        self._writer: Any = None

    @property
    def name(self) -> str:
        """The path."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode that it is opened in."""
        return self._mode

    def _for_reading(self) -> Any:
        if self._reader is None:
            if not self._reads:
                raise PermissionDeniedError(
                    None, None, f"File isn't open for reading: {self._name} (mode {self._mode!r})"
                )
            with _translated(self._name):
                self._reader = open(self._path, "rb")  # noqa: SIM115
        return self._reader

    def _for_writing(self) -> Any:
        if self._writer is None:
            if not self._writes:
                raise PermissionDeniedError(
                    None, None, f"File isn't open for writing: {self._name} (mode {self._mode!r})"
                )
            with _translated(self._name):
                self._writer = open(self._path, "ab" if "a" in self._mode else "wb")  # noqa: SIM115
        return self._writer

    def _as_read(self, content: bytes) -> Any:
        return content if "b" in self._mode else content.decode()

    def read(self, n: int = -1) -> Any:
        """The next ``n`` bytes, everything left by default: as text, or as bytes with ``"b"``."""
        with _translated(self._name):
            return self._as_read(self._for_reading().read(n))

    def readline(self) -> Any:
        """The next line with its line break, empty at the end. As in TensorFlow, without any CR."""
        return self._as_read(self._for_reading().readline().replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """All lines that are left."""
        return list(self)

    def write(self, file_content: Any) -> None:
        """Appends to what was written: text, as UTF-8, or bytes, in any mode.

        Raises `TypeError` for anything else.
        """
        if isinstance(file_content, str):
            file_content = file_content.encode()
        elif not isinstance(file_content, bytes):
            raise TypeError(
                f"Expected binary or unicode string, got {type(file_content).__name__} {file_content!r}."
            )
        with _translated(self._name):
            self._for_writing().write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """The next read begins at ``offset`` bytes: from the start (``whence`` 0), here (1) or the end (2).

        ``position`` is the old name of ``offset``. Raises `TypeError` unless one of the two is given,
        `InvalidArgumentError` for a place before the start, `OutOfRangeError` behind the end.
        """
        reader = self._for_reading()
        if (offset is None) == (position is None):
            said = (
                "offset argument required"
                if offset is None
                else "position is an old name of offset"
            )
            raise TypeError(f"seek(): {said}; give one.")
        place = position if offset is None else offset
        assert place is not None
        if whence not in (0, 1, 2):
            raise InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        place += (0, reader.tell(), self.size())[whence]
        if place < 0:
            raise InvalidArgumentError(None, None, f"Seeking to a negative position: {place}")
        if place > self.size():
            raise OutOfRangeError(
                None,
                None,
                f"reached end of file: {self._name} has {self.size()} bytes, not {place}",
            )
        reader.seek(place)

    def tell(self) -> int:
        """Where the next read begins, in bytes; of a file that is only written, how much it holds."""
        return int((self._for_reading() if self._reads else self._for_writing()).tell())

    def size(self) -> int:
        """The file's size in bytes."""
        with _translated(self._name):
            return os.path.getsize(self._path)

    def flush(self) -> None:
        """Writes out what is buffered."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        for end in (self._reader, self._writer):
            if end is not None:
                end.close()
        self._reader = self._writer = None

    def seekable(self) -> bool:
        """True: files can be moved in."""
        return True

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

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
