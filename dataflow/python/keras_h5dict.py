"""``keras.utils.io_utils.h5dict``: a file of HDF5, or a dictionary, as nested dictionaries of values."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from dataflow.extras import install


class H5Dict:
    """Values by name, in the file ``path`` (needs h5py), in a dictionary, or in a group of either.

    Strings, numbers, lists of bytes and arrays are stored; a name that is not there is a new group,
    unless ``mode`` is "r". Raises `KeyError` for those then, `TypeError` for another ``path``.
    """

    def __init__(self, path: Any, mode: str = "a") -> None:
        self.read_only = mode == "r"
        self._file: Any = None
        if isinstance(path, str):
            try:
                import h5py
            except ImportError:
                raise ImportError(f"h5dict: h5py is not installed: {install('hdf5')}.") from None
            path = self._file = h5py.File(path, mode)
        elif isinstance(path, dict):
            if mode == "w":
                path.clear()
        elif not hasattr(path, "create_group"):
            raise TypeError(f"Required Group, str or dict. Received: {type(path)}.")
        self.data = path

    def __setitem__(self, name: str, value: Any) -> None:
        if self.read_only:
            raise ValueError("Cannot set item in read-only mode.")
        if isinstance(self.data, dict):
            self.data[name] = value
        elif isinstance(value, np.ndarray):
            self.data.create_dataset(name, data=value)
        else:
            kept = value.encode() if isinstance(value, str) else value
            self.data.attrs[name] = kept if isinstance(kept, bytes) else np.asarray(kept)
            self.data.attrs[f"{name} type"] = json.dumps(type(value).__name__)

    def __getitem__(self, name: str) -> Any:
        if name in self:
            return self._read(name)
        if self.read_only:
            raise KeyError(f"There is no {name!r}.")
        if isinstance(self.data, dict):
            return H5Dict(self.data.setdefault(name, {}))
        return H5Dict(self.data.create_group(name))

    def _read(self, name: str) -> Any:
        in_memory = isinstance(self.data, dict)
        if in_memory or name not in self.data.attrs:
            value = self.data[name]
            if isinstance(value, dict) or hasattr(value, "create_group"):
                return H5Dict(value, "r" if self.read_only else "a")
            return value if in_memory else np.asarray(value)
        value = self.data.attrs[name]
        kind = json.loads(self.data.attrs.get(f"{name} type", '""'))
        if kind == "str" and isinstance(value, bytes):
            return value.decode()
        return list(value) if kind in ("list", "tuple") else value

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or ``default``."""
        return self[name] if name in self else default  # noqa: SIM401  # this is `get`

    def __contains__(self, name: str) -> bool:
        return name in self.data or name in getattr(self.data, "attrs", ())

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def close(self) -> None:
        """Closes the file, where there is one."""
        if self._file is not None:
            self._file.close()


h5dict = H5Dict


def ask_to_proceed_with_overwrite(filepath: str) -> bool:
    """Asks whether a file may be written over, until the answer is y or n; true for y."""
    # Keras asked by six's `input`, which programs replace.
    ask = getattr(getattr(sys.modules.get("six"), "moves", None), "input", input)
    while True:
        answer = ask(f"[WARNING] {filepath} already exists - overwrite? [y/n]").strip().lower()
        if answer in ("y", "n"):
            return answer == "y"
