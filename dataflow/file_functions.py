"""`tf.io.gfile`: files and folders, under the names of TensorFlow 1.13 and later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataflow.gfile import (
    Copy,
    DeleteRecursively,
    Exists,
    FileStatistics,
    GFile,
    Glob,
    IsDirectory,
    ListDirectory,
    MakeDirs,
    MkDir,
    Remove,
    Rename,
    Stat,
    Walk,
)

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies the file ``src`` to ``dst``; raises `AlreadyExistsError` without ``overwrite``."""
    Copy(src, dst, overwrite)


def exists(path: Any) -> bool:
    """Whether there is a file or folder ``path``."""
    return Exists(path)


def glob(pattern: Any) -> list[str]:
    """The files that match a pattern, or any of a list of patterns."""
    if isinstance(pattern, (list, tuple)):
        return [path for one in pattern for path in Glob(one)]
    return Glob(pattern)


def isdir(path: Any) -> bool:
    """Whether ``path`` is a folder."""
    return IsDirectory(path)


def listdir(path: Any) -> list[str]:
    """The names in a folder; raises `NotFoundError` where there is none."""
    return ListDirectory(path)


def makedirs(path: Any) -> None:
    """Makes a folder and those above it; it may be there already."""
    MakeDirs(path)


def mkdir(path: Any) -> None:
    """Makes one folder; raises `AlreadyExistsError` where it is there already."""
    MkDir(path)


def remove(path: Any) -> None:
    """Deletes a file; raises `NotFoundError` where there is none."""
    Remove(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Gives a file or folder another name."""
    Rename(src, dst, overwrite)


def rmtree(path: Any) -> None:
    """Deletes a folder and all that is in it."""
    DeleteRecursively(path)


def stat(path: Any) -> FileStatistics:
    """The length in bytes and the time of the last change."""
    return Stat(path)


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Iterator[Any]:
    """``(folder, names of folders, names of files)`` for a folder and all below it."""
    return Walk(top, topdown)
