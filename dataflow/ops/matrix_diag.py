"""Diagonals and bands of matrices; the identity matrix; transposes of stacks of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import FLOATING, INDICES, NUMBERS
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import minimum_op
from dataflow.ops.casts import cast
from dataflow.ops.seeds import count_left_out
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims, list_dims, merge, smaller_size

_ANY = frozenset({*dtypes.BY_NUMPY.values(), dtypes.bfloat16})


def _matrix(x: Tensor) -> Dims:
    if x.dims is not None and len(x.dims) < 2:
        raise ValueError(
            f"a matrix (or a stack of them) is needed, got shape {list_dims(x.dims)}\n"
            "tf.diag and tf.matrix_diag make a matrix of a vector."
        )
    return x.dims


def _band(k: Tensor) -> tuple[int, int] | None:
    value = static_value(k)
    if value is None:
        return None
    ends = np.asarray(value).reshape(-1).tolist()
    if len(ends) not in (1, 2) or ends[0] > ends[-1]:
        raise ValueError(f"k must be a number or (lower, upper) with lower <= upper, got {ends}")
    return ends[0], ends[-1]


def _set_diag_dims(input: Tensor, diagonal: Tensor, band: tuple[int, int] | None) -> Dims:
    """The shape of matrices some of whose diagonals are replaced."""
    dims, given = _matrix(input), diagonal.dims
    if given == ():
        raise ValueError("the diagonal must have at least one axis, got a scalar")
    if band is None or given is None:
        return dims
    low, high = band
    count = () if low == high else (high - low + 1,)
    if dims is None:
        return (*given[: len(given) - len(count) - 1], None, None)
    rows, columns = dims[-2:]
    length = None
    if rows is not None and columns is not None:
        length = min(rows + min(high, 0), columns - max(low, 0))
    wanted = (*dims[:-2], *count, length)
    try:
        batch = merge(wanted, given)
    except ValueError as e:
        raise ValueError(
            f"the diagonal must have shape {list_dims(wanted)}, got {list_dims(given)}"
        ) from e
    assert batch is not None
    return (*batch[: len(dims) - 2], rows, columns)


# ---- diagonals of any rank ---------------------------------------------------------------------


@define_op("Diag", "diagonal: T -> output: T", T=NUMBERS)
def diag_op(diagonal: Tensor) -> Dims:
    """The tensor of twice the rank with the given diagonal and zeros elsewhere.

    Shape: [d...] gives [d..., d...]. Dtype: kept. Gradient: the diagonal of dy.
    """
    if diagonal.dims == ():
        raise ValueError("the diagonal must have at least one axis, got a scalar")
    return None if diagonal.dims is None else diagonal.dims + diagonal.dims


@define_op("DiagPart", "input: T -> diagonal: T", T=NUMBERS)
def diag_part_op(input: Tensor) -> Dims:
    """The diagonal of a tensor of shape [d..., d...].

    Shape: [d..., d...] gives [d...]. Dtype: kept. Gradient: a tensor with dy as its diagonal.
    """
    if input.dims is None:
        return None
    if len(input.dims) % 2 or not input.dims:
        raise ValueError(f"the rank must be even and not 0, got shape {list_dims(input.dims)}")
    half = len(input.dims) // 2
    for a, b in zip(input.dims[:half], input.dims[half:], strict=True):
        if a is not None and b is not None and a != b:
            raise ValueError(f"the two halves of the shape must agree: {list_dims(input.dims)}")
    return input.dims[:half]


@diag_op.gradient
def diag_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [diag_part_op(grad)]


@diag_part_op.gradient
def diag_part_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [diag_op(grad)]


diag = diag_op
diag_part = diag_part_op

# ---- diagonals of stacks of matrices -------------------------------------------------------------


@define_op("MatrixDiag", "diagonal: T -> output: T", T=_ANY)
def matrix_diag_op(diagonal: Tensor) -> Dims:
    """Square matrices with the given diagonals and zeros elsewhere.

    Shape: [..., n] gives [..., n, n]. Gradient: the diagonals of dy.
    """
    if diagonal.dims is None:
        return None
    if not diagonal.dims:
        raise ValueError("the diagonal must have at least one axis, got a scalar")
    return (*diagonal.dims, diagonal.dims[-1])


@define_op(
    "MatrixDiagV3",
    "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T",
    T=_ANY,
)
def matrix_diag_v3_op(
    diagonal: Tensor,
    k: Tensor,
    num_rows: Tensor,
    num_cols: Tensor,
    padding_value: Tensor,
    *,
    align: str = "RIGHT_LEFT",
) -> Dims:
    """Matrices with diagonals number k (or k[0] to k[1]) given and ``padding_value`` elsewhere.

    Shape: [..., n] gives [..., rows, columns]; rows and columns of -1 are the smallest that fit.
    Gradient: the diagonals of dy.
    """
    band = _band(k)
    rows, columns = static_value(num_rows), static_value(num_cols)
    if diagonal.dims is None or band is None or rows is None or columns is None:
        return None
    if not diagonal.dims:
        raise ValueError("the diagonal must have at least one axis, got a scalar")
    low, high = band
    batch = diagonal.dims[:-1] if low == high else diagonal.dims[:-2]
    if diagonal.dims[-1] is None:
        known = [None if int(v) < 0 else int(v) for v in (rows, columns)]
        return (*batch, *known)
    shape = diag_matrix_shape(diagonal.dims[-1], low, high, int(rows), int(columns))
    return (*batch, *shape)


def diag_matrix_shape(length: int, low: int, high: int, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of a matrix whose longest diagonal in [low, high] has ``length``."""
    min_rows = length - min(high, 0)
    min_columns = length + max(low, 0)
    if rows < 0 and columns < 0:
        rows = columns = max(min_rows, min_columns)
    elif rows < 0:
        rows = min_rows
    elif columns < 0:
        columns = min_columns
    if rows < min_rows or columns < min_columns or (rows != min_rows and columns != min_columns):
        raise ValueError(
            f"a matrix of {rows} rows and {columns} columns has no such diagonal of {length}"
        )
    return rows, columns


@define_op("MatrixDiagPart", "input: T -> diagonal: T", T=_ANY)
def matrix_diag_part_op(input: Tensor) -> Dims:
    """The main diagonals of a stack of matrices.

    Shape: [..., m, n] gives [..., min(m, n)]. Gradient: matrices with dy on the diagonal.
    """
    dims = _matrix(input)
    return None if dims is None else (*dims[:-2], smaller_size(dims[-2], dims[-1]))


@define_op("MatrixDiagPartV3", "input: T, k: int32, padding_value: T -> diagonal: T", T=_ANY)
def matrix_diag_part_v3_op(
    input: Tensor, k: Tensor, padding_value: Tensor, *, align: str = "RIGHT_LEFT"
) -> Dims:
    """Diagonal k, or diagonals k[0] to k[1] as rows from the highest down, filled to one length.

    Shape: [..., m, n] gives [..., length] or [..., diagonals, length].
    Gradient: matrices with dy on these diagonals.
    """
    dims, band = _matrix(input), _band(k)
    if dims is None or band is None:
        return None
    low, high = band
    rows, columns = dims[-2:]
    if rows is not None and columns is not None and not (-rows < low and high < columns):
        if not (rows == 0 or columns == 0):
            raise ValueError(f"a {rows} x {columns} matrix has no diagonal {k and (low, high)}")
    length = smaller_size(
        None if rows is None else rows + min(high, 0),
        None if columns is None else columns - max(low, 0),
    )
    return (*dims[:-2], length) if low == high else (*dims[:-2], high - low + 1, length)


@define_op("MatrixSetDiag", "input: T, diagonal: T -> output: T", T=_ANY)
def matrix_set_diag_op(input: Tensor, diagonal: Tensor) -> Dims:
    """Matrices with their main diagonals replaced.

    Shape: [..., m, n] and [..., min(m, n)] give [..., m, n]. Gradient: dy, split in both.
    """
    return _set_diag_dims(input, diagonal, (0, 0))


@define_op("MatrixSetDiagV3", "input: T, diagonal: T, k: int32 -> output: T", T=_ANY)
def matrix_set_diag_v3_op(
    input: Tensor, diagonal: Tensor, k: Tensor, *, align: str = "RIGHT_LEFT"
) -> Dims:
    """Matrices with diagonals number k (or k[0] to k[1]) replaced.

    Shape: that of the input; the diagonal's is what `MatrixDiagPartV3` gives. Gradient: dy, split in both.
    """
    return _set_diag_dims(input, diagonal, _band(k))


@define_op(
    "MatrixBandPart",
    "input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
    T=_ANY,
    Tindex=INDICES,
)
def matrix_band_part_op(input: Tensor, num_lower: Tensor, num_upper: Tensor) -> Dims:
    """Matrices with zeros outside a band around the main diagonal; negative numbers keep all.

    Shape and dtype: kept. Gradient: the same band of dy.
    """
    return _matrix(input)


@matrix_diag_op.gradient
def matrix_diag_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [matrix_diag_part_op(grad)]


@matrix_diag_v3_op.gradient
def matrix_diag_v3_gradient(op: Operation, grad: Tensor) -> list[Any]:
    part = matrix_diag_part(grad, k=op.inputs[1], align=op.attrs["align"])
    return [part, None, None, None, None]


@matrix_diag_part_op.gradient
def matrix_diag_part_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [matrix_set_diag_op(array_ops.zeros_like(op.inputs[0]), grad)]


@matrix_diag_part_v3_op.gradient
def matrix_diag_part_v3_gradient(op: Operation, grad: Tensor) -> list[Any]:
    zeros = array_ops.zeros_like(op.inputs[0])
    placed = matrix_set_diag_v3_op(zeros, grad, op.inputs[1], align=op.attrs["align"])
    return [placed, None, None]


@matrix_set_diag_op.gradient
def matrix_set_diag_gradient(op: Operation, grad: Tensor) -> list[Any]:
    zeros = array_ops.zeros_like(op.inputs[1])
    return [matrix_set_diag_op(grad, zeros), matrix_diag_part_op(grad)]


@matrix_set_diag_v3_op.gradient
def matrix_set_diag_v3_gradient(op: Operation, grad: Tensor) -> list[Any]:
    k, align = op.inputs[2], op.attrs["align"]
    zeros = array_ops.zeros_like(op.inputs[1])
    rest = matrix_set_diag_v3_op(grad, zeros, k, align=align)
    return [rest, matrix_diag_part(grad, k=k, align=align), None]


@matrix_band_part_op.gradient
def matrix_band_part_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [matrix_band_part_op(grad, *op.inputs[1:]), None, None]


def matrix_diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the given diagonals: [..., n] gives [..., n, n]; see MatrixDiagV3 for bands."""
    count_left_out(-4)  # the op that TensorFlow 1.15 takes has one input
    return matrix_diag_v3_op(  # type: ignore[no-any-return]
        diagonal, k, num_rows, num_cols, padding_value, align=align, name=name
    )


def matrix_diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonals of a stack of matrices: [..., m, n] gives [..., min(m, n)]."""
    input = convert_to_tensor(input, name="input")
    if input.dtype.base_dtype.kind == "b" and padding_value == 0:
        padding_value = False
    count_left_out(-2)
    return matrix_diag_part_v3_op(input, k, padding_value, align=align, name=name)  # type: ignore[no-any-return]


def matrix_set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with their diagonals replaced by ``diagonal``."""
    count_left_out(-1)
    return matrix_set_diag_v3_op(input, diagonal, k, align=align, name=name)  # type: ignore[no-any-return]


def matrix_band_part(
    input: TensorLike, num_lower: Any, num_upper: Any, name: str | None = None
) -> Tensor:
    """Matrices with zeros more than num_lower below or num_upper above the main diagonal.

    Negative numbers keep the whole triangle: (-1, 0) is the lower triangle, (0, -1) the upper.
    """

    def width(value: Any) -> Any:
        return value if isinstance(value, Tensor) else np.int64(value)

    return matrix_band_part_op(input, width(num_lower), width(num_upper), name=name)  # type: ignore[no-any-return]


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a stack of them of shape ``batch_shape``."""
    with default_graph().name_scope(name or "eye"):
        square = num_columns is None
        if square:
            num_columns = num_rows
        smaller: Any
        if isinstance(num_rows, Tensor) or isinstance(num_columns, Tensor):
            count_left_out(2 if square else 0)  # the smaller of both, and shapes that are joined
            smaller = num_rows if square else minimum_op(num_rows, num_columns)
        else:
            num_rows, num_columns = int(num_rows), int(num_columns)
            smaller = min(num_rows, num_columns)
        if isinstance(batch_shape, (list, tuple)) and any(
            isinstance(d, Tensor) for d in batch_shape
        ):
            batch_shape = array_ops.stack(batch_shape)
        if batch_shape is None:
            batch: Any = []
        elif isinstance(batch_shape, Tensor):
            known = static_dims(batch_shape)
            exact = known is not None and None not in known
            batch = list(known) if exact and known is not None else batch_shape
        else:
            batch = [int(d) for d in batch_shape]

        def shape(*sizes: Any) -> Any:
            if isinstance(batch, list):
                return [*batch, *sizes] if batch or sizes else []
            return array_ops.concat([batch, cast(array_ops.stack(list(sizes)), batch.dtype)], 0)

        ones = array_ops.ones(shape(smaller), dtype=dtype)
        if square:
            return matrix_diag(ones)
        zeros = array_ops.zeros(shape(num_rows, num_columns), dtype=dtype)
        return matrix_set_diag(zeros, ones)


def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """The last two axes swapped: [..., m, n] gives [..., n, m]."""
    from dataflow.ops.complex_numbers import conj

    with default_graph().name_scope(name):
        a = convert_to_tensor(a, name="a")
        if a.dims is None:
            rank = array_ops.rank(a)
            order: Any = array_ops.concat(
                [array_ops.range_(rank - 2), array_ops.stack([rank - 1, rank - 2])], 0
            )
        else:
            known = len(a.dims)
            if known < 2:
                raise ValueError(
                    f"Argument `a` should be a (batch) matrix with rank >= 2. Received shape {a.shape}"
                )
            order = [*range(known - 2), known - 1, known - 2]
        result = array_ops.transpose(a, order)
        return conj(result) if conjugate and a.dtype.is_complex else result


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The conjugate transpose of a matrix or of each of a stack."""
    with default_graph().name_scope(name or "adjoint"):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the main diagonal of each matrix: [..., m, n] gives [...]."""
    from dataflow.ops.reduce import reduce_sum

    with default_graph().name_scope(name or "Trace") as scope:
        x = convert_to_tensor(x, name="x")
        return reduce_sum(matrix_diag_part(x), [-1], name=scope)


@define_op(
    "LinSpace",
    "start: T, stop: T, num: Tidx -> output: T",
    T=FLOATING,
    Tidx=INDICES,
    host_inputs=("start", "stop", "num"),
)
def lin_space_op(start: Tensor, stop: Tensor, num: Tensor) -> Dims:
    """``num`` numbers at even distances from start to stop, both included.

    Shape: [num]. Dtype: that of the ends. Gradient: none.
    """
    for name, end in (("start", start), ("stop", stop)):
        if end.dims not in (None, ()):
            raise ValueError(f"{name} must be a scalar, got shape {list_dims(end.dims)}")
    count = static_value(num)
    if count is not None and int(count) <= 0:
        raise ValueError(f"Requires num > 0: {int(count)}")
    return (None if count is None else int(count),)


not_differentiable(lin_space_op)


def linspace(
    start: TensorLike, stop: Any, num: Any, name: str | None = None, axis: int = 0
) -> Tensor:
    """``num`` numbers at even distances from start to stop, both included; integers give float64."""
    start = convert_to_tensor(start, name="start")
    if start.dtype.is_integer:
        start = cast(start, dtypes.float64)
        stop = cast(stop, dtypes.float64)
    return lin_space_op(start, stop, num, name=name)  # type: ignore[no-any-return]
