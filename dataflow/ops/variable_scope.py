"""`get_variable` and `variable_scope`: variables by name, made once and shared on request."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import array_of
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, InitializerLike
from dataflow.ops.seeds import count_left_out
from dataflow.ops.variable_replication import VariableAggregation, VariableSynchronization
from dataflow.ops.variable_store import AUTO_REUSE, get_or_make, variable_store
from dataflow.ops.variables import Variable

_SCOPE = "variable_scope"


class VariableScope:
    """The settings in force for `get_variable`: name prefix, reuse, and defaults."""

    def __init__(
        self,
        reuse: bool,
        name: str = "",
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        caching_device: Any = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        use_resource: Any = None,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse: Any = reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = as_dtype(dtype)
        self._use_resource = use_resource
        self._constraint = constraint

    @property
    def name(self) -> str:
        """The prefix of variables' names, without a trailing slash."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope opened with this variable scope, with a trailing slash."""
        return self._name_scope

    @property
    def reuse(self) -> Any:
        """True, False or ``AUTO_REUSE``."""
        return self._reuse

    @property
    def initializer(self) -> Any:
        """The default initializer."""
        return self._initializer

    @property
    def regularizer(self) -> Any:
        """The default regularizer."""
        return self._regularizer

    @property
    def dtype(self) -> DType:
        """The default dtype."""
        return self._dtype

    @property
    def caching_device(self) -> Any:
        """The default caching device."""
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        """The default partitioner."""
        return self._partitioner

    @property
    def custom_getter(self) -> Any:
        """The function that wraps `get_variable`."""
        return self._custom_getter

    @property
    def constraint(self) -> Any:
        """The default constraint."""
        return self._constraint

    @property
    def use_resource(self) -> Any:
        """Accepted for old code: variables behave the same either way."""
        return self._use_resource

    def reuse_variables(self) -> None:
        """From now on, only variables that exist already are returned."""
        self._reuse = True

    def set_initializer(self, initializer: InitializerLike) -> None:
        """Sets the default initializer."""
        self._initializer = initializer

    def set_regularizer(self, regularizer: Callable[[Any], Any]) -> None:
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Sets the default dtype."""
        self._dtype = as_dtype(dtype)

    def set_caching_device(self, caching_device: Any) -> None:
        """Sets the default caching device."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Sets the default partitioner."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Sets the custom getter."""
        self._custom_getter = custom_getter

    def set_use_resource(self, use_resource: Any) -> None:
        """Accepted for old code."""
        self._use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """Items of a collection whose names start with this scope."""
        scope = self._name + "/" if self._name else ""
        return default_graph().get_collection(name, scope)

    def trainable_variables(self) -> list[Any]:
        """Trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        store: Any,
        name: str,
        shape: DynamicShapeLike | None = None,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        reuse: bool | None = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        caching_device: Any = None,
        partitioner: Callable[..., Any] | None = None,
        validate_shape: bool = True,
        use_resource: Any = None,
        custom_getter: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
    ) -> Any:
        """The variable ``name`` in this scope; see `tf.get_variable`."""
        regularizer = regularizer if regularizer is not None else self._regularizer
        caching_device = caching_device if caching_device is not None else self._caching_device
        partitioner = partitioner if partitioner is not None else self._partitioner
        custom_getter = custom_getter if custom_getter is not None else self._custom_getter
        constraint = constraint if constraint is not None else self._constraint
        use_resource = use_resource if use_resource is not None else self._use_resource
        reuse = self._reuse if reuse is None else reuse
        full_name = f"{self._name}/{name}" if self._name else name
        graph = default_graph()
        with graph.name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                given = getattr(initializer, "dtype", None)
                if given is None:
                    given = array_of(initializer)[1]
                if not isinstance(initializer, (Tensor, Variable)):
                    count_left_out(1)  # a constant, which is looked at for its dtype
                if as_dtype(given).base_dtype != as_dtype(dtype).base_dtype:
                    raise ValueError(
                        f"Initializer type '{as_dtype(given).name}' and explicit dtype "
                        f"'{as_dtype(dtype).name}' don't match."
                    )
            initializer = initializer if initializer is not None else self._initializer
            arguments = {
                "name": full_name,
                "shape": shape,
                "dtype": self._dtype if dtype is None else as_dtype(dtype),
                "initializer": initializer,
                "regularizer": regularizer,
                "reuse": reuse,
                "trainable": trainable,
                "collections": collections,
                "caching_device": caching_device,
                "partitioner": partitioner,
                "validate_shape": validate_shape,
                "use_resource": use_resource,
                "constraint": constraint,
                "synchronization": synchronization,
                "aggregation": aggregation,
            }
            if dtype is None and isinstance(initializer, Tensor):
                arguments["dtype"] = initializer.dtype.base_dtype
            if custom_getter is not None:
                if not callable(custom_getter):
                    raise ValueError(
                        f"Passed a custom_getter which is not callable: {custom_getter!r}"
                    )
                if synchronization is None:
                    arguments["synchronization"] = VariableSynchronization.AUTO
                if aggregation is None:
                    arguments["aggregation"] = VariableAggregation.NONE
                if trainable is None:
                    arguments["trainable"] = synchronization is not VariableSynchronization.ON_READ
                return custom_getter(get_or_make, **arguments)
            return get_or_make(**arguments)


def get_variable_scope() -> VariableScope:
    """The current variable scope."""
    current = _current_scope(default_graph())
    if current.scope is None:
        current.scope = VariableScope(False)
    return current.scope


class _CurrentScope(threading.local):
    """The scope that a thread is in; each begins outside of all."""

    scope: VariableScope | None = None


def _current_scope(graph: Graph) -> _CurrentScope:
    current = graph.attachments.get(_SCOPE)
    if current is None:
        current = graph.attachments.setdefault(_SCOPE, _CurrentScope())
    return current  # type: ignore[no-any-return]


def get_variable(
    name: str,
    shape: DynamicShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    partitioner: Callable[..., Any] | None = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """The variable called ``name`` in the current variable scope.

    Made when the scope does not reuse, found when it does (``reuse=True``), either with
    ``AUTO_REUSE``. ``shape`` is needed unless ``initializer`` is a tensor or array; the default
    initializer is Glorot's uniform one for floating dtypes, zeros for others.

    Raises `ValueError` when a variable exists and reuse is off, does not exist and reuse is on, or
    is shared with another shape or dtype.
    """
    return get_variable_scope().get_variable(
        None, name, shape, dtype, initializer, regularizer, None, trainable, collections,
        caching_device, partitioner, validate_shape, use_resource, custom_getter, constraint,
        synchronization, aggregation,
    )  # fmt: skip


def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: InitializerLike,
    dtype: DTypeLike = dtypes.float32,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list[Variable]:
    """The parts of one variable of ``shape``, cut into ``slicing[i]`` parts along axis i.

    The old way to write `get_variable` with a ``partitioner``. ``name``: the variable's name, by
    default "PartitionedVariable", made unique.

    Raises `ValueError` where ``slicing`` has another length than ``shape``, or cuts two axes.
    """
    if len(shape) != len(slicing):
        raise ValueError(f"shape {shape} and slicing {slicing} must have the same length.")
    for axis, (size, number) in enumerate(zip(shape, slicing, strict=True)):
        if number > size:
            raise ValueError(
                f"axis {axis} of shape {list(shape)} has {size} rows, which slicing {list(slicing)} cuts "
                f"into {number} parts: ask for {size} or fewer."
            )
    with (
        variable_scope(name, "PartitionedVariable", reuse=reuse) as scope,
        default_graph().name_scope(None),
    ):
        whole = get_or_make(
            scope.name,
            shape,
            dtype,
            initializer,
            reuse=scope.reuse,
            trainable=trainable,
            collections=collections,
            partitioner=lambda **_: list(slicing),
        )
    return list(whole)


def get_local_variable(
    name: str,
    shape: DynamicShapeLike | None = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = False,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    partitioner: Callable[..., Any] | None = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """As `get_variable`, in LOCAL_VARIABLES and not trainable, whatever ``trainable`` says."""
    return get_variable(
        name, shape, dtype, initializer, regularizer, False,
        [*(collections or []), GraphKeys.LOCAL_VARIABLES], caching_device, partitioner,
        validate_shape, use_resource, custom_getter, constraint, synchronization, aggregation,
    )  # fmt: skip


class variable_scope:  # noqa: N801  (TensorFlow's name)
    """``with tf.variable_scope("layer1"):`` prefixes the names of variables and of nodes.

    Takes a name, or a scope (to re-enter it); ``reuse``, and defaults for `get_variable`. A name of
    ``None`` with ``default_name`` gives a unique name.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        caching_device: Any = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: DTypeLike | None = None,
        use_resource: Any = None,
        constraint: Callable[[Any], Any] | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
            raise TypeError(
                f"VariableScope: name_or_scope must be a string or VariableScope, got {name_or_scope!r}."
            )
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, got {auxiliary_name_scope!r}."
            )
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = values
        self._settings = {
            "_initializer": initializer,
            "_regularizer": regularizer,
            "_caching_device": caching_device,
            "_partitioner": partitioner,
            "_constraint": constraint,
            "_use_resource": use_resource,
            "_dtype": None if dtype is None else as_dtype(dtype),
        }
        self._custom_getter = custom_getter
        if reuse is not None and not isinstance(reuse, bool) and reuse is not AUTO_REUSE:
            raise ValueError(f"The reuse parameter must be True or False or None, got {reuse!r}.")
        self._reuse: Any = reuse
        self._auxiliary_name_scope = auxiliary_name_scope
        self._stack: list[tuple[contextlib.AbstractContextManager[Any], VariableScope]] = []

    def __enter__(self) -> VariableScope:
        manager = self._enter()
        scope = manager.__enter__()
        self._stack.append((manager, scope))
        return scope

    def __exit__(self, *exc: Any) -> Any:
        manager, scope = self._stack[-1]
        if get_variable_scope() is not scope:  # nothing is undone: it can be left in its turn
            raise RuntimeError(
                "Improper nesting of variable_scope: a scope that was entered later than "
                f"{scope.name!r} is still open. Leave the inner one first; `with` does."
            )
        self._stack.pop()
        return manager.__exit__(*exc)

    @contextlib.contextmanager
    def _enter(self) -> Iterator[VariableScope]:
        from dataflow.graph.tensor import Tensor as _Tensor

        graph = default_graph()
        for value in self._values or []:
            if isinstance(value, _Tensor):
                graph = value.graph
                break
        with graph.as_default():
            old = get_variable_scope()
            store = variable_store()
            name = self._name_or_scope
            with contextlib.ExitStack() as stack:
                if isinstance(name, VariableScope):
                    new = self._copy(
                        name, name.name, name.reuse if self._reuse is None else self._reuse
                    )
                    new._reuse = self._reuse or name.reuse
                    if self._auxiliary_name_scope:
                        last = name.name.split("/")[-1]
                        if last:
                            new._name_scope = stack.enter_context(graph.name_scope(last))
                        new._name_scope = name.original_name_scope
                    counts = dict(store.scope_counts)
                else:
                    scope_name = name
                    if name is None:
                        scope_name = self._default_name or ""  # its number is counted by itself
                        name = _unique_scope_name(scope_name)
                        if self._reuse:
                            raise ValueError("reuse=True cannot be used without a name_or_scope")
                    full = f"{old.name}/{name}" if old.name else name
                    new = self._copy(old, full, self._reuse or old.reuse)
                    if self._auxiliary_name_scope:
                        new._name_scope = stack.enter_context(
                            graph.name_scope(scope_name if scope_name else None)
                        )
                    counts = None
                    _open_scope(full)
                _current_scope(graph).scope = new
                try:
                    yield new
                finally:
                    _current_scope(graph).scope = old
                    if counts is not None:
                        store.scope_counts.clear()
                        store.scope_counts.update(counts)
                    else:
                        for key in [k for k in store.scope_counts if k.startswith(new.name + "/")]:
                            del store.scope_counts[key]

    def _copy(self, base: VariableScope, name: str, reuse: bool) -> VariableScope:
        new = VariableScope(reuse, name)
        for key in self._settings:
            setattr(new, key, getattr(base, key))
        new._custom_getter = base._custom_getter
        new._name_scope = base._name_scope
        for key, value in self._settings.items():
            if value is not None:
                setattr(new, key, value)
        if self._custom_getter is not None:
            inner, outer = self._custom_getter, base._custom_getter
            if outer is None:
                new._custom_getter = inner
            else:

                def chained(getter: Any, *args: Any, **kwargs: Any) -> Any:
                    return inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)

                new._custom_getter = chained
        return new


def _open_scope(full_name: str) -> None:
    counts = variable_store().scope_counts
    counts[full_name] = counts.get(full_name, 0) + 1


def _unique_scope_name(prefix: str) -> str:
    counts = variable_store().scope_counts
    current = get_variable_scope().name
    name = f"{current}/{prefix}" if current else prefix
    if counts.get(name, 0) == 0:
        return prefix
    index = 1
    while counts.get(f"{name}_{index}", 0) > 0:
        index += 1
    return f"{prefix}_{index}"


@contextlib.contextmanager
def variable_op_scope(
    values: Any, name_or_scope: Any, default_name: str | None = None, **settings: Any
) -> Iterator[VariableScope]:
    """The old form of `variable_scope`, with ``values`` first."""
    with variable_scope(name_or_scope, default_name, values, **settings) as scope:
        yield scope


def no_regularizer(_: Any) -> None:
    """A regularizer that adds nothing, to switch a scope's off."""
    return None
