"""Stateful ops: variables and everything that assigns to them."""

from __future__ import annotations

import weakref
from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
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


@define_op(
    "VarHandleOp", "-> resource: Handle(dtype)", stateful=True, is_variable=True, inline_safe=True
)
def var_handle_op(
    *, dtype: DType, shape: Shape, container: str = "", shared_name: str = ""
) -> Dims:
    """The handle of a resource variable, which other ops read and change it by.

    Shape: here that of the value, ``shape``; Python sees a scalar, as in TensorFlow.
    """
    return shape


@define_op(
    "ReadVariableOp", "resource: Read(dtype) -> value: dtype", is_alias=True, inline_safe=True
)
def read_variable_op(resource: Tensor) -> Dims:
    """The value of a resource variable at this time: an assignment later on does not change it.

    Shape: the variable's. Gradient: the variable's.
    """
    return resource.dims


@read_variable_op.gradient
def read_variable_gradient(op: Operation, grad: Any) -> list[Any]:
    return [grad]


# As `indexed_slices.takes_slices` does, which cannot be imported here.
read_variable_gradient.takes_slices = True  # type: ignore[attr-defined]


@define_op(
    "VariableShape",
    "input: Read(resource) -> output: out_type",
    out_type=dtypes.INDICES,
    host_outputs=("output",),
    shape_only=True,
)
def variable_shape_op(input: Tensor, *, out_type: DType = dtypes.int32) -> Dims:
    """The shape of a resource variable. Shape: [rank]. Dtype: ``out_type``."""
    return (None if input.dims is None else len(input.dims),)


@define_op("DestroyResourceOp", "resource: Handle(resource)", stateful=True)
def destroy_resource_op(resource: Tensor, *, ignore_lookup_error: bool = True) -> list[Dims]:
    """Takes a resource variable's value away; without ``ignore_lookup_error`` it must have one."""
    return []


disable_copy_on_read_op = declare_op(
    "DisableCopyOnRead",
    "resource: Handle(resource)",
    "Says that a read need not copy the variable, which it never does here: in SavedModels of TensorFlow 2.",
    stateful=True,
)


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


@define_op(
    "Assign", "ref: Ref(T), value: T -> output_ref: Ref(T)", inline_safe=True, is_assignment=True
)
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


def _define_assignment(op_type: str, what: str, **options: Any) -> Any:
    def rule(resource: Tensor, value: Tensor) -> list[Dims]:
        _same_shape(resource, value, what)
        return []

    rule.__doc__ = f"As {_REFERENCE_TWINS[op_type]}, of a resource variable. No output."
    rule.__name__ = op_type
    signature = "resource: Handle(dtype), value: dtype"
    return _twin(define_op(op_type, signature, inline_safe=True, **options)(rule))


#: By type of an op that changes a reference variable, the one that does the same to a resource variable.
RESOURCE_TWINS: dict[str, Any] = {}
_REFERENCE_TWINS = {
    "AssignVariableOp": "Assign",
    "AssignAddVariableOp": "AssignAdd",
    "AssignSubVariableOp": "AssignSub",
    "VarIsInitializedOp": "IsVariableInitialized",
}


def _twin(op: Any) -> Any:
    reference = _REFERENCE_TWINS.get(op.type, op.type.removeprefix("Resource"))
    RESOURCE_TWINS[reference] = op
    return op


assign_variable_op = _define_assignment("AssignVariableOp", "cannot assign", is_assignment=True)
assign_add_variable_op = _define_assignment(
    "AssignAddVariableOp", "cannot add", dtype=dtypes.NUMBERS
)
assign_sub_variable_op = _define_assignment(
    "AssignSubVariableOp", "cannot subtract", dtype=dtypes.NUMBERS
)


@define_op(
    "IsVariableInitialized",
    "ref: Ref(dtype) -> is_initialized: bool",
    host_outputs=("is_initialized",),
)
def is_variable_initialized_op(ref: Tensor) -> Dims:
    """Whether a variable has a value. Shape: scalar. Dtype: bool."""
    return ()


@_twin
@define_op(
    "VarIsInitializedOp",
    "resource: Handle(resource) -> is_initialized: bool",
    host_outputs=("is_initialized",),
)
def var_is_initialized_op(resource: Tensor) -> Dims:
    """Whether a resource variable has a value. Shape: scalar. Dtype: bool."""
    return ()


@define_op("CountUpTo", "ref: Ref(T) -> output: T", T=dtypes.INDICES)
def count_up_to_op(ref: Tensor, *, limit: int) -> Dims:
    """Adds 1 to a scalar variable and returns the old value.

    At ``limit`` it is an `OutOfRangeError`. Shape: scalar.
    """
    return _scalar_variable(ref)


@_twin
@define_op("ResourceCountUpTo", "resource: Handle(T) -> output: T", T=dtypes.INDICES)
def resource_count_up_to_op(resource: Tensor, *, limit: int) -> Dims:
    """As CountUpTo, of a resource variable."""
    return _scalar_variable(resource)


def _scalar_variable(ref: Tensor) -> Dims:
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
    traits.update(inline_safe=True, Tindices=dtypes.INDICES)
    allowed: dict[str, Any] = {} if op_type == "ScatterUpdate" else {"T": dtypes.NUMBERS}
    op = define_op(
        op_type,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        **allowed,
        **traits,
    )(rule)

    def resource_rule(resource: Tensor, indices: Tensor, updates: Tensor) -> list[Dims]:
        _scatter_shape(resource, indices, updates)
        return []

    resource_rule.__doc__ = f"As {op_type}, of a resource variable. No output."
    resource_rule.__name__ = f"Resource{op_type}"
    signature = "resource: Handle(dtype), indices: Tindices, updates: dtype"
    if allowed:
        traits["dtype"] = dtypes.NUMBERS
    _twin(define_op(f"Resource{op_type}", signature, **traits)(resource_rule))
    return op


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
    op = define_op(
        op_type,
        "ref: Ref(T), indices: Tindices, updates: T -> output_ref: Ref(T)",
        Tindices=dtypes.INDICES,
    )(rule)

    def resource_rule(
        ref: Tensor, indices: Tensor, updates: Tensor, *, use_locking: bool = True
    ) -> list[Dims]:
        rule(ref, indices, updates)
        return []

    resource_rule.__doc__ = f"As {op_type}, of a resource variable. No output."
    resource_rule.__name__ = f"Resource{op_type}"
    _twin(
        define_op(
            f"Resource{op_type}",
            "ref: Handle(T), indices: Tindices, updates: T",
            Tindices=dtypes.INDICES,
        )(resource_rule)
    )
    return op


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
not_differentiable(var_handle_op, variable_shape_op, destroy_resource_op, *RESOURCE_TWINS.values())


def reference(ref: Any) -> Any:
    """The reference tensor of a variable (or the tensor given)."""
    return ref._ref() if hasattr(ref, "_ref") else ref


_OF_HANDLES = "resource_variables"


def remember(handle: Tensor, variable: Any) -> None:
    """Lets `variable_of` find the variable of a handle."""
    if handle.graph.executes_eagerly:  # where names are not unique, and variables go when unused
        handle.__dict__["variable"] = weakref.ref(variable)
        return
    handle.graph.attachments.setdefault(_OF_HANDLES, {})[handle.op.name] = variable


def variable_of(reference: Tensor) -> Any:
    """The resource variable of a handle; another reference itself, as an unknown handle."""
    if (own := reference.__dict__.get("variable")) is not None:
        return own()
    known = reference.graph.attachments.get(_OF_HANDLES, {})
    return known.get(reference.op.name, reference) if reference.dtype.is_handle else reference


def change(op: Any, ref: Any, *inputs: Any, name: str | None = None, **attrs: Any) -> Any:
    """Adds the node by which ``op``, an op of reference variables, changes ``ref``.

    For a resource variable the node is of the op's twin, and the result the variable as it is
    afterwards; of a variable's handle it is the operation.
    """
    target = reference(ref)
    if not (isinstance(target, Tensor) and target.dtype.is_handle):
        return op(target, *inputs, name=name, **attrs)
    if target.graph is not (here := default_graph()):
        if not (target.graph.executes_eagerly or here.executes_eagerly or here.building_function):
            with target.graph.as_default():  # a variable's nodes stand in its graph
                return change(op, ref, *inputs, name=name, **attrs)
    twin = RESOURCE_TWINS[op.type]
    for key in op.attr_by_name.keys() - twin.attr_by_name.keys():
        attrs.pop(key, None)
    if inputs:  # what is assigned or added stands beside the node
        *others, value = inputs
        inputs = (*others, convert_to_tensor(value, target.dtype.value_dtype))
    result = twin(target, *inputs, name=name, **attrs)
    if twin.outputs or isinstance(ref, Tensor):
        return result
    return ref._lazy_read(result)


def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: Any = None,
    use_locking: Any = None,
    name: str | None = None,
) -> Any:
    """Assigns ``value`` to the variable ``ref``; returns the variable's new value when run.

    ``ref`` may be a slice of a variable (``v[1:3]``): that part is assigned.
    """
    if isinstance(ref, Tensor) and not ref.dtype.is_ref and hasattr(ref, "assign"):
        return ref.assign(value, name=name)
    return change(
        assign_op,
        ref,
        value,
        validate_shape=True if validate_shape is None else validate_shape,
        use_locking=True if use_locking is None else use_locking,
        name=name,
    )


def assign_add(
    ref: TensorLike, value: TensorLike, use_locking: Any = None, name: str | None = None
) -> Any:
    """Adds ``value`` to the variable ``ref``; returns the new value when run."""
    name = _name_of_change(ref, name)
    return change(assign_add_op, ref, value, use_locking=bool(use_locking), name=name)


def assign_sub(
    ref: TensorLike, value: TensorLike, use_locking: Any = None, name: str | None = None
) -> Any:
    """Subtracts ``value`` from the variable ``ref``; returns the new value when run."""
    name = _name_of_change(ref, name)
    return change(assign_sub_op, ref, value, use_locking=bool(use_locking), name=name)


def _name_of_change(ref: Any, name: str | None) -> str | None:
    """TensorFlow's functions leave a resource variable to name its own additions."""
    return None if hasattr(ref, "handle") else name


def count_up_to(ref: TensorLike, limit: int, name: str | None = None) -> Tensor:
    """Adds 1 to ``ref`` and gives the old value; `OutOfRangeError` once it is ``limit``."""
    return change(count_up_to_op, ref, limit=limit, name=name)  # type: ignore[no-any-return]


def is_variable_initialized(ref: TensorLike, name: str | None = None) -> Tensor:
    """Whether ``ref`` has a value in the session that runs this."""
    return change(is_variable_initialized_op, ref, name=name)  # type: ignore[no-any-return]


def _scatter(op: Any, default_locking: bool) -> Any:
    def scatter(
        ref: Any,
        indices: Any,
        updates: Any,
        use_locking: bool = default_locking,
        name: str | None = None,
    ) -> Any:
        return change(op, ref, indices, updates, use_locking=use_locking, name=name)

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
