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


def _tensor(value: TensorLike, name: str) -> Any:
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


def _rank_of(x: Any) -> int | None:
    return x.shape.ndims  # type: ignore[no-any-return]


def _assert_rank(
    x: Any, ranks: Any, holds: Any, symbol: str, data: Any, summarize: Any, message: Any, name: str
) -> Any:
    from dataflow.ops.array import rank as rank_op
    from dataflow.ops.control_flow import no_op

    with default_graph().name_scope(name):
        x = _tensor(x, "x")
        wanted: list[Any] = []
        for rank in ranks:
            value = static_value(convert_to_tensor(rank, name="rank"))
            if value is None:
                wanted.append(convert_to_tensor(rank))
                continue
            if np.ndim(value):
                raise ValueError("Rank must be a scalar.")
            if not np.issubdtype(np.asarray(value).dtype, np.integer):
                raise TypeError(f"{name} needs a whole number as the rank, got {value!r}.")
            wanted.append(int(value))
        known = _rank_of(x)
        text = "" if message is None else message + " "
        if known is not None and all(isinstance(w, int) for w in wanted):
            if not any(holds(known, w) for w in wanted):
                need = " or ".join(str(w) for w in wanted)
                raise ValueError(
                    f"{text}Tensor {x.name} must have rank {symbol}{need}.  Received rank {known}, "
                    f"shape {x.shape}"
                )
            return no_op(name="static_checks_determined_all_ok")
        from dataflow.ops.comparison import equal, greater_equal, logical_or

        actual = rank_op(x)
        compare = equal if symbol == "" else greater_equal
        condition = compare(actual, wanted[0])
        for w in wanted[1:]:
            condition = logical_or(condition, compare(actual, w))
        if data is None:
            data = [
                f"{text}Tensor {x.name} must have rank {symbol}",
                *wanted,
                "Received rank",
                actual,
            ]
        return Assert(condition, data, summarize=summarize)


def assert_rank(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: Any = None,
    message: Any = None,
    name: Any = None,
) -> Any:
    """An operation that fails unless ``x`` has that rank; `ValueError` where it is known not to."""
    return _assert_rank(
        x, [rank], lambda a, b: a == b, "", data, summarize, message, name or "assert_rank"
    )


def assert_rank_at_least(
    x: TensorLike,
    rank: Any,
    data: Any = None,
    summarize: Any = None,
    message: Any = None,
    name: str | None = None,
) -> Any:
    """An operation that fails unless ``x`` has that rank or a higher one; see `assert_rank`."""
    return _assert_rank(
        x,
        [rank],
        lambda a, b: a >= b,
        "at least ",
        data,
        summarize,
        message,
        name or "assert_rank_at_least",
    )


def assert_rank_in(
    x: Any,
    ranks: Any,
    data: Any = None,
    summarize: Any = None,
    message: Any = None,
    name: Any = None,
) -> Any:
    """An operation that fails unless ``x`` has one of the ``ranks``; see `assert_rank`."""
    return _assert_rank(
        x, ranks, lambda a, b: a == b, "", data, summarize, message, name or "assert_rank_in"
    )


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raises `TypeError` unless ``x`` is of an integer dtype; returns a no-op."""
    from dataflow.ops.control_flow import no_op

    with default_graph().name_scope(name or "assert_integer"):
        x = _tensor(x, "x")
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
        tensor = _tensor(tensor, "tensor")
        if tensor.dtype.base_dtype is not wanted:
            raise TypeError(
                f"{message or ''}{tensor.name} must be of type {wanted!r}; "
                f"got {tensor.dtype.base_dtype!r}"
            )
        return no_op("statically_determined_correct_type")


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """``tensor``; raises `ValueError` when it is known not to be a scalar."""
    with default_graph().name_scope(name or "assert_scalar"):
        tensor = _tensor(tensor, "tensor")
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape, saw shape: {tensor.shape} for {tensor.name!r}."
            )
        return tensor


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


def assert_shapes(
    shapes: Any,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """An operation that fails unless tensors have the shapes told, the same symbol being the same size.

    ``shapes``: pairs (tensor, shape), or a dict of them. A shape is a sequence of sizes: a number, a
    symbol such as "N" (one size wherever it stands), or None or "." for any; "*" or "..." as the first
    or the last stands for any number of axes. ``[(x, ("N", "D")), (y, ("N",)), (rate, ())]``.

    Raises `ValueError` at once where the static shapes do not fit, else `InvalidArgumentError` when
    it runs. ``data`` replaces what the error shows, ``message`` stands before it.
    """
    from dataflow.ops.array import shape as shape_of
    from dataflow.ops.control_flow import group

    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    text = f"{message}.  " if message else ""
    with default_graph().name_scope(name or "assert_shapes"):
        checks: list[Any] = []
        sizes: dict[str, tuple[int, Any]] = {}  # static ones, with the tensor that has it
        tensors: dict[str, Any] = {}  # the first dynamic size of each symbol
        for value, wanted in pairs:
            x = _tensor(value, "x")
            wanted = tuple(wanted) if isinstance(wanted, (list, tuple)) else (wanted,)
            symbols = ["..." if s in ("*", "...", Ellipsis) else s for s in wanted]
            open_at = [i for i, s in enumerate(symbols) if s == "..."]
            if open_at and (len(open_at) > 1 or open_at[0] not in (0, len(symbols) - 1)):
                raise ValueError(
                    f"{text}assert_shapes: '*' or '...' may stand once, first or last; got {wanted}."
                )
            symbols = [s for s in symbols if s != "..."]
            static = x.shape
            if static.dims is not None:
                rank = len(static.dims)
                if rank < len(symbols) or (rank > len(symbols) and not open_at):
                    least = " at least" if open_at else ""
                    raise ValueError(
                        f"{text}{x.name}: the rank must be{least} {len(symbols)} for the shape "
                        f"{wanted}, got shape {static}."
                    )
            else:
                check = assert_rank_at_least if open_at else assert_rank
                checks.append(check(x, len(symbols), data, summarize, message))
            first = -len(symbols) if open_at and open_at[0] == 0 else 0
            dynamic = None
            for i, symbol in enumerate(symbols, first):
                if symbol in (None, "."):
                    continue
                known = None if static.dims is None else static.as_list()[i]
                number = int(symbol) if str(symbol).isdigit() else None
                if known is not None:
                    needed, other = sizes.setdefault(str(symbol), (known, x))
                    needed = needed if number is None else number
                    if known != needed:
                        where = "" if number is not None else f" as in {other.name}"
                        raise ValueError(
                            f"{text}{x.name}: axis {i % len(static.dims)} is {known}, but "
                            f"{symbol!r} is {needed}{where}; the shapes are {pairs}."
                        )
                if dynamic is None:
                    dynamic = shape_of(x)
                size = convert_to_tensor(known) if known is not None else dynamic[i]
                first_size = number if number is not None else tensors.setdefault(str(symbol), size)
                if size is first_size or (known is not None and number is not None):
                    continue
                shown = data or [
                    f"{text}assert_shapes: {x.name}, axis {i}: {symbol!r} must be ",
                    convert_to_tensor(first_size),
                    "got",
                    size,
                ]
                checks.append(assert_equal(size, first_size, shown, summarize))
        return group(*[c for c in checks if c is not None])
