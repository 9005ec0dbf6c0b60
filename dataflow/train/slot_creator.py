"""Slots: variables that belong to another one, such as its momentum, named ``W/Momentum``."""

from __future__ import annotations

from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, InitializerLike
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.resource_variables import is_resource_variable
from dataflow.ops.variable_scope import get_variable, get_variable_scope, variable_scope
from dataflow.ops.variables import SaveSliceInfo, Variable


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Variable:
    """A variable with the initial value ``val``, named ``<primary>/<name>``."""
    static = val.dims is not None and None not in val.dims if isinstance(val, Tensor) else True
    return _create(primary, val, name, static, None, None, colocate_with_primary)


def create_slot_with_initializer(
    primary: Any,
    initializer: InitializerLike,
    shape: Any,
    dtype: DTypeLike,
    name: str,
    colocate_with_primary: bool = True,
) -> Variable:
    """A variable with the given initializer, shape and dtype, named ``<primary>/<name>``."""
    dims = getattr(shape, "_dims", shape)
    static = dims is not None and None not in dims
    return _create(primary, initializer, name, static, shape, dtype, colocate_with_primary)


def create_zeros_slot(
    primary: Any, name: str, dtype: DTypeLike | None = None, colocate_with_primary: bool = True
) -> Variable:
    """A variable of zeros with the shape of ``primary``, also where that is known only later."""
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, zeros_initializer(), shape, dtype, name, colocate_with_primary
        )
    from dataflow.ops import array

    if isinstance(primary, Variable):
        slot_shape = array.shape(primary.initialized_value())
    else:
        slot_shape = array.shape(primary)
    return create_slot(primary, array.zeros(slot_shape, dtype), name, colocate_with_primary)


def _create(
    primary: Any,
    initializer: Any,
    name: str,
    validate_shape: bool,
    shape: Any,
    dtype: Any,
    colocate: bool,
) -> Variable:
    graph = default_graph()
    scope = f"{primary.op.name}/{name}"
    with variable_scope(None, scope):
        if not colocate:
            return _variable(primary, initializer, validate_shape, shape, dtype)
        with graph.colocate_with(primary.op):
            return _variable(primary, initializer, validate_shape, shape, dtype)


def _variable(
    primary: Any, initializer: InitializerLike, validate_shape: bool, shape: Any, dtype: DTypeLike
) -> Variable:
    scope = get_variable_scope()
    partitioner = scope.partitioner
    scope.set_partitioner(None)  # a slot has exactly the shape of its variable
    try:
        slot = get_variable(
            "",
            initializer=initializer,
            trainable=False,
            shape=shape,
            dtype=dtype,
            validate_shape=validate_shape,
            use_resource=is_resource_variable(primary),
        )
    finally:
        scope.set_partitioner(partitioner)
    info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None:
        own = slot.op.name[len(primary.op.name) + 1 :]
        slot._set_save_slice_info(
            SaveSliceInfo(
                f"{info.full_name}/{own}",
                list(info.full_shape),
                list(info.var_offset),
                list(info.var_shape),
            )
        )
    return slot  # type: ignore[no-any-return]
