"""``tensorflow.python.util.serialization``: what `json.dumps` asks for objects that it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dataflow.shapes import Dimension, TensorShape

__all__ = ["get_json_type"]


def get_json_type(obj: Any) -> Any:
    """What JSON has for ``obj``: a configuration, a name of a function or a class, numbers, a list, a dict.

    Raises `TypeError` for anything else.
    """
    if hasattr(obj, "get_config"):
        return {"class_name": type(obj).__name__, "config": obj.get_config()}
    if type(obj).__module__ == np.__name__:
        return obj.tolist() if isinstance(obj, np.ndarray) else obj.item()
    if callable(obj):
        return obj.__name__
    if isinstance(obj, Dimension):
        return obj.value
    if isinstance(obj, TensorShape):
        return obj.as_list()
    if isinstance(obj, Mapping):
        return dict(obj)
    raise TypeError("Not JSON Serializable:", obj)
