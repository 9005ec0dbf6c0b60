"""Stateful ops: variables and everything that assigns to them."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.registry import define_op, not_differentiable, refuse_gradient
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.shapes import Dims, Shape


@define_op("VariableV2", "-> ref: Ref(dtype)", stateful=True, is_variable=True, inline_safe=True)
def variable_op(*, shape: Shape, dtype: DType, container: str = "", shared_name: str = "") -> Dims:
    """A value that outlives a run; its output is a reference that ops may assign to.

    Shape: ``shape``. Reading it before it is assigned is a `FailedPreconditionError`.
    """
    return shape


@define_op("Variable", "-> ref: Ref(dtype)", stateful=True, is_variable=True)
def old_variable_op(
    *, shape: Shape, dtype: DType, container: str = "", shared_name: str = ""
) -> Dims:
    """The older form of VariableV2, as graphs from early versions have it.

    Shape: unknown when ``shape`` is a scalar's, which is how such graphs say "any".
    """
    return shape or None


@define_op("TemporaryVariable", "-> ref: Ref(dtype)", stateful=True, is_variable=True)
def temporary_variable_op(*, shape: Shape, dtype: DType, var_name: str = "") -> Dims:
    """A variable for the time of one step; DestroyTemporaryVariable ends it."""
    return shape


@define_op("DestroyTemporaryVariable", "ref: Ref(T) -> value: T", stateful=True)
def destroy_temporary_variable(ref: Tensor, *, var_name: str) -> Dims:
    """The last value of a temporary variable, which is dropped."""
    return ref.dims


def _same_shape(ref: Tensor, value: Tensor, what: str) -> Dims:
    if not shapes.compatible(ref.dims, value.dims):
        raise ValueError(
            f"{what}: the variable has shape {shapes.list_dims(ref.dims)}, "
            f"the value {shapes.list_dims(value.dims)}\n"
            "Reshape the value, or use tf.assign(..., validate_shape=False) to change the shape."
        )
    return shapes.merge(ref.dims, value.dims)


@define_op("Assign", "ref: Ref(T), value: T -> output_ref: Ref(T)", inline_safe=True)
def assign_op(
    ref: Tensor, value: Tensor, *, validate_shape: bool = True, use_locking: bool = True
) -> Dims:
    """Gives a variable a new value; the output is the variable.

    Shape: that of the value; with ``validate_shape`` the variable's must be the same.
    """
    if not validate_shape:
        return value.dims
    return _same_shape(ref, value, "cannot assign")


@define_op(
    "AssignAdd", "ref: Ref(T), value: T -> output_ref: Ref(T)", T=dtypes.NUMBERS, inline_safe=True
)
def assign_add_op(ref: Tensor, value: Tensor, *, use_locking: bool = False) -> Dims:
    """Adds to a variable; the output is the variable. Shape: the variable's."""
    return _same_shape(ref, value, "cannot add")


@define_op(
    "AssignSub", "ref: Ref(T), value: T -> output_ref: Ref(T)", T=dtypes.NUMBERS, inline_safe=True
)
def assign_sub_op(ref: Tensor, value: Tensor, *, use_locking: bool = False) -> Dims:
    """Subtracts from a variable; the output is the variable. Shape: the variable's."""
    return _same_shape(ref, value, "cannot subtract")


@define_op(
    "IsVariableInitialized",
    "ref: Ref(dtype) -> is_initialized: bool",
    host_outputs=("is_initialized",),
)
def is_variable_initialized_op(ref: Tensor) -> Dims:
    """Whether a variable has a value. Shape: scalar. Dtype: bool."""
    return ()


@define_op("CountUpTo", "ref: Ref(T) -> output: T", T=dtypes.INDICES)
def count_up_to_op(ref: Tensor, *, limit: int) -> Dims:
    """Adds 1 to a scalar variable and returns the old value.

    At ``limit`` it is an `OutOfRangeError`. Shape: scalar.
    """
    if ref.dims is not None and ref.dims != ():
        raise ValueError(f"needs a scalar variable, got shape {shapes.list_dims(ref.dims)}")
    return ()


def _scatter_shape(ref: Tensor, indices: Tensor, updates: Tensor) -> Dims:
    if ref.dims is not None and indices.dims is not None and updates.dims is not None:
        wanted = indices.dims + ref.dims[1:]
        if updates.dims != () and not shapes.compatible(wanted, updates.dims):
            raise ValueError(
                f"updates have shape {shapes.list_dims(updates.dims)}, needed {shapes.list_dims(wanted)}\n"
                "updates must be indices.shape + variable.shape[1:]."
            )
    return ref.dims


def _define_scatter(op_type: str, what: str, **traits: Any) -> Any:
    def rule(ref: Tensor, indices: Tensor, updates: Tensor, *, use_locking: bool = False) -> Dims:
        return _scatter_shape(ref, indices, updates)

    rule.__doc__ = (
        f"{what} Rows are named by ``indices`` (repeated ones count in order).\n\n"
        "Shape: the variable's; ``updates`` has shape indices.shape + variable.shape[1:], or is a "
        "scalar."
    )
    rule.__name__ = op_type
    rule.__kwdefaults__ = {"use_locking": op_type == "ScatterUpdate"}
    rule.__annotations__ = {"use_locking": "bool"}
    allowed: dict[str, Any] = {"Tindices": dtypes.INDICES}
    if op_type != "ScatterUpdate":
        allowed["T"] = dtypes.NUMBERS
    return define_op(
        op_type,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        inline_safe=True,
        **allowed,
        **traits,
    )(rule)


_GPU = {"skips_negative_rows": True}
scatter_update_op = _define_scatter("ScatterUpdate", "Replaces rows of a variable.", **_GPU)
scatter_add_op = _define_scatter("ScatterAdd", "Adds to rows of a variable.", **_GPU)
scatter_sub_op = _define_scatter("ScatterSub", "Subtracts from rows of a variable.", **_GPU)
scatter_mul_op = _define_scatter("ScatterMul", "Multiplies rows of a variable.")
scatter_div_op = _define_scatter("ScatterDiv", "Divides rows of a variable.")
scatter_min_op = _define_scatter("ScatterMin", "Keeps the smaller of row and update.")
scatter_max_op = _define_scatter("ScatterMax", "Keeps the larger of row and update.")


def _define_scatter_nd(op_type: str, what: str) -> Any:
    def rule(ref: Tensor, indices: Tensor, updates: Tensor, *, use_locking: bool = False) -> Dims:
        if ref.dims is not None and indices.dims and updates.dims is not None:
            depth = indices.dims[-1]
            if depth is not None:
                if depth > len(ref.dims):
                    raise ValueError(
                        f"indices address {depth} axes, the variable has {len(ref.dims)}"
                    )
                wanted = indices.dims[:-1] + ref.dims[depth:]
                if not shapes.compatible(wanted, updates.dims):
                    raise ValueError(
                        f"updates have shape {shapes.list_dims(updates.dims)}, "
                        f"needed {shapes.list_dims(wanted)}"
                    )
        return ref.dims

    rule.__doc__ = (
        f"{what} Each row of ``indices`` (its last axis) names an element or slice.\n\n"
        "Shape: the variable's; ``updates`` has shape indices.shape[:-1] + variable.shape[depth:]."
    )
    rule.__name__ = op_type
    rule.__kwdefaults__ = {"use_locking": op_type == "ScatterNdUpdate"}
    rule.__annotations__ = {"use_locking": "bool"}
    return define_op(
        op_type,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        Tindices=dtypes.INDICES,
    )(rule)


scatter_nd_update_op = _define_scatter_nd("ScatterNdUpdate", "Replaces slices of a variable.")
scatter_nd_add_op = _define_scatter_nd("ScatterNdAdd", "Adds to slices of a variable.")
scatter_nd_sub_op = _define_scatter_nd("ScatterNdSub", "Subtracts from slices of a variable.")

not_differentiable(
    variable_op,
    old_variable_op,
    temporary_variable_op,
    destroy_temporary_variable,
    assign_op,
    assign_add_op,
    assign_sub_op,
    is_variable_initialized_op,
    count_up_to_op,
    scatter_add_op,
    scatter_sub_op,
    scatter_mul_op,
    scatter_div_op,
    scatter_nd_update_op,
    scatter_nd_add_op,
    scatter_nd_sub_op,
)
refuse_gradient(scatter_update_op, scatter_min_op, scatter_max_op)


def _reference(ref: Any) -> Any:
    """The reference tensor of a variable (or the tensor given)."""
    return ref._ref() if hasattr(ref, "_ref") else ref


def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: Any = None,
    use_locking: Any = None,
    name: str | None = None,
) -> Tensor:
    """Assigns ``value`` to the variable ``ref``; returns the variable's new value when run.

    ``ref`` may be a slice of a variable (``v[1:3]``): that part is assigned.
    """
    if isinstance(ref, Tensor) and not ref.dtype.is_ref and hasattr(ref, "assign"):
        return ref.assign(value, name=name)  # type: ignore[no-any-return]
    return assign_op(  # type: ignore[no-any-return]
        _reference(ref),
        value,
        validate_shape=True if validate_shape is None else validate_shape,
        use_locking=True if use_locking is None else use_locking,
        name=name,
    )


def assign_add(
    ref: TensorLike, value: TensorLike, use_locking: Any = None, name: str | None = None
) -> Tensor:
    """Adds ``value`` to the variable ``ref``; returns the new value when run."""
    return assign_add_op(_reference(ref), value, use_locking=bool(use_locking), name=name)  # type: ignore[no-any-return]


def assign_sub(
    ref: TensorLike, value: TensorLike, use_locking: Any = None, name: str | None = None
) -> Tensor:
    """Subtracts ``value`` from the variable ``ref``; returns the new value when run."""
    return assign_sub_op(_reference(ref), value, use_locking=bool(use_locking), name=name)  # type: ignore[no-any-return]


def count_up_to(ref: TensorLike, limit: int, name: str | None = None) -> Tensor:
    """Adds 1 to ``ref`` and gives the old value; `OutOfRangeError` once it is ``limit``."""
    return count_up_to_op(_reference(ref), limit=limit, name=name)  # type: ignore[no-any-return]


def is_variable_initialized(ref: TensorLike, name: str | None = None) -> Tensor:
    """Whether ``ref`` has a value in the session that runs this."""
    return is_variable_initialized_op(_reference(ref), name=name)  # type: ignore[no-any-return]


def _scatter(op: Any, default_locking: bool) -> Any:
    def scatter(
        ref: Any,
        indices: Any,
        updates: Any,
        use_locking: bool = default_locking,
        name: str | None = None,
    ) -> Tensor:
        return op(_reference(ref), indices, updates, use_locking=use_locking, name=name)  # type: ignore[no-any-return]

    scatter.__name__ = scatter.__qualname__ = op.__name__
    scatter.__doc__ = op.__doc__
    return scatter


scatter_update = _scatter(scatter_update_op, True)
scatter_add = _scatter(scatter_add_op, False)
scatter_sub = _scatter(scatter_sub_op, False)
scatter_mul = _scatter(scatter_mul_op, False)
scatter_div = _scatter(scatter_div_op, False)
scatter_min = _scatter(scatter_min_op, False)
scatter_max = _scatter(scatter_max_op, False)
scatter_nd_update = _scatter(scatter_nd_update_op, True)
scatter_nd_add = _scatter(scatter_nd_add_op, False)
scatter_nd_sub = _scatter(scatter_nd_sub_op, False)


def batch_scatter_update(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Replaces rows of each element of a batch: ``ref[b, indices[b, i]] = updates[b, i]``.

    ``indices``: [..., n], its first axes those of ``ref``; ``updates``: the shape of ``indices`` and
    then the axes of ``ref`` after the one that is indexed. Returns the variable's new value.
    """
    from dataflow.graph.conversion import convert_to_tensor
    from dataflow.graph.name_scopes import op_scope
    from dataflow.ops.broadcasting import broadcast_to
    from dataflow.ops.concat_split import stack
    from dataflow.ops.reshape import reshape
    from dataflow.ops.sequences import range_
    from dataflow.ops.shape import shape

    with op_scope(name, "batch_scatter_update", [indices, updates]):
        indices = convert_to_tensor(indices, name="indices")
        if not indices.dims:
            raise ValueError(
                f"indices must be of known rank and at least a vector, got shape {indices.shape}"
            )
        rank, sizes = len(indices.dims), shape(indices, out_type=indices.dtype)
        coordinates = []
        for axis in range(rank - 1):
            numbers = range_(sizes[axis])
            column = reshape(numbers, [-1 if i == axis else 1 for i in range(rank)])
            coordinates.append(broadcast_to(column, sizes))
        return scatter_nd_update(  # type: ignore[no-any-return]
            ref, stack([*coordinates, indices], -1), updates, use_locking=use_locking
        )
