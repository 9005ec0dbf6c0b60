"""The `assert_*` functions about ranks and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.assertions import assert_equal, dense_as_tensor
from dataflow.ops.logging_ops import Assert
from dataflow.ops.static_value import static_value


def _rank_of(x: Any) -> int | None:
    return x.shape.ndims  # type: ignore[no-any-return]


def _assert_rank(
    x: Any, ranks: Any, holds: Any, symbol: str, data: Any, summarize: Any, message: Any, name: str
) -> Any:
    from dataflow.ops.array import rank as rank_op
    from dataflow.ops.control_flow import no_op

    with default_graph().name_scope(name):
        x = dense_as_tensor(x, "x")
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


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Any:
    """``tensor``; raises `ValueError` when it is known not to be a scalar."""
    with default_graph().name_scope(name or "assert_scalar"):
        tensor = dense_as_tensor(tensor, "tensor")
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape, saw shape: {tensor.shape} for {tensor.name!r}."
            )
        return tensor


class _ShapeChecks:
    """The checks of `assert_shapes`: what is known now, and the ops for what shows when they run."""

    def __init__(
        self, pairs: list[Any], text: str, data: Any, summarize: int | None, message: str | None
    ) -> None:
        self._pairs = pairs
        self._text = text
        self._data = data
        self._summarize = summarize
        self._message = message
        self.ops: list[Any] = []
        #: Static sizes by symbol, with the tensor that has it; and the first size of each as a tensor.
        self._sizes: dict[str, tuple[int, Any]] = {}
        self._tensors: dict[str, Any] = {}

    def add(self, value: Any, wanted: Any) -> None:
        """Check one tensor: its rank, then the axes that have a number or a symbol."""
        from dataflow.ops.array import shape as shape_of

        x = dense_as_tensor(value, "x")
        if wanted is None:
            return
        wanted = tuple(wanted) if isinstance(wanted, (list, tuple, str)) else (wanted,)
        for symbol in wanted:
            if not isinstance(symbol, (int, np.integer, str, type(None), type(Ellipsis))):
                raise ValueError(
                    f"{self._text}assert_shapes: a shape has ints, symbols such as 'N', or None; got "
                    f"{symbol!r} in {wanted}."
                )
        symbols = ["..." if s in ("*", "...", Ellipsis) else s for s in wanted]
        open_at = [i for i, s in enumerate(symbols) if s == "..."]
        if open_at and (len(open_at) > 1 or open_at[0] not in (0, len(symbols) - 1)):
            raise ValueError(
                f"{self._text}assert_shapes: '*' or '...' may appear once, first or last; got {wanted}."
            )
        symbols = [s for s in symbols if s != "..."]
        self._check_rank(x, symbols, wanted, bool(open_at))
        first = -len(symbols) if open_at and open_at[0] == 0 else 0
        dynamic = None
        for i, symbol in enumerate(symbols, first):
            if symbol in (None, "."):
                continue
            known = None if x.shape.dims is None else x.shape.as_list()[i]
            number = int(symbol) if str(symbol).isdigit() else None
            if known is not None:
                self._check_static(x, i, symbol, known, number)
            if dynamic is None:
                dynamic = shape_of(x)
            size = convert_to_tensor(known) if known is not None else dynamic[i]
            needed = number if number is not None else self._tensors.setdefault(str(symbol), size)
            if size is needed or (known is not None and number is not None):
                continue
            shown = self._data or [
                f"{self._text}assert_shapes: {x.name}, axis {i}: {symbol!r} must be ",
                convert_to_tensor(needed),
                "got",
                size,
            ]
            self.ops.append(assert_equal(size, needed, shown, self._summarize))

    def _check_rank(self, x: Any, symbols: list[Any], wanted: Any, is_open: bool) -> None:
        if x.shape.dims is None:
            check = assert_rank_at_least if is_open else assert_rank
            self.ops.append(check(x, len(symbols), self._data, self._summarize, self._message))
            return
        rank = len(x.shape.dims)
        if rank < len(symbols) or (rank > len(symbols) and not is_open):
            least = " at least" if is_open else ""
            raise ValueError(
                f"{self._text}{x.name}: the rank must be{least} {len(symbols)} for the shape "
                f"{wanted}, got shape {x.shape}."
            )

    def _check_static(self, x: Any, axis: int, symbol: Any, known: int, number: int | None) -> None:
        needed, other = self._sizes.setdefault(str(symbol), (known, x))
        needed = needed if number is None else number
        if known != needed:
            where = "" if number is not None else f" as in {other.name}"
            raise ValueError(
                f"{self._text}{x.name}: axis {axis % len(x.shape.dims)} is {known}, but "
                f"{symbol!r} is {needed}{where}; the shapes are {self._pairs}."
            )


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
    or the last stands for any number of axes; None in place of a shape, for any shape. A text stands
    for its letters: "ND" is ("N", "D"). ``[(x, ("N", "D")), (y, ("N",)), (rate, ())]``.

    Raises `ValueError` at once where the static shapes do not fit, else `InvalidArgumentError` when
    it runs. ``data`` replaces what the error shows, ``message`` stands before it.
    """
    from dataflow.ops.control_flow import group

    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    text = f"{message}.  " if message else ""
    with default_graph().name_scope(name or "assert_shapes"):
        checks = _ShapeChecks(pairs, text, data, summarize, message)
        for value, wanted in pairs:
            checks.add(value, wanted)
        return group(*[c for c in checks.ops if c is not None])
