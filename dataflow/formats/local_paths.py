"""Paths as TensorFlow's file system takes them: plain, or a URL of this machine (``file://``)."""

from __future__ import annotations

import glob
import os
import re
from typing import Any

from dataflow.errors import UnimplementedError

_URL = re.compile(r"([A-Za-z][A-Za-z0-9.]*)://[^/]*")


def local_path(path: Any) -> str:
    """The plain path of ``path``: a str, bytes or `os.PathLike`; ``file:///tmp/a`` is ``/tmp/a``.

    Raises `UnimplementedError` for a URL of any other scheme: only files of this machine are read and
    written.
    """
    text = os.fsdecode(path)
    if "://" not in text:
        return text
    url = _URL.match(text)
    if url is None:
        return text
    if url[1] != "file":
        raise UnimplementedError(
            None,
            None,
            f"File system scheme '{url[1]}' not implemented (file: {text!r}): only files of this "
            "machine are read and written. Copy what is there first, and give the copy's path.",
        )
    return text[url.end() :]


def matching_paths(pattern: Any) -> list[str]:
    """The paths that match a pattern of the shell (``*``, ``?``, ``[a-z]``), sorted; URLs stay URLs."""
    plain = local_path(pattern)
    url = os.fsdecode(pattern).removesuffix(plain)
    return [url + path for path in sorted(glob.glob(plain))]
