"""Types of what a caller may give: a tensor, a shape or a dtype, in each of its forms.

For annotations: functions convert what they get (`convert_to_tensor`, `as_shape`, `as_dtype`) before they
use it. Import it under ``if TYPE_CHECKING``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import numpy as np

    from dataflow.dtypes import DType
    from dataflow.graph.tensor import Tensor
    from dataflow.ops.variables import Variable
    from dataflow.shapes import Dimension, TensorShape

#: What `convert_to_tensor` takes: a tensor, a variable, an array, a Python value, or a sequence of such.
TensorLike: TypeAlias = (
    "Tensor | Variable | np.ndarray[Any, Any] | np.generic | complex | str | bytes | Sequence[Any]"
)
#: A dtype, a NumPy or Python type, a dtype's name (``"float32"``) or its number in a `GraphDef`.
DTypeLike: TypeAlias = "DType | np.dtype[Any] | type[Any] | str | int"
#: A shape, its sizes (``None`` where one is unknown), or the one size of a vector.
ShapeLike: TypeAlias = "TensorShape | Sequence[int | Dimension | None] | int"
#: A shape that may be known only when the graph runs.
DynamicShapeLike: TypeAlias = "ShapeLike | TensorLike"
#: One axis or several, a tensor among them; negative ones count from the last.
AxisLike: TypeAlias = "int | Sequence[int] | np.ndarray[Any, Any] | Tensor"
#: The function that makes a variable's first value, or that value, or the class of such a function.
InitializerLike: TypeAlias = "Callable[..., Any] | TensorLike"
