"""What a `Saver` saves: variables, parts of variables, and objects that say how themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow.graph.conversion import internal_convert
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.lookup import lookup_table_import_op
from dataflow.ops.lookup_tables import MutableHashTable
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.state import assign, read_variable_op, variable_of
from dataflow.ops.variables import Variable
from dataflow.shapes import TensorShape

#: Where a checkpoint of objects keeps which object has which tensor.
OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


class SaveSpec:
    """One tensor of a checkpoint: the tensor, which part of a whole it is, and its name there."""

    def __init__(
        self, tensor: Any, slice_spec: str, name: str, dtype: Any = None, device: Any = None
    ) -> None:
        self.tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self.dtype = dtype if dtype is not None else tensor.dtype
        self.device = device if device is not None else tensor.device


class SaveableObject:
    """Something to save: ``specs`` are its tensors; subclasses say how it is restored."""

    def __init__(self, op: Any, specs: list[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> Any:
        """The device of the first tensor."""
        return self.specs[0].device

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        """An op that restores the object from ``restored_tensors``, one for each spec."""
        raise NotImplementedError("Calling an abstract method.")


class VariableSaveable(SaveableObject):
    """A variable."""

    def __init__(self, var: Any, slice_spec: str, name: str) -> None:
        self._shape = TensorShape(var.dims)
        saved = var
        if var.dtype.is_handle:
            variable = variable_of(var)
            saved = (
                read_variable_op(var)
                if variable is var
                else default_graph().as_graph_element(variable)
            )
        super().__init__(
            var, [SaveSpec(saved, slice_spec, name, dtype=var.dtype.value_dtype)], name
        )

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        """Assigns the variable."""
        tensor = restored_tensors[0]
        if restored_shapes is not None:
            tensor = array.reshape(tensor, restored_shapes[0])
        if self.op.dtype.is_handle:
            with default_graph().device(self.op.device):
                tensor = array.identity(tensor)
        validate = restored_shapes is None and self._shape.is_fully_defined()
        return assign(self.op, tensor, validate_shape=validate)


class MirroredSaveable(VariableSaveable):
    """A variable with copies on several devices: the first is saved, all are restored."""

    def __init__(self, var: Any, name: str) -> None:
        super().__init__(_reference(var.copies[0]), "", name)
        self._references = [_reference(copy) for copy in var.copies]

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        """Assigns all copies."""
        from dataflow.ops.control_flow import group

        tensor = restored_tensors[0]
        if restored_shapes is not None:
            tensor = array.reshape(tensor, restored_shapes[0])
        return group(*[assign(reference, tensor) for reference in self._references])


class TableSaveable(SaveableObject):
    """A table that the graph changes: its keys and its values."""

    def __init__(self, table: MutableHashTable) -> None:
        name = table.checkpoint_name
        keys, values = table.export()
        specs = [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")]
        super().__init__(table, specs, name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Any:
        """Replaces all that the table holds."""
        handle = self.op.resource_handle
        with default_graph().device(handle.device):
            return lookup_table_import_op(handle, *restored_tensors)


def variable_saveable(var: Any, name: str) -> VariableSaveable:
    """The saveable of a whole variable."""
    if hasattr(var, "copies"):
        return MirroredSaveable(var, name)
    return VariableSaveable(_reference(var), "", name)


def _reference(item: Any) -> Tensor:
    """The reference tensor of a variable; raises `TypeError` for anything else."""
    try:
        tensor = internal_convert(item, None, None, None, True)
    except (TypeError, ValueError):
        tensor = None
    if not isinstance(tensor, Tensor) or not tensor.op.op_def.is_variable:
        raise TypeError(f"Variable to save is not a Variable: {item!r}")
    return tensor


def names_to_saveables(var_list: Any) -> dict[str, Any]:
    """A map from name in the checkpoint to variable, list of parts, or `SaveableObject`.

    Raises `TypeError` for anything but a variable, `ValueError` for two of one name.
    """
    if isinstance(var_list, dict):
        return dict(var_list)
    if not isinstance(var_list, (list, tuple, set, frozenset)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {var_list!r}")
    result: dict[str, Any] = {}

    def put(name: str, value: Any) -> None:
        if name in result:
            raise ValueError(f"At least two variables have the same name: {name}")
        result[name] = value

    for item in sorted(var_list, key=lambda v: getattr(v, "name", "")):
        if isinstance(item, MutableHashTable):
            item = TableSaveable(item)
        if isinstance(item, (SaveableObject, PartitionedVariable)):
            put(item.name, item)
            continue
        info = item._get_save_slice_info() if isinstance(item, Variable) else None
        if info is not None:
            name = info.full_name
            parts = result.setdefault(name, [])
            if not isinstance(parts, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
            parts.append(item)
            continue
        put(_reference(item).op.name, item)
    return result


def validated_saveables(var_list: Iterable[Any]) -> list[SaveableObject]:
    """`SaveableObject`s by name, each with one spec for each tensor."""
    result: list[SaveableObject] = []
    seen: set[Any] = set()
    for name, item in sorted(names_to_saveables(var_list).items()):
        if not isinstance(name, str):
            raise TypeError(f"names_to_saveables must be a dict mapping string names: {name!r}")
        if isinstance(item, SaveableObject):
            _once(seen, item, name)
            result.append(item)
        elif isinstance(item, (list, tuple, PartitionedVariable)):
            for part in item:
                info = part._get_save_slice_info() if isinstance(part, Variable) else None
                if info is None:
                    raise ValueError(f"Slices must all be slices: {part!r} of {name!r} is none")
                reference = _reference(part)
                _once(seen, reference, name)
                result.append(VariableSaveable(reference, info.spec, name))
        else:
            reference = _reference(item)
            _once(seen, reference, name)
            if hasattr(item, "copies"):
                result.append(MirroredSaveable(item, name))
                continue
            info = item._get_save_slice_info() if isinstance(item, Variable) else None
            spec = info.spec if info is not None else ""
            result.append(VariableSaveable(reference, spec, name))
    return result


def _once(seen: set[Any], key: Any, name: str) -> None:
    if key in seen:
        raise ValueError(f"The same saveable will be restored with two names: {name}")
    seen.add(key)


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """Everything that a graph wants saved: its global variables and SAVEABLE_OBJECTS."""
    from dataflow.graph.collections import GraphKeys

    graph = default_graph()
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + graph.get_collection(
        GraphKeys.SAVEABLE_OBJECTS, scope
    )
