"""What h5py 3 took away: files open for writing by default, `Dataset.value` and `File.fid`."""

from __future__ import annotations

import functools
import os
import types
from typing import Any


def mend(module: types.ModuleType) -> None:
    """``File(name)`` reads and writes a file, reads it where it cannot be written, or makes it."""
    make = module.File.__init__

    @functools.wraps(make)
    def init(self: Any, name: Any, mode: str | None = None, *args: Any, **kwargs: Any) -> None:
        if mode is not None or not isinstance(name, (str, bytes, os.PathLike)):
            make(self, name, "r" if mode is None else mode, *args, **kwargs)
        elif not os.path.exists(name):
            make(self, name, "w-", *args, **kwargs)
        else:
            try:
                make(self, name, "r+", *args, **kwargs)
            except OSError:
                make(self, name, "r", *args, **kwargs)

    module.File.__init__ = init
    if not hasattr(module.File, "fid"):
        module.File.fid = property(lambda self: self.id)
    if not hasattr(module.Dataset, "value"):
        module.Dataset.value = property(lambda self: self[()])
