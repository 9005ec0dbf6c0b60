"""The variables of a graph by full name: found, checked against what is asked for, or made."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import eager_graph
from dataflow.graph.type_aliases import DynamicShapeLike, InitializerLike
from dataflow.ops.partition_info import PartitionInfo as _PartitionInfo
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.partitioners import partitions_of
from dataflow.ops.variable_replication import VariableSynchronization, check_read_only
from dataflow.ops.variables import SaveSliceInfo, Variable
from dataflow.shapes import TensorShape

_AUXILIARY = "variable_store"


class _ReuseMode:
    """``AUTO_REUSE``: use the variable where it exists, else make it."""

    def __repr__(self) -> str:
        return "tf.AUTO_REUSE"


AUTO_REUSE = _ReuseMode()


class _VariableStore:
    """Variables of one graph by full name.

    With eager execution none are kept, unless an `EagerVariableStore` is in force: a variable lives
    as long as its program holds it, and `get_variable` makes a new one each time.
    """

    def __init__(self, keeps_variables: bool = True) -> None:
        self.keeps_variables = keeps_variables
        self.variables: dict[str, Variable] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        self.scope_counts: dict[str, int] = {}

    def forget_names(self) -> None:
        """Numbers scopes from the start."""
        self.scope_counts.clear()


def variable_store() -> _VariableStore:
    """What `get_variable` knows of the default graph."""
    graph = default_graph()
    found: _VariableStore | None = graph.attachments.get(_AUXILIARY)
    if found is None:
        if graph.traces_function:
            found = _store_of_functions()
        else:
            found = _VariableStore(keeps_variables=not graph.executes_eagerly)
        graph.attachments[_AUXILIARY] = found
    return found


def _store_of_functions() -> _VariableStore:
    """What all functions of eager code share: the `EagerVariableStore` in force, else one of theirs."""
    outer: _VariableStore | None = (attachments := eager_graph().attachments).get(_AUXILIARY)
    if outer is not None and outer.keeps_variables:
        return outer
    return attachments.setdefault("variables_of_functions", _VariableStore())  # type: ignore[no-any-return]


class EagerVariableStore:
    """Lets functions that make variables by name share them, with eager execution.

    Within ``with store.as_default():`` `get_variable` and `tf.layers` find those that were made before.
    """

    def __init__(self, store: Any = None) -> None:
        self._store = _VariableStore() if store is None else store

    @classmethod
    def in_force(cls) -> EagerVariableStore | None:
        """The store of the block around, where there is one."""
        return cls(variable_store()) if variable_store().keeps_variables else None

    @contextlib.contextmanager
    def as_default(self, counts_anew: bool = False) -> Iterator[None]:
        """The block in which variables are shared; ``counts_anew``: scopes in it get the names of earlier blocks."""
        attachments = default_graph().attachments
        before = variable_store()
        attachments[_AUXILIARY] = self._store
        if counts_anew and before is not self._store:
            self._store.scope_counts.clear()
        try:
            yield
        finally:
            attachments[_AUXILIARY] = before

    def variables(self) -> list[Variable]:
        """The variables, by name."""
        return [v for _, v in sorted(self._store.variables.items())]

    def trainable_variables(self) -> list[Variable]:
        """Those that can be trained, by name."""
        return [v for v in self.variables() if v.trainable]

    def non_trainable_variables(self) -> list[Variable]:
        """The others, by name."""
        return [v for v in self.variables() if not v.trainable]

    def copy(self) -> EagerVariableStore:
        """A store with new variables of the same values."""
        result = EagerVariableStore()
        for name, variable in self._store.variables.items():
            result._store.variables[name] = Variable(
                variable.read_value(), trainable=variable.trainable, name=name
            )
        return result


def get_or_make(
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Any = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """The variable of this full name; the arguments are `tf.get_variable`'s."""
    settings = {
        "trainable": trainable,
        "collections": collections,
        "caching_device": caching_device,
        "validate_shape": validate_shape,
        "use_resource": use_resource,
        "constraint": constraint,
        "synchronization": synchronization,
        "aggregation": aggregation,
    }
    check_read_only(synchronization, trainable, name)
    store = variable_store()
    if default_graph().executes_eagerly:
        reuse = AUTO_REUSE if store.keeps_variables else False
    dtype = as_dtype(dtype)
    is_scalar = shape is not None and shapes.as_dims(shape) == ()  # cannot be cut
    shares_parts = reuse is True and partitioner is None and name in store.partitioned
    if (partitioner is not None and not is_scalar) or shares_parts:
        return get_partitioned(
            name, shape, dtype, initializer, regularizer, reuse, partitioner, settings
        )
    if f"{name}/part_0" in store.variables:
        raise ValueError(
            f"No partitioner was provided, but a partitioned version of the variable was found: "
            f"{name}/part_0. Pass reuse=True, or the same partitioner, to share it."
        )
    return _get_single(name, shape, dtype, initializer, regularizer, reuse, settings)


def _get_single(
    name: str,
    shape: Any,
    dtype: DType,
    initializer: Any,
    regularizer: Any,
    reuse: Any,
    settings: Mapping[str, Any],
    partition_info: _PartitionInfo | None = None,
) -> Variable:
    """A variable in one piece; ``settings`` are arguments of `Variable`."""
    store = variable_store()
    found = store.variables.get(name)
    if found is not None:
        _check_shared(found, name, shape, dtype, reuse)
        return found
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). "
            "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    dims = shapes.as_dims(shape)
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    variable_dtype: DType | None = dtype
    if callable(initializer):
        initial_value = _initial_value_function(name, initializer, dims, dtype, partition_info)
    else:
        initial_value = initializer
        variable_dtype = None  # the value's own: an initializer of 0 makes an int32 variable
        if dims is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
    if settings["trainable"] is None:
        on_read = settings["synchronization"] is VariableSynchronization.ON_READ
        settings = {**settings, "trainable": not on_read}
    variable = Variable(initial_value, name=name, dtype=variable_dtype, **settings)
    if store.keeps_variables:
        store.variables[name] = variable
    if regularizer is not None:
        _add_regularization_loss(variable, name, regularizer)
    return variable


def _check_shared(
    found: Variable, name: str, shape: DynamicShapeLike | None, dtype: DType, reuse: bool | None
) -> None:
    """Raises `ValueError` where ``found`` is not what `get_variable` was asked for."""
    if reuse is False or reuse is None:
        again = ""
        if any(frame.cell is not None for frame in found.op.traceback):
            again = (
                " In a notebook, a cell that is run again adds to the same graph: begin the graph's "
                "first cell with tf.reset_default_graph(), and make the session anew."
            )
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at {found.op.built_at}.{again}"
        )
    if shape is not None and not shapes.compatible(
        shapes.as_dims(shape), shapes.as_dims(found.shape)
    ):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {TensorShape(shape)} "
            f"and found shape {found.shape}."
        )
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} "
            f"and found dtype {found.dtype.name}."
        )


def _add_regularization_loss(
    variable: Variable, name: str, regularizer: Callable[[Variable], Any]
) -> None:
    graph = default_graph()
    with graph.colocate_with(variable.op), graph.name_scope(name + "/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _takes_no_arguments(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return not any(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in parameters
    )


def _initial_value_function(
    name: str, initializer: Any, dims: Any, dtype: DType, partition_info: _PartitionInfo | None
) -> Callable[[], Any]:
    """What makes the first value: the initializer, called with what it takes of shape and dtype."""
    if isinstance(initializer, type):  # ``tf.zeros_initializer`` stands for an instance of it
        initializer = initializer()
    if dims is None or None in dims:
        if not _takes_no_arguments(initializer):
            raise ValueError(
                f"Shape of a new variable ({name}) must be fully defined, but instead was "
                f"{TensorShape(dims)}."
            )
        return initializer  # type: ignore[no-any-return]

    def make() -> Any:
        try:
            names = set(inspect.signature(initializer).parameters)
        except (TypeError, ValueError):
            names = {"shape", "dtype"}
        arguments: dict[str, Any] = {}
        if "dtype" in names or "kwargs" in names:
            arguments["dtype"] = dtype.base_dtype
        if "partition_info" in names:
            arguments["partition_info"] = partition_info
        if not names:
            return initializer()
        return initializer(list(dims), **arguments)

    return make


def _default_initializer(name: str, dtype: DType) -> Any:
    from dataflow.ops import initializers

    if dtype.is_floating:
        return initializers.glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype.is_complex or dtype.kind == "S":
        return initializers.zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype.name} is required")


def _check_shared_parts(
    found: PartitionedVariable, dims: Any, dtype: DType, partitions: list[int] | None, reuse: bool
) -> None:
    """Raises `ValueError` where ``found`` is not what `get_variable` was asked for."""
    if not reuse:
        raise ValueError(
            f"Partitioned variable with name {found.name} already exists. Did you mean to set "
            "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        )
    if not shapes.compatible(dims, shapes.as_dims(found.shape)):
        raise ValueError(
            f"Trying to reuse partitioned variable {found.name}, but specified shape "
            f"{TensorShape(dims)} and found shape {found.shape}."
        )
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(
            f"Trying to reuse partitioned variable {found.name}, but specified dtype {dtype.name} "
            f"and found dtype {found.dtype.name}."
        )
    if partitions is not None and partitions != found.partitions:
        raise ValueError(
            f"Trying to reuse partitioned variable {found.name}, but specified partitions "
            f"{partitions} and found partitions {found.partitions}."
        )


def get_partitioned(
    name: str,
    shape: DynamicShapeLike,
    dtype: DType,
    initializer: InitializerLike,
    regularizer: Any,
    reuse: Any,
    partitioner: Callable[..., Any] | None,
    settings: Mapping[str, Any],
) -> PartitionedVariable:
    """A variable in parts, as ``partitioner`` cuts it; ``settings`` are arguments of `Variable`."""
    store = variable_store()
    if name in store.variables:
        raise ValueError(
            f"A partitioner was provided, but an unpartitioned version of the variable was found: "
            f"{name}. Leave the partitioner out to share it."
        )
    dims = shapes.as_dims(shape)
    if dims is None and initializer is not None and hasattr(initializer, "shape"):
        dims = shapes.as_dims(initializer.shape)
    partitions = None
    if partitioner is not None:
        partitions = partitions_of(name, dims, dtype, partitioner)
    found = store.partitioned.get(name)
    if found is not None:
        _check_shared_parts(found, dims, dtype, partitions, reuse)
        return found
    if reuse is True:
        raise ValueError(
            f"PartitionedVariable {name} does not exist, or was not created with "
            "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
        )
    assert partitions is not None and dims is not None
    whole = [int(d) for d in dims if d is not None]
    parts: list[Variable] = []
    for i, (offsets, part_dims) in enumerate(_slices(dims, partitions)):
        part_initializer = initializer
        part_shape: list[int] | None = part_dims
        if initializer is not None and not callable(initializer):
            from dataflow.ops.array import slice_

            part_initializer, part_shape = slice_(initializer, offsets, part_dims), None
        part = _get_single(
            f"{name}/part_{i}", part_shape, dtype, part_initializer, regularizer, reuse, settings,
            _PartitionInfo(whole, offsets),
        )  # fmt: skip
        part._set_save_slice_info(SaveSliceInfo(name, whole, offsets, part_dims))
        parts.append(part)
    result = PartitionedVariable(name, dims, dtype, parts, partitions)
    store.partitioned[name] = result
    return result


def _slices(dims: Any, partitions: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """(offsets, sizes) of each part along the one axis that is cut; the first parts take the rest."""
    axis = next((i for i, p in enumerate(partitions) if p > 1), 0)
    count = partitions[axis]
    size, extra = divmod(dims[axis] or 0, count)
    offset = 0
    for i in range(count):
        offsets, part_dims = [0] * len(dims), [*dims]
        offsets[axis], part_dims[axis] = offset, size + (i < extra)
        yield offsets, part_dims
        offset += part_dims[axis]
