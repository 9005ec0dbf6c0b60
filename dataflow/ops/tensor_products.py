"""Products over chosen axes: einsum, tensordot, cross; and norms."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import NUMBERS, REAL_NUMBERS
from dataflow.errors import ShapeError
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import conj_if_complex
from dataflow.ops.einsum_counts import num_einsum_nodes
from dataflow.ops.matmul import matmul
from dataflow.ops.reduce import prod_op, reduce_sum
from dataflow.ops.seeds import count_left_out_of_gradient, counted_as
from dataflow.ops.sequences import range_, setdiff1d
from dataflow.shapes import Dims, list_dims, merge, normalize_axis, num_elements


def _parse(equation: str) -> tuple[list[str], str]:
    left, _, right = equation.partition("->")
    return left.split(","), right


@define_op("Einsum", "inputs: N * T -> output: T", T=NUMBERS, calls_blas=True)
def einsum_op(inputs: list[Tensor], *, equation: str) -> Dims:
    """Products of the inputs summed over the labels that the result does not name.

    ``equation`` is explicit, without ellipsis: "ij,jk->ik". Shape: the sizes of the result's
    labels. Gradient: an einsum of dy and the other inputs.
    """
    if "..." in equation:  # tf.einsum writes ellipses out; graphs from elsewhere may not
        if any(tensor.dims is None for tensor in inputs):
            return None
        labels, result = _explicit(equation, inputs)
    else:
        labels, result = _parse(equation)
    if len(labels) != len(inputs):
        raise ValueError(f"the equation names {len(labels)} inputs, got {len(inputs)}")
    sizes: dict[str, int | None] = {}
    for names, tensor in zip(labels, inputs, strict=True):
        if tensor.dims is None:
            for name in names:
                sizes.setdefault(name, None)
            continue
        if len(names) != len(tensor.dims):
            raise ValueError(
                f"{names!r} names {len(names)} axes, the input has shape {list_dims(tensor.dims)}"
            )
        for name, size in zip(names, tensor.dims, strict=True):
            known = sizes.get(name)
            if known is None or known == 1:
                sizes[name] = size if size is not None or known is None else known
            elif size is not None and size not in (1, known):
                raise ValueError(f"axis {name!r} has size {known} and size {size}")
    return tuple(sizes[name] for name in result)


@einsum_op.gradient
def einsum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """For each input: dy times the conjugates of all others, with the input's labels."""
    inputs = list(op.inputs)
    equation = op.attrs["equation"]
    labels, result = _explicit(equation, inputs) if "..." in equation else _parse(equation)
    grads: list[Any] = []
    for i, own in enumerate(labels):
        if len(set(own)) != len(own):
            raise NotImplementedError(
                f"the gradient of einsum for an input with a repeated label ({own!r})"
            )
        others = [t for j, t in enumerate(inputs) if j != i]
        other_labels = [n for j, n in enumerate(labels) if j != i]
        equation = ",".join([result, *other_labels]) + "->" + own
        part = einsum_op([grad, *(conj_if_complex(t) for t in others)], equation=equation)
        dims = inputs[i].dims
        if dims is not None and part.dims is not None:
            repeated = [axis for axis, d in enumerate(dims) if d == 1 and part.dims[axis] != 1]
            if repeated:
                part = reduce_sum(part, repeated, keepdims=True)
        grads.append(part)
    return grads


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _explicit(equation: str, inputs: list[Tensor]) -> tuple[list[str], str]:
    """Labels of the inputs and of the result, with ellipses written out and the result named."""
    equation = equation.replace(" ", "")
    if equation.count("->") > 1:
        raise ValueError(f"The equation {equation!r} has more than one '->'.")
    if "->" in equation:
        left, result = equation.split("->")
    else:
        left, result = equation, None
    labels = left.split(",")
    if len(labels) != len(inputs):
        raise ValueError(
            f"Got {len(inputs)} arguments for equation {equation!r}, expecting {len(labels)}"
        )
    for part in [*labels, result or ""]:
        if part.count("...") > 1:
            raise ValueError(f"The equation {equation!r} has more than one ellipsis in {part!r}.")
    used = set(equation)
    free = [c for c in reversed(_LETTERS) if c not in used]
    width = 0
    for names, tensor in zip(labels, inputs, strict=True):
        if "..." in names:
            if tensor.dims is None:
                raise ValueError("einsum with '...' needs inputs of known rank; use set_shape")
            width = max(width, len(tensor.dims) - len(names.replace("...", "")))
    dots = "".join(free[:width])
    written = []
    for names, tensor in zip(labels, inputs, strict=True):
        if "..." in names:
            assert tensor.dims is not None
            own = len(tensor.dims) - len(names.replace("...", ""))
            names = names.replace("...", dots[width - own :])
        written.append(names)
    if result is None:
        flat = "".join(written)
        once = sorted(c for c in set(flat) if flat.count(c) == 1 and c not in dots)
        result = dots + "".join(once) if "..." in left else "".join(once)
    else:
        if dots and "..." not in result:
            raise ValueError(
                f"The result of {equation!r} needs an ellipsis, as the inputs' stands for {width} axes."
            )
        result = result.replace("...", dots)
    for name in result:
        if not any(name in names for names in written):
            raise ValueError(f"the result names {name!r}, which no input has: {equation!r}")
    for names in [*written, result]:
        if not all(c in _LETTERS for c in names):
            raise ValueError(f"Unexpected characters in the equation {equation!r}")
    return written, result


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Einstein's sum: ``tf.einsum("ij,jk->ik", a, b)`` is the matrix product.

    Labels that the result does not name are summed over; ``...`` stands for leading axes, which
    broadcast. Raises `ValueError` for an equation that does not fit the inputs.
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for this function: {', '.join(kwargs)}")
    with default_graph().name_scope(name or "einsum"):
        if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
            inputs = tuple(inputs[0])
        tensors = [convert_to_tensor(t) for t in inputs]
        labels, result = _explicit(equation, tensors)
        if len(set(result)) != len(result):
            raise ValueError(f"Einsum: the result of {equation!r} names an axis twice.")
        num_nodes = num_einsum_nodes(labels, [t.dims for t in tensors], result)
        with nullcontext() if num_nodes is None else counted_as(num_nodes):
            return _einsum(tensors, labels, result)


def _einsum(tensors: list[Tensor], labels: list[str], result: str) -> Tensor:
    # A label of one input alone is summed there first, so that gradients know its size.
    for i, names in enumerate(labels):
        others = {c for j, n in enumerate(labels) if j != i for c in n} | set(result)
        alone = [axis for axis, c in enumerate(names) if c not in others]
        if alone and len(set(names)) == len(names):
            tensors[i] = reduce_sum(tensors[i], alone)
            labels[i] = "".join(c for axis, c in enumerate(names) if axis not in alone)
    return einsum_op(tensors, equation=",".join(labels) + "->" + result, name="Einsum")  # type: ignore[no-any-return]


# ---- tensordot -----------------------------------------------------------------------------------


def _contraction_axes(a: Tensor, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, Tensor):
        from dataflow.ops.static_value import static_value

        axes = static_value(axes)
        if axes is None:
            raise ValueError("the axes of tensordot must be known when the graph is built")
    if isinstance(axes, (int, np.integer)):
        count = int(axes)
        if count < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}")
        if a.dims is None:
            raise ValueError("tensordot with a number of axes needs an `a` of known rank")
        if count > len(a.dims):
            raise ValueError(f"`axes` must not be larger than the rank of a ({len(a.dims)})")
        return list(range(len(a.dims) - count, len(a.dims))), list(range(count))
    if len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}")
    first, second = (
        [int(v)] if np.ndim(v) == 0 else [int(x) for x in v] for v in (axes[0], axes[1])
    )
    if len(first) != len(second):
        raise ValueError(f"Different number of contraction axes `a` and `b`, {first} != {second}.")
    return first, second


def _as_matrix(x: Tensor, axes: list[int], contracted_last: bool) -> tuple[Tensor, Any, Dims]:
    """x as a matrix with the contracted axes on one side; the free sizes, dynamic and static."""
    if x.dims is None:
        raise ValueError("tensordot needs inputs of known rank; use set_shape")
    rank = len(x.dims)
    axes = [normalize_axis(a, rank) for a in axes]
    free = [i for i in range(rank) if i not in axes]
    order = free + axes if contracted_last else axes + free
    static_free = tuple(x.dims[i] for i in free)
    moved = x if order == list(range(rank)) else array_ops.transpose(x, order)
    if None not in x.dims:
        num_free = num_elements(static_free)
        num_axes = num_elements(tuple(x.dims[i] for i in axes))
        shape = [num_free, num_axes] if contracted_last else [num_axes, num_free]
        if len(free) != 1 or len(axes) != 1:
            moved = array_ops.reshape(moved, shape)
        return moved, list(static_free), static_free
    sizes = array_ops.shape(x)
    free_sizes = array_ops.gather(sizes, np.array(free, np.int32))
    axis_sizes = array_ops.gather(sizes, np.array(axes, np.int32))
    parts = [prod_op(free_sizes, [0]), prod_op(axis_sizes, [0])]
    moved = array_ops.reshape(moved, array_ops.stack(parts if contracted_last else parts[::-1]))
    return moved, free_sizes, static_free


def _num_nodes_of_matrix(x: Tensor) -> int:
    """The nodes of `_as_matrix` in TensorFlow, which always transposes and reshapes."""
    return 4 if x.dims is not None and None not in x.dims else 16


def _num_left_out(x: Tensor, axes: list[int], contracted_last: bool, matrix: Tensor) -> int:
    """How many nodes more the gradient of `_as_matrix` has in TensorFlow: 2 for each step that ours leaves out."""
    if x.dims is None:
        return 0
    rank = len(x.dims)
    axes = [normalize_axis(a, rank) for a in axes]
    free = [i for i in range(rank) if i not in axes]
    is_moved = (free + axes if contracted_last else axes + free) != list(range(rank))
    return 2 * (not is_moved) + 2 * (matrix.op.type != "Reshape")


def _is_found_at_run_time(a: Tensor, b: Tensor, axes: Any) -> bool:
    from dataflow.ops.static_value import static_value

    unknown_axes = isinstance(axes, Tensor) and static_value(axes) is None
    return a.dims is None or b.dims is None or unknown_axes


def _tensordot_at_run_time(a: Tensor, b: Tensor, axes: Any, scope: str) -> Tensor:
    """`tensordot` where a rank or the axes are known only when the graph runs."""
    rank_a, rank_b = array_ops.rank(a), array_ops.rank(b)
    if not isinstance(axes, Tensor) and np.ndim(axes) == 0:
        count = int(axes)
        if count < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}")
        first: Any = range_(rank_a - count, rank_a)
        second: Any = np.arange(count, dtype=np.int32)
    else:
        first, second = (convert_to_tensor(axes[i], dtypes.int32) for i in range(2))
        if not isinstance(axes, Tensor):  # a pair of numbers
            first, second = (array_ops.reshape(part, [-1]) for part in (first, second))
    left, left_free = _matrix_at_run_time(a, rank_a, first, True)
    right, right_free = _matrix_at_run_time(b, rank_b, second, False)
    sizes = array_ops.concat([left_free, right_free], 0)
    return array_ops.reshape(matmul(left, right), sizes, name=scope)


def _matrix_at_run_time(x: Tensor, rank: Tensor, axes: Any, last: bool) -> tuple[Tensor, Tensor]:
    """As `_as_matrix`; the free sizes are a tensor."""
    axes = array_ops.where_v2(axes < 0, axes + rank, axes)
    free, _ = setdiff1d(range_(rank), axes)
    moved = array_ops.transpose(x, array_ops.concat([free, axes] if last else [axes, free], 0))
    sizes = array_ops.shape(x)
    free_sizes = array_ops.gather(sizes, free)
    parts = [prod_op(free_sizes, [0]), prod_op(array_ops.gather(sizes, axes), [0])]
    return array_ops.reshape(moved, array_ops.stack(parts if last else parts[::-1])), free_sizes


def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over ``axes``: a number (last of a, first of b) or two lists of axes.

    Shape: the other axes of a, then those of b. Raises `ValueError` for axes that do not fit.
    """
    with default_graph().name_scope(name or "Tensordot") as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, a.dtype.base_dtype, name="b")
        if _is_found_at_run_time(a, b, axes):
            return _tensordot_at_run_time(a, b, axes, scope)
        first, second = _contraction_axes(a, axes)
        if a.dims is not None and b.dims is not None:
            for i, j in zip(first, second, strict=True):
                p, q = a.dims[i], b.dims[j]
                if p is not None and q is not None and p != q:
                    raise ShapeError(
                        message=f"axis {i} of a has size {p}, axis {j} of b has size {q}; they must be "
                        "equal"
                    )
        with counted_as(_num_nodes_of_matrix(a)):
            left, left_free, left_static = _as_matrix(a, first, True)
        with counted_as(_num_nodes_of_matrix(b)):
            right, right_free, right_static = _as_matrix(b, second, False)
        product = matmul(left, right)
        count_left_out_of_gradient(
            product, (_num_left_out(a, first, True, left), _num_left_out(b, second, False, right))
        )
        assert left_static is not None
        assert right_static is not None
        if isinstance(left_free, list) and isinstance(right_free, list):
            return array_ops.reshape(product, left_free + right_free, name=scope)
        result: Tensor = array_ops.reshape(
            product, array_ops.concat([left_free, right_free], 0), name=scope
        )
        result.set_shape((*left_static, *right_static))
        return result


# ---- cross ---------------------------------------------------------------------------------------


@define_op("Cross", "a: T, b: T -> product: T", T=REAL_NUMBERS)
def cross_op(a: Tensor, b: Tensor) -> Dims:
    """The cross products of vectors of 3, along the last axis.

    Shape: [..., 3], the same for both; kept. Gradient: ``cross(b, dy)`` to a, ``cross(dy, a)`` to b.
    """
    try:
        dims = merge(a.dims, b.dims)
    except ValueError:
        raise ValueError(
            f"both must have the same shape, got {list_dims(a.dims)} and {list_dims(b.dims)}"
        ) from None
    if dims is not None and (not dims or dims[-1] not in (3, None)):
        raise ValueError(f"the last axis must have size 3, got shape {list_dims(dims)}")
    return dims


@cross_op.gradient
def cross_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a, b = op.inputs
    return [cross_op(b, grad), cross_op(grad, a)]


cross = cross_op

# ---- norms ---------------------------------------------------------------------------------------
