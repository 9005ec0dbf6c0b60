"""``input_data.read_data_sets``: MNIST with ``next_batch``; the data are `dataflow_datasets`'s."""

from __future__ import annotations

import functools
import importlib
from typing import Any

_NAMES = ("DataSet", "dense_to_one_hot", "read_data_sets")


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        found = getattr(importlib.import_module("dataflow_datasets.mnist"), name)
        return functools.partial(found, announced=True) if name == "read_data_sets" else found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
