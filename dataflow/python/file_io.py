"""``tensorflow.python.lib.io.file_io``: files by functions, where `tf.gfile` has classes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from typing import Any

from dataflow import gfile
from dataflow.errors import NotFoundError, OpError

__all__ = [
    "FileIO",
    "atomic_write_string_to_file",
    "copy",
    "create_dir",
    "delete_file",
    "delete_recursively",
    "file_exists",
    "get_matching_files",
    "is_directory",
    "list_directory",
    "read_file_to_string",
    "recursive_create_dir",
    "rename",
    "stat",
    "walk",
    "write_string_to_file",
]

FileIO = gfile.GFile
copy = gfile.Copy
create_dir = gfile.MkDir
delete_file = gfile.Remove
delete_recursively = gfile.DeleteRecursively
file_exists = gfile.Exists
is_directory = gfile.IsDirectory
list_directory = gfile.ListDirectory
recursive_create_dir = gfile.MakeDirs
rename = gfile.Rename
stat = gfile.Stat


def get_matching_files(filename: Any) -> list[str]:
    """The files that match a pattern, or any of several."""
    patterns = [filename] if isinstance(filename, (str, bytes)) else filename
    return [path for pattern in patterns for path in gfile.Glob(pattern)]


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """What is in a file: text, or bytes in ``binary_mode``; raises `NotFoundError`."""
    with gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def walk(top: Any, in_order: bool = True) -> Iterator[Any]:
    """(folder, its folders, its files) of each folder below ``top``; a folder that is not there has none."""
    try:
        yield from gfile.Walk(top, in_order)
    except NotFoundError:
        return


def atomic_write_string_to_file(filename: Any, contents: Any, overwrite: bool = True) -> None:
    """Puts text or bytes into a file at once: who reads it finds the old ones or all of the new.

    Raises `AlreadyExistsError` where the file is there and ``overwrite`` is false.
    """
    written = f"{os.fsdecode(filename)}.tmp{secrets.token_hex(16)}"
    write_string_to_file(written, contents)
    try:
        rename(written, filename, overwrite)
    except OpError:
        delete_file(written)
        raise


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Puts text or bytes into a file, in place of what it held."""
    with gfile.GFile(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)
