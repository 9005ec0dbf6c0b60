"""What a user is told of a NaN or an infinity: the warning, the node, its inputs in short (`nan_origin` finds it)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dataflow.runtime.value_sample import not_finite


class NonFiniteWarning(RuntimeWarning):
    """A fetched number is NaN or infinite; ``origin`` says where it came from.

    Given once for each combination of fetches and feeds. ``tf.ConfigProto(watch_numerics=False)``
    turns the watch off.
    """

    origin: NonFiniteOrigin | None = None


class ValueSummary(NamedTuple):
    """A summary of a value: ``minimum`` and ``maximum`` of its finite elements, None without any."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    minimum: float | None
    maximum: float | None
    num_nan: int
    num_inf: int

    @property
    def is_finite(self) -> bool:
        """Whether no element is NaN or infinite."""
        return not self.num_nan and not self.num_inf

    def __str__(self) -> str:
        size = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        text = f"{self.name}: {size}"
        if self.minimum is not None and self.maximum is not None:
            text += f" from {self.minimum:.6g} to {self.maximum:.6g}"
        if self.num_nan:
            text += f", {self.num_nan} NaN"
        if self.num_inf:
            text += f", {self.num_inf} infinite"
        return text


class NonFiniteOrigin(NamedTuple):
    """The node in which a NaN or an infinity first appeared.

    ``kind`` is "made" for a node that made it from finite inputs (or NaN of infinite ones); "fed",
    "variable", "constant" or "given" for a value that had it from the start (given: by a queue, an
    iterator or a Python function). ``what`` is "NaN" or "infinity". ``cause`` is where an
    infinite input of the node comes from.
    """

    name: str
    op_type: str
    kind: str
    what: str
    output: ValueSummary
    inputs: list[ValueSummary]
    built_at: str
    cause: NonFiniteOrigin | None = None

    def __str__(self) -> str:
        verbs = {
            "made": f"{self.op_type} {self.name!r} made {self.what}",
            "fed": f"the value fed for {self.name!r} has {self.what}",
            "variable": f"the variable {self.name!r} has {self.what} before the run",
            "constant": f"the constant {self.name!r} has {self.what}",
            "given": f"{self.op_type} {self.name!r} gave {self.what}",
        }
        lines = [verbs[self.kind]]
        lines += [f"  input {value}" for value in self.inputs]
        lines += [f"  output {self.output}", f"  built at {self.built_at}"]
        if self.cause is not None:
            lines += ["Its infinite input comes from here:", str(self.cause)]
        return "\n".join(lines)


def summarize(name: str, value: Any) -> ValueSummary | None:
    """A summary of a floating-point value; ``None`` for any other."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "fc":
        return None
    nan, inf = not_finite(array)
    finite = np.abs(array) if array.dtype.kind == "c" else array
    if nan or inf:
        finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    return ValueSummary(name, array.dtype.name, array.shape, low, high, nan, inf)
