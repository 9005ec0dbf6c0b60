"""``from tensorflow.python.framework import dtypes``."""

from dataflow.dtypes import *  # noqa: F403
from dataflow.dtypes import bool_ as bool  # noqa: F401

# A variable is a reference to its value, and its dtype says so.
for _dtype in (float16, float32, float64, int8, int16, int32, int64, uint8, bool_, string):  # noqa: F405
    globals()[f"{_dtype.name}_ref"] = _dtype.as_ref
