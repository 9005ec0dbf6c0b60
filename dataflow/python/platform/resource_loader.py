"""``from tensorflow.python.platform import resource_loader``: files beside the caller's own."""

from __future__ import annotations

import os
import sys


def _folder_of_caller() -> str:
    return os.path.dirname(os.path.realpath(sys._getframe(2).f_code.co_filename))


def get_data_files_path() -> str:
    """The folder of the file that calls this."""
    return _folder_of_caller()


def get_path_to_datafile(path: str) -> str:
    """``path`` beside the file that calls this."""
    return os.path.join(_folder_of_caller(), path)


def load_resource(path: str) -> bytes:
    """The bytes of the file ``path`` beside the file that calls this; raises `OSError` without it."""
    with open(os.path.join(_folder_of_caller(), path), "rb") as file:
        return file.read()


def get_root_dir_with_all_resources() -> str:
    """The folder of the file that calls this."""
    return _folder_of_caller()
