"""Variables by what they are for: made, found by name or scope, and placed on devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.contrib.arg_scopes import add_arg_scope
from dataflow.device_spec import DeviceSpec
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import variable_scope
from dataflow.ops.resource_variables import ResourceVariable
from dataflow.ops.variables import Variable

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope

__all__ = [
    "VariableDeviceChooser",
    "add_model_variable",
    "filter_variables",
    "get_local_variables",
    "get_model_variables",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "local_variable",
    "model_variable",
    "variable",
]


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """`tf.get_variable` on ``device``, a name or a function of the variable's op.

    ``collections`` are those of `tf.get_variable`, GLOBAL_VARIABLES by default, each once.
    """
    collections = list(collections) if collections is not None else [GraphKeys.GLOBAL_VARIABLES]
    with default_graph().device(device or ""):
        return variable_scope.get_variable(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(collections)),
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=custom_getter,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: DTypeLike = dtypes.float32,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """A `variable` that `get_model_variables` lists, too."""
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=[
            *(collections or []),
            GraphKeys.GLOBAL_VARIABLES,
            GraphKeys.MODEL_VARIABLES,
        ],
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def _beside(
    collection: str,
    initial_value: Any,
    validate_shape: bool,
    name: str | None,
    use_resource: bool | None,
) -> Any:
    """A variable that is not trained, in this collection alone."""
    kind = ResourceVariable if use_resource else Variable
    return kind(
        initial_value,
        trainable=False,
        collections=[collection],
        validate_shape=validate_shape,
        name=name,
    )


def local_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Any:
    """A variable of `tf.local_variables`: not saved, not trained."""
    return _beside(GraphKeys.LOCAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def global_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Any:
    """A variable of `tf.global_variables` that is saved and not trained."""
    return _beside(GraphKeys.GLOBAL_VARIABLES, initial_value, validate_shape, name, use_resource)


def add_model_variable(var: Variable) -> None:
    """Lets `get_model_variables` list ``var``, once."""
    there = default_graph().get_collection_ref(GraphKeys.MODEL_VARIABLES)
    if not any(v is var for v in there):
        there.append(var)


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Variables of a scope whose names end with ``suffix``."""
    name = getattr(scope, "name", scope)
    found = default_graph().get_collection(collection, name)
    if suffix is not None:
        found = [v for v in found if v.op.name.endswith(suffix)]
    return found


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The variables of the scopes in ``include``, without those in ``exclude``.

    Raises `TypeError` where one of them is no list or tuple.
    """
    for name, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, (list, tuple)):
            raise TypeError(f"{name} is a list or a tuple of scopes, got {scopes!r}")
    chosen = get_variables() if include is None else [v for s in include for v in get_variables(s)]
    left_out = [v for s in exclude or [] for v in get_variables(s)]
    return [v for v in chosen if v not in left_out]


def get_model_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Any]:
    """Variables that the layers of `tf.contrib.layers` made, averages of statistics included."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_trainable_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Any]:
    """The variables of a scope that are trained."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_local_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Any]:
    """The local variables of a scope."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: str | VariableScope | None = None) -> list[Any]:
    """The variables of a scope whose names end with ``suffix``."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: str | VariableScope | None = None) -> list[Any]:
    """The variables of a scope whose last name is ``given_name``: "weights", "conv1/weights"."""
    return [v for v in get_variables(scope) if f"/{v.op.name}".endswith(f"/{given_name}")]


def get_unique_variable(var_op_name: str) -> Any:
    """The variable with the name "scope/weights"; raises `ValueError` when there is none."""
    candidates = get_variables(scope=var_op_name)
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable.")


def get_variable_full_name(var: Any) -> str:
    """The name under which a checkpoint has ``var``, the whole one for a part of a variable."""
    info = getattr(var, "_save_slice_info", None)
    return str(info.full_name if info else var.op.name)


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Any = None,
    exclude_patterns: Any = None,
    reg_search: bool = True,
) -> list[Any]:
    """The variables whose names match a pattern of ``include_patterns`` and none of the others.

    Patterns are regular expressions, looked for anywhere in the name (``reg_search``) or at its
    beginning. No ``include_patterns`` takes all.
    """
    found = re.search if reg_search else re.match

    def matches(patterns: Any, name: str) -> bool:
        return any(found(pattern, name) for pattern in patterns)

    chosen = [v for v in var_list if not include_patterns or matches(include_patterns, v.op.name)]
    return [v for v in chosen if not exclude_patterns or not matches(exclude_patterns, v.op.name)]


class VariableDeviceChooser:
    """A device function for variables: parameter servers in turn, or one device of this machine.

    With ``num_tasks`` servers the n-th variable is on task n % num_tasks of ``job_name``.
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int | None = 0,
        replica: int | None = None,
    ) -> None:
        self._job_name = job_name
        self._device_type = device_type
        self._device_index = device_index
        self._replica = replica
        self._num_tasks = num_tasks
        self._next_task_id = 0

    def __call__(self, op: Any) -> str:
        spec = DeviceSpec(
            replica=self._replica, device_type=self._device_type, device_index=self._device_index
        )
        if self._num_tasks > 0:
            spec.job, spec.task = self._job_name, self._next_task_id
            self._next_task_id = (self._next_task_id + 1) % self._num_tasks
        return str(spec.to_string())
