"""The ``assert_*`` functions: what is known to be wrong fails now, the rest when the graph runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes, errors
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.logging_ops import Assert
from dataflow.ops.static_value import static_value


def dense_as_tensor(value: TensorLike, name: str) -> Any:
    """The value as a tensor; a SparseTensor stays as it is."""
    if type(value).__name__ == "SparseTensor":
        return value
    return convert_to_tensor(value, name=name)


def _fail_now(data: list[Any]) -> None:
    texts = []
    for item in data:
        value = static_value(item) if isinstance(item, Tensor) else item
        texts.append(str(item if value is None else value))
    raise errors.InvalidArgumentError(None, None, "\n".join(texts))


def _binary(
    symbol: str,
    op_name: str,
    compare: Callable[..., Any],
    compare_now: Callable[..., Any],
    x: Any,
    y: Any,
    data: Any,
    summarize: Any,
    message: Any,
    name: Any,
) -> Any:
    from dataflow.ops.control_flow import no_op
    from dataflow.ops.reduce import reduce_all

    with default_graph().name_scope(name or op_name):
        if x is y and symbol == "==":  # one tensor, or one Python value
            return no_op(name=name)
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y")
        if data is None:
            data = [
                f"Condition x {symbol} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        if message is not None:
            data = [message, *data]
        condition = reduce_all(compare(x, y))
        x_now, y_now = static_value(x), static_value(y)
        if x_now is not None and y_now is not None and not np.all(compare_now(x_now, y_now)):
            _fail_now(list(data))
        return Assert(condition, data, summarize=summarize)


def _comparison(symbol: str, name: str, op: str, now: Any) -> Callable[..., Any]:
    def function(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        from dataflow.ops import comparison

        return _binary(
            symbol,
            function.__name__,
            getattr(comparison, op),
            now,
            x,
            y,
            data,
            summarize,
            message,
            name,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""An operation that fails unless ``x {symbol} y`` holds for every element.

    Raises `InvalidArgumentError` at once where both are known already, else when it runs; make it
    a control dependency. ``data`` replaces what the error shows, ``message`` stands before it.
    """
    return function


assert_equal = _comparison("==", "assert_equal", "equal", np.equal)
assert_none_equal = _comparison("!=", "assert_none_equal", "not_equal", np.not_equal)
assert_less = _comparison("<", "assert_less", "less", np.less)
assert_less_equal = _comparison("<=", "assert_less_equal", "less_equal", np.less_equal)
assert_greater = _comparison(">", "assert_greater", "greater", np.greater)
assert_greater_equal = _comparison(">=", "assert_greater_equal", "greater_equal", np.greater_equal)


def _sign(name: str, compare: Callable[..., Any], zero_first: bool, text: str) -> Any:
    def function(
        x: TensorLike,
        data: TensorLike | None = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Any:
        with default_graph().name_scope(name or function.__name__):
            tensor = convert_to_tensor(x, name="x")
            shown = data
            if shown is None:
                shown = [
                    f"Condition x {text} did not hold element-wise:",
                    f"x ({tensor.name}) = ",
                    tensor,
                ]
                if message is not None:
                    shown = [message, *shown]
            zero = convert_to_tensor(0, dtype=tensor.dtype.base_dtype)
            pair = (zero, tensor) if zero_first else (tensor, zero)
            return compare(*pair, data=shown, summarize=summarize)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""An operation that fails unless ``x {text}`` holds for every element.

    As `assert_less`.
    """
    return function


assert_negative = _sign("assert_negative", assert_less, False, "< 0")
assert_positive = _sign("assert_positive", assert_less, True, "> 0")
assert_non_negative = _sign("assert_non_negative", assert_less_equal, True, ">= 0")
assert_non_positive = _sign("assert_non_positive", assert_less_equal, False, "<= 0")


def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """An operation that fails unless ``|x - y| <= atol + rtol * |y|`` for every element.

    Both tolerances default to ten times the machine epsilon of the dtype.
    """
    from dataflow.ops.arithmetic import add, multiply, subtract
    from dataflow.ops.comparison import less
    from dataflow.ops.elementary import abs_
    from dataflow.ops.reduce import reduce_all

    with default_graph().name_scope(name or "assert_near"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
        eps = np.finfo(x.dtype.base_dtype.numpy).eps if x.dtype.base_dtype.is_floating else 0
        rtol = convert_to_tensor(10 * eps if rtol is None else rtol, x.dtype.base_dtype, "rtol")
        atol = convert_to_tensor(10 * eps if atol is None else atol, x.dtype.base_dtype, "atol")
        if data is None:
            data = [
                "x and y not equal to tolerance rtol = ",
                rtol,
                ", atol = ",
                atol,
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        if message is not None:
            data = [message, *data]
        tolerance = add(atol, multiply(rtol, abs_(y)))
        condition = reduce_all(less(abs_(subtract(x, y)), tolerance))
        return Assert(condition, data, summarize=summarize)


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raises `TypeError` unless ``x`` is of an integer dtype; returns a no-op."""
    from dataflow.ops.control_flow import no_op

    with default_graph().name_scope(name or "assert_integer"):
        x = dense_as_tensor(x, "x")
        if not x.dtype.base_dtype.is_integer:
            raise TypeError(
                f'{message + " " if message else ""}Expected "x" to be integer type.  '
                f"Found: {x.dtype.name} of tensor {x.name!r}"
            )
        return no_op("statically_determined_was_integer")


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Raises `TypeError` unless ``tensor`` has dtype ``tf_type``; returns a no-op."""
    from dataflow.ops.control_flow import no_op

    wanted = as_dtype(tf_type)
    with default_graph().name_scope(name or "assert_type"):
        tensor = dense_as_tensor(tensor, "tensor")
        if tensor.dtype.base_dtype is not wanted:
            raise TypeError(
                f"{message or ''}{tensor.name} must be of type {wanted!r}; "
                f"got {tensor.dtype.base_dtype!r}"
            )
        return no_op("statically_determined_correct_type")


def assert_proper_iterable(values: Any) -> None:
    """Raises `TypeError` for what is not a list-like of tensors: a tensor, array or string."""
    name = type(values).__name__
    if isinstance(values, (Tensor, np.ndarray, str, bytes)) or name in (
        "SparseTensor",
        "IndexedSlices",
    ):
        raise TypeError(
            f"Expected argument 'values' to be a 'proper' iterable.  Found: {type(values)}"
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def assert_same_float_dtype(
    tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """The one floating dtype of all ``tensors`` (and of ``dtype``).

    Raises `ValueError` when they differ or are not floating. Without any, float32.
    """
    found = None if dtype is None else as_dtype(dtype).base_dtype
    for tensor in tensors or []:
        if tensor is None:
            continue
        base = tensor.dtype.base_dtype
        if found is None:
            found = base
        elif base is not found:
            raise ValueError(
                f"Expected all tensors to have dtype {found.name}, but {tensor.name!r} has {base.name}."
            )
    if found is None:
        return dtypes.float32
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found.name}.")
    return found


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """True for a tensor of numbers."""
    return isinstance(tensor, Tensor) and tensor.dtype.base_dtype in dtypes.NUMBERS


def _differences(x: TensorLike, name: str, compare: Any) -> Tensor:
    from dataflow.ops.arithmetic import subtract
    from dataflow.ops.array import reshape
    from dataflow.ops.reduce import reduce_all

    with default_graph().name_scope(name):
        flat = reshape(convert_to_tensor(x, name="x"), [-1])
        step = subtract(flat[1:], flat[:-1])
        return reduce_all(compare(step, convert_to_tensor(0, dtype=flat.dtype.base_dtype)))


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """A scalar bool: no element is smaller than the one before it (row by row)."""
    from dataflow.ops.comparison import greater_equal

    return _differences(x, name or "is_non_decreasing", greater_equal)


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """A scalar bool: every element is larger than the one before it (row by row)."""
    from dataflow.ops.comparison import greater

    return _differences(x, name or "is_strictly_increasing", greater)
