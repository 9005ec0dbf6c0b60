"""Higher-order functions: `map_fn`, `scan`, `foldl`, `foldr`, as loops over the first axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.dtypes import as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import assert_same_structure, flatten, map_structure, pack_like
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import InitializerLike
from dataflow.ops.seeds import count_left_out
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop


class _Elements:
    """The elements to go over: tensors of the same first size, one `TensorArray` for each."""

    def __init__(self, elems: Any, what: str) -> None:
        self.structure = elems
        self.tensors = [convert_to_tensor(e, name="elem") for e in flatten(elems)]
        if not self.tensors:
            raise ValueError(f"{what} needs at least one tensor in elems.")
        for tensor in self.tensors:
            if tensor.dims == ():
                raise ValueError(
                    f"{what}: elements in elems must be 1+ dimensional Tensors, not scalars: "
                    f"{tensor.name!r} has shape ()."
                )
        sizes = {t.dims[0] for t in self.tensors if t.dims is not None and t.dims[0] is not None}
        if len(sizes) > 1:
            raise ValueError(
                f"{what}: all elems must have the same first dimension, got sizes {sorted(sizes)}."
            )
        self.static_count = sizes.pop() if sizes else None
        self.count: Any = self.static_count
        if self.count is None:
            from dataflow.ops.array import shape

            self.count = shape(self.tensors[0])[0]

    def arrays(self) -> list[TensorArray]:
        """The elements in arrays, ready to be read."""
        return [
            TensorArray(
                t.dtype.base_dtype,
                size=self.count,
                dynamic_size=False,
                infer_shape=True,
            ).unstack(t)
            for t in self.tensors
        ]

    def pack(self, flat: list[Any]) -> Any:
        """``flat`` in the structure of ``elems``."""
        return pack_like(self.structure, flat)

    def stacked(self, structure: Any, outputs: list[TensorArray]) -> Any:
        """Results of all elements, [n, ...] each, in ``structure``."""
        stacked = [o.stack() for o in outputs]
        for tensor in stacked:
            if tensor.dims is not None:
                tensor.set_shape((self.static_count, *tensor.dims[1:]))
        return pack_like(structure, stacked)


def _loop_options(
    parallel_iterations: int | None, back_prop: bool, swap_memory: bool
) -> dict[str, Any]:
    """Arguments of the `while_loop` over the elements."""
    return {
        "parallel_iterations": parallel_iterations or 10,
        "back_prop": back_prop,
        "swap_memory": swap_memory,
    }


def _check(fn: Callable[..., Any]) -> None:
    if not callable(fn):
        raise TypeError("fn must be callable.")


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """``fn`` of each element along the first axis, stacked again.

    ``elems``: a tensor of shape [n, ...] or a nesting of such; ``fn`` gets one element (in that
    nesting). ``dtype``: the dtypes of what it returns, in its structure, where they differ from
    those of ``elems``, a `RaggedTensorType` for ragged results. Returns tensors of shape [n, ...].
    """
    _check(fn)
    if fn_output_signature is not None:
        dtype = fn_output_signature
    graph = default_graph()
    from dataflow.ops.ragged_map import is_ragged_map, ragged_map_fn

    loop = _loop_options(parallel_iterations, back_prop, swap_memory)
    if is_ragged_map(elems, dtype):
        with graph.name_scope(name or "map"):
            return ragged_map_fn(fn, elems, dtype, infer_shape, loop)
    with graph.name_scope(name or "map"):
        elements = _Elements(elems, "map_fn")
        structure = elements.structure if dtype is None else dtype
        kinds = (
            [t.dtype.base_dtype for t in elements.tensors]
            if dtype is None
            else [as_dtype(d) for d in flatten(dtype)]
        )
        inputs = elements.arrays()
        outputs = [
            TensorArray(k, size=elements.count, dynamic_size=False, infer_shape=infer_shape)
            for k in kinds
        ]

        def compute(i: Tensor, arrays: list[TensorArray]) -> Any:
            result = fn(elements.pack([a.read(i) for a in inputs]))
            assert_same_structure(structure, result, False)
            written = [a.write(i, v) for a, v in zip(arrays, flatten(result), strict=True)]
            return i + 1, written

        from dataflow.ops.comparison import less

        _, outputs = while_loop(
            lambda i, _: less(i, elements.count),
            compute,
            (convert_to_tensor(0), outputs),
            maximum_iterations=elements.count,
            **loop,
        )
        if elements.static_count is None:
            count_left_out(len(outputs))
        return elements.stacked(structure, outputs)


def _fold(
    fn: Any, elems: Any, initializer: Any, loop: dict[str, Any], name: str, reverse: bool
) -> Any:
    _check(fn)
    graph = default_graph()
    with graph.name_scope(name):
        elements = _Elements(elems, name)
        arrays = elements.arrays()
        n = elements.count
        if initializer is None:
            first = i = n - 1 if reverse else 0
            start = elements.pack([a.read(first) for a in arrays])
            if not reverse:
                i = 1
        else:
            start = initializer
            i = n if reverse else 0
        i = convert_to_tensor(i)
        from dataflow.ops.comparison import greater, less

        def compute(i: Tensor, accumulated: Any) -> Any:
            if reverse:
                i = i - 1
            values = elements.pack([a.read(i) for a in arrays])
            result = fn(accumulated, values)
            return (i if reverse else i + 1), result

        condition = (lambda i, _: greater(i, 0)) if reverse else (lambda i, _: less(i, n))
        start = pack_like(start, [convert_to_tensor(v) for v in flatten(start)])
        _, result = while_loop(condition, compute, (i, start), maximum_iterations=n, **loop)
        return result


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """``fn(accumulated, element)`` over the first axis, from first to last; the final value.

    Starts from ``initializer``, or from the first element.
    """
    loop = _loop_options(parallel_iterations, back_prop, swap_memory)
    return _fold(fn, elems, initializer, loop, name or "foldl", False)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """As `foldl`, from last to first."""
    loop = _loop_options(parallel_iterations, back_prop, swap_memory)
    return _fold(fn, elems, initializer, loop, name or "foldr", True)


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: InitializerLike | None = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values of ``fn(accumulated, element)`` over the first axis, stacked: shape [n, ...].

    Starts from ``initializer`` (in the structure of what ``fn`` returns), or from the first
    element. ``reverse`` goes from last to first; results stay at their elements' places.
    """
    _check(fn)
    graph = default_graph()
    with graph.name_scope(name or "scan"):
        elements = _Elements(elems, "scan")
        arrays = elements.arrays()
        n = elements.count
        from dataflow.ops.comparison import greater_equal, less

        if initializer is None:
            structure: Any = elements.structure
            first = n - 1 if reverse else 0
            accumulated = [a.read(first) for a in arrays]
            done = 1
        else:
            structure = initializer
            accumulated = [convert_to_tensor(v) for v in flatten(initializer)]
            done = 0
        outputs = [
            TensorArray(
                a.dtype.base_dtype,
                size=n,
                dynamic_size=False,
                element_shape=a.shape if infer_shape else None,
                infer_shape=infer_shape,
            )
            for a in accumulated
        ]
        if initializer is None:
            outputs = [o.write(first, a) for o, a in zip(outputs, accumulated, strict=True)]
        i = (n - 1 - done) if reverse else done
        if isinstance(n, Tensor):
            count_left_out(3 if reverse else 1)

        def compute(i: Tensor, accumulated: Any, arrays_out: Any) -> Any:
            values = elements.pack([a.read(i) for a in arrays])
            result = fn(pack_like(structure, list(accumulated)), values)
            assert_same_structure(structure, result, False)
            flat = [convert_to_tensor(v) for v in flatten(result)]
            written = [o.write(i, v) for o, v in zip(arrays_out, flat, strict=True)]
            return (i - 1 if reverse else i + 1), flat, written

        condition = (lambda i, *_: greater_equal(i, 0)) if reverse else (lambda i, *_: less(i, n))
        _, _, outputs = while_loop(
            condition,
            compute,
            (i, accumulated, outputs),
            maximum_iterations=n,
            **_loop_options(parallel_iterations, back_prop, swap_memory),
        )
        return elements.stacked(structure, outputs)


def map_rows(flat: Tensor, x: Tensor) -> Tensor:
    """The gradient of each element of the vector ``flat`` by ``x``, stacked: [size, *x.shape]."""
    from dataflow.autodiff.gradients import gradients
    from dataflow.ops.array import shape
    from dataflow.ops.comparison import less

    n = shape(flat)[0]
    rows = TensorArray(x.dtype.base_dtype, size=n)
    _, rows = while_loop(
        lambda i, _: less(i, n),
        lambda i, rows: (i + 1, rows.write(i, gradients(flat[i], x)[0])),
        (convert_to_tensor(0), rows),
    )
    return rows.stack()  # type: ignore[no-any-return]


def vectorized_map(fn: Callable[..., Any], elems: Any) -> Any:
    """``fn`` of each element along the first axis, stacked again; the dtypes are found by a trial.

    ``fn`` may take gradients of its element by what all of them were made of. (TensorFlow turns ``fn``
    into ops on whole batches; here it runs in a loop.)
    """
    from dataflow.ops.array import gather, shape
    from dataflow.ops.sequences import range_

    elems = map_structure(convert_to_tensor, elems)
    made = map_structure(
        lambda x: convert_to_tensor(x).dtype.base_dtype, fn(map_structure(lambda x: x[0], elems))
    )

    def of_element(i: Tensor) -> Any:
        return fn(map_structure(lambda x: gather(x, i), elems))

    return map_fn(of_element, range_(shape(flatten(elems)[0])[0]), dtype=made)
