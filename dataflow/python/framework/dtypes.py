"""``from tensorflow.python.framework import dtypes``."""

from dataflow import dtypes as _dtypes
from dataflow.dtypes import *  # noqa: F403
from dataflow.dtypes import bool_ as bool  # noqa: F401


def __getattr__(name: str) -> _dtypes.DType:
    """``float32_ref`` and its kin: a variable is a reference to its value, and its dtype says so."""
    base = "bool_" if name == "bool_ref" else name.removesuffix("_ref")
    found = getattr(_dtypes, base, None) if name.endswith("_ref") else None
    if not isinstance(found, _dtypes.DType):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found.as_ref
