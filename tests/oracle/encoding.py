"""How a program's ``result`` travels between the two engines' processes, and how two are compared.

Both processes load this file by path, one of them under TensorFlow's interpreter, so it needs
nothing but NumPy. ``encode`` makes plain JSON; ``differences`` walks two encoded trees.
"""

from __future__ import annotations

import base64
import builtins
import inspect
import math
import re
from typing import Any

import numpy as np

DEFAULT_TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-9}
PUBLIC_ERRORS = frozenset(
    [
        "OpError",
        "InvalidArgumentError",
        "FailedPreconditionError",
        "OutOfRangeError",
        "AbortedError",
        "UnknownError",
        "UnavailableError",
        "CancelledError",
        "DeadlineExceededError",
        "NotFoundError",
        "AlreadyExistsError",
        "UnimplementedError",
        "InternalError",
        "DataLossError",
        "ResourceExhaustedError",
        "PermissionDeniedError",
        "UnauthenticatedError",
    ]
)
# The version suffix of an op type, inside longer text too (`{{node Add}} = AddV2[...]`).
_VERSION = re.compile(r"(?<=[a-z])V\d\b")


def encode(value: Any) -> Any:
    """Plain JSON for ``value``: arrays keep their dtype and shape, run values their class.

    Raises TypeError for anything that has no value of its own (a Tensor, an Operation): a program
    reports names, shapes and values, never engine objects.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return _encode_array(value)
    if isinstance(value, (int, float)):
        return {"python": type(value).__name__, "value": value}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"dict": {str(key): encode(value[key]) for key in value}}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(str(item) for item in value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = {name: encode(getattr(value, name)) for name in value._fields}
        return {"tuple": type(value).__name__, "dict": fields}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, inspect.Signature):
        return {"signature": [_encode_parameter(p) for p in value.parameters.values()]}
    raise TypeError(f"a program may not report a {type(value).__name__}: {value!r}")


def _encode_parameter(parameter: inspect.Parameter) -> str:
    prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    name = prefix + parameter.name
    default = parameter.default
    if default is parameter.empty:
        return name
    if isinstance(default, (bool, int, float, str, type(None))):
        return f"{name}={default!r}"
    if isinstance(default, (tuple, list)):
        return f"{name}={list(default)!r}"
    # A dtype, an initializer, an enum: what stands there is the engine's own object.
    text = getattr(default, "name", None)
    return f"{name}={text}" if isinstance(text, str) else f"{name}=<object>"


def _encode_array(value: np.ndarray | np.generic) -> Any:
    array = np.asarray(value)
    kind = "array" if isinstance(value, np.ndarray) else "scalar"
    encoded = {"kind": kind, "dtype": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind in "OSU":
        # Strings come back as object arrays of bytes; the dtype's width carries no meaning.
        encoded["dtype"] = "object"
        encoded["data"] = [encode(item) for item in array.reshape(-1).tolist()]
    elif array.dtype.kind == "c":
        encoded["data"] = [[item.real, item.imag] for item in array.reshape(-1).tolist()]
    elif array.dtype.kind == "V" or str(array.dtype) == "bfloat16":
        encoded["data"] = array.astype(np.float32).reshape(-1).tolist()
    else:
        encoded["data"] = array.reshape(-1).tolist()
    return encoded


def differences(mine: Any, theirs: Any, tolerance: float | None = None) -> str | None:
    """The first difference between two encoded values in words, or None where they agree."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return _dict_difference(mine, theirs, tolerance)
    if isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            return f"{len(mine)} items, TensorFlow has {len(theirs)}: {mine} / {theirs}"[:400]
        for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            found = differences(a, b, tolerance)
            if found:
                return f"[{index}] {found}"
        return None
    if type(mine) is type(theirs) and mine == theirs:
        return None
    if isinstance(mine, str) and isinstance(theirs, str):
        if mine.startswith("raises ") and theirs.startswith("raises "):
            return _error_difference(mine.split()[1::2], theirs.split()[1::2])
        if _VERSION.sub("", mine) == _VERSION.sub("", theirs):
            return None  # AddV2 and Add: one op, two generations of TensorFlow
    return f"{mine!r}, TensorFlow has {theirs!r}"[:400]


def _dict_difference(mine: dict, theirs: dict, tolerance: float | None) -> str | None:
    if "kind" in mine and "kind" in theirs:
        return _array_difference(mine, theirs, tolerance)
    if "signature" in mine and "signature" in theirs:
        return _signature_difference(mine["signature"], theirs["signature"])
    if "python" in mine and "python" in theirs:
        a, b = mine["value"], theirs["value"]
        if mine["python"] != theirs["python"]:
            return f"Python {mine['python']} {a}, TensorFlow has {theirs['python']} {b}"
        close = a == b if mine["python"] == "int" else _close(a, b, tolerance or 2e-5)
        return None if close else f"{a}, TensorFlow has {b}"
    if mine.keys() != theirs.keys():
        return f"{_short(mine)}, TensorFlow has {_short(theirs)}"
    for key in theirs:
        if key == "dict":
            missing = sorted(theirs[key].keys() ^ mine[key].keys())
            if missing:
                return f"keys on one side only: {missing}"
            for name in theirs[key]:
                found = differences(mine[key][name], theirs[key][name], tolerance)
                if found:
                    return f"[{name!r}] {found}"
        else:
            found = differences(mine[key], theirs[key], tolerance)
            if found:
                return found
    return None


def _error_difference(mine: list[str], theirs: list[str]) -> str | None:
    """The first class that users can name in TensorFlow's line must be in ours too."""
    named = next(name for name in theirs if hasattr(builtins, name) or name in PUBLIC_ERRORS)
    return None if named in mine else f"raises {mine[0]}, TensorFlow raises {theirs[0]}"


def _signature_difference(mine: list[str], theirs: list[str]) -> str | None:
    """Whatever TensorFlow accepts must be accepted, with the same order and plain defaults.

    More is fine: parameters after TensorFlow's (old spellings), defaults where it has none. A
    default that is an object of its own (an enum, an initializer) is not compared.
    """
    whole = f"({', '.join(mine)}), TensorFlow has ({', '.join(theirs)})"
    accepts_any = any(name.startswith("**") for name in mine)
    positional = [text for text in mine if not text.startswith("*")]
    for index, text in enumerate(text for text in theirs if not text.startswith("*")):
        name, _, default = text.partition("=")
        if index >= len(positional):
            if not (accepts_any and default):
                return whole
            continue
        own, _, own_default = positional[index].partition("=")
        if own != name or (default and not own_default):
            return whole
        if _is_plain(default) and own_default != default:
            return whole
    return None


def _is_plain(default: str) -> bool:
    return default.startswith(tuple("'[-0123456789")) or default in ("None", "True", "False")


def _array_difference(mine: dict, theirs: dict, tolerance: float | None) -> str | None:
    for key in ("dtype", "shape", "kind"):
        if mine[key] != theirs[key]:
            return f"{key} {mine[key]}, TensorFlow has {theirs[key]}: {_short(mine)} / {_short(theirs)}"
    dtype = theirs["dtype"]
    if dtype == "object":
        return differences(mine["data"], theirs["data"])
    if dtype.startswith("complex"):
        pairs = zip(_flat(mine["data"]), _flat(theirs["data"]), strict=True)
        limit = tolerance or DEFAULT_TOLERANCE["float32" if dtype == "complex64" else "float64"]
    elif dtype in DEFAULT_TOLERANCE:
        pairs = zip(mine["data"], theirs["data"], strict=True)
        limit = tolerance or DEFAULT_TOLERANCE[dtype]
    else:
        return None if mine["data"] == theirs["data"] else f"{_short(mine)} / {_short(theirs)}"
    largest = max((abs(x) for x in _flat(theirs["data"]) if math.isfinite(x)), default=0.0)
    for index, (a, b) in enumerate(pairs):
        # Sums cancel, so the error is measured against the array's own size, a hundredth of it.
        if not _close(a, b, limit, floor=0.01 * largest):
            return (
                f"element {index} is {a!r}, TensorFlow has {b!r}: {_short(mine)} / {_short(theirs)}"
            )
    return None


def _flat(data: list) -> list[float]:
    return [y for x in data for y in x] if data and isinstance(data[0], list) else data


def _close(a: float, b: float, tolerance: float, floor: float = 0.0) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= tolerance * max(abs(b), floor, 0.05)


def _short(encoded: dict) -> str:
    return str(encoded.get("data", encoded))[:120]
