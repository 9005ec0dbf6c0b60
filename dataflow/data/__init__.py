"""`tf.data`: datasets and iterators."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "AUTOTUNE": "dataset",
    "Dataset": "dataset",
    "FixedLengthRecordDataset": "file_datasets",
    "INFINITE_CARDINALITY": "dataset",
    "Iterator": "iterators",
    "DatasetSpec": "structure",
    "Options": "options",
    "TFRecordDataset": "file_datasets",
    "TextLineDataset": "file_datasets",
    "UNKNOWN_CARDINALITY": "dataset",
    "get_output_classes": "iterators",
    "get_output_shapes": "iterators",
    "get_output_types": "iterators",
    "make_initializable_iterator": "iterators",
    "make_one_shot_iterator": "iterators",
}

__all__ = [*_HOMES, "experimental"]


def __getattr__(name: str) -> Any:
    # The file formats in this package are used by kernels; they must not bring in the engine.
    if name == "experimental":
        return importlib.import_module("dataflow.data.experimental")
    home = _HOMES.get(name)
    if home is None:
        from dataflow.namespaces import absent

        raise absent(__name__, name, __all__)
    value = getattr(importlib.import_module(f"dataflow.data.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
