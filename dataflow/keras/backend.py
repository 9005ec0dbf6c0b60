"""`tf.keras.backend`: the session behind Keras, the learning phase, and common functions."""

# ruff: noqa: F401, F403  (names for users)

from __future__ import annotations

import collections
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.dtypes import as_dtype
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph, default_session, reset_default_graph
from dataflow.graph.eager import SymbolicGraph, eager_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, ShapeLike, TensorLike
from dataflow.keras.backend_convolutions import *
from dataflow.keras.backend_functions import *
from dataflow.keras.backend_layers import *
from dataflow.keras.backend_layers import to_dense
from dataflow.keras.backend_math import *
from dataflow.keras.backend_rnn import rnn as rnn
from dataflow.keras.backend_settings import (
    epsilon as epsilon,
    floatx as floatx,
    image_data_format as image_data_format,
    set_epsilon as set_epsilon,
    set_floatx as set_floatx,
    set_image_data_format as set_image_data_format,
    settings as _settings,
)
from dataflow.keras.running import Function
from dataflow.namespaces import with_provided
from dataflow.ops import activation, array, elementary, math, random, reduce, tensor_products
from dataflow.ops.clip import clip_by_value
from dataflow.ops.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from dataflow.ops.conditionals import cond
from dataflow.ops.cumulative import cumprod, cumsum
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.sequences import in_top_k
from dataflow.ops.sources import (
    constant as make_constant,
    placeholder as make_placeholder,
    placeholder_with_default,
)
from dataflow.ops.sparse_tensor import SparseTensor, sparse_placeholder
from dataflow.ops.state import assign, is_variable_initialized
from dataflow.ops.tensor_values import is_tensor
from dataflow.ops.variable_lists import variables_initializer
from dataflow.ops.variables import Variable
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.session import Session
from dataflow.tensorflow_numbers import draws_as_tensorflow

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class _Calls(threading.local):
    """How deep a thread is in calls of layers of one graph; eager code's threads share theirs."""

    depth = 0


class _State:
    """What Keras keeps beside one graph; it lives as long as the graph."""

    def __init__(self) -> None:
        self.session: Any = None
        self.initialized: set[tuple[int, str]] = set()
        self.phase: Any = None
        self.uids: collections.Counter[str] = collections.Counter()
        #: Whether there is an `Input`, so that ops may be parts of a model; whether a layer's call
        #: makes nodes; and ops that are known to depend on no `Input`.
        self.has_inputs = False
        self.calls = _Calls()
        self.independent: set[Any] = set()

    def forget_names(self) -> None:
        """Numbers layers from the start."""
        self.uids.clear()


def _state(graph: Graph | None = None) -> _State:
    graph = graph or default_graph()
    state: _State | None = graph.attachments.get("keras")
    if state is None:
        state = graph.attachments["keras"] = _State()
        if graph.variables_are_eager:  # names of layers are counted together
            state.uids = _state(eager_graph()).uids
    return state


def building_graph() -> Graph:
    """The graph that models are built in: the default one, with eager execution one beside it."""
    graph = default_graph()
    if not graph.executes_eagerly:
        return graph
    found: Graph | None = graph.attachments.get("keras_graph")
    if found is None:
        found = graph.attachments["keras_graph"] = SymbolicGraph()
    return found


def graph_of_call(tensors: list[Any]) -> Graph:
    """The graph in which a layer is called: the default one, or that of symbolic tensors given to it."""
    graph = default_graph()
    if graph.executes_eagerly:
        for tensor in tensors:
            if isinstance(tensor, Tensor) and not tensor.graph.executes_eagerly:
                return tensor.graph
    return graph


def note_input(graph: Graph) -> None:
    """Says that ``graph`` holds an `Input`."""
    _state(graph).has_inputs = True


def has_inputs(graph: Graph) -> bool:
    """Whether ``graph`` holds an `Input`."""
    return _state(graph).has_inputs


def is_in_call(graph: Graph) -> bool:
    """Whether nodes are being made by the call of a layer."""
    return _state(graph).calls.depth > 0


class in_call:  # noqa: N801  (entered like a function's block)
    """While nodes are made by the call of a layer: ``with in_call(graph):``."""

    __slots__ = ("_calls",)

    def __init__(self, graph: Graph) -> None:
        self._calls = _state(graph).calls

    def __enter__(self) -> None:
        self._calls.depth += 1

    def __exit__(self, *_: object) -> None:
        self._calls.depth -= 1


def independent_ops(graph: Graph) -> set[Any]:
    """Ops that are known to depend on no `Input`; add those that are found."""
    return _state(graph).independent


# ---- session, graph, learning phase -------------------------------------------------------


def get_session() -> Any:
    """The session that Keras runs in, with every variable of the graph initialized.

    It is the default session where there is one (``with tf.Session():``), else one that belongs to
    the default graph and is made at the first call.
    """
    graph = building_graph()
    state = _state(graph)
    session = default_session()
    if session is None or session.graph is not graph:
        if state.session is None:
            strategy = graph.attachments.get("strategy")  # whose devices the variables are on
            config = strategy and strategy.update_config_proto(ConfigProto())
            state.session = Session(graph=graph, config=config)
        session = state.session
    if not _settings["manual_initialization"]:
        _initialize_variables(session, graph)
        if isinstance(graph, SymbolicGraph):
            _initialize_tables(session, graph)
    return session


def set_session(session: BaseSession) -> None:
    """Makes ``session`` the one of its graph, such as one with a ConfigProto or a target."""
    _state(session.graph).session = session


def _initialize_variables(session: BaseSession, graph: Graph | None = None) -> None:
    graph = session.graph if graph is None else graph
    state = _state(graph)
    variables = [
        *graph.get_collection(GraphKeys.GLOBAL_VARIABLES),
        *graph.get_collection(GraphKeys.LOCAL_VARIABLES),
    ]
    new = [v for v in variables if (id(session), v.name) not in state.initialized]
    if not new:
        return
    with graph.as_default():
        checks = [is_variable_initialized(v) for v in new]
        missing = [v for v, ready in zip(new, session.run(checks), strict=True) if not ready]
        if missing:
            session.run(variables_initializer(missing))
    state.initialized.update((id(session), v.name) for v in new)


def _initialize_tables(session: BaseSession, graph: Graph) -> None:
    """Fills the tables of layers that eager code made: no program can do so there, as it has no session."""
    state = _state(graph)
    keyed = [
        ((id(session), op.name), op) for op in graph.get_collection(GraphKeys.TABLE_INITIALIZERS)
    ]
    new = {key: op for key, op in keyed if key not in state.initialized}
    if new:
        session.run(list(new.values()))
        state.initialized.update(new)


def clear_session() -> None:
    """Forgets all models: a new default graph, a new session, names counted from the start."""
    session = _state(building_graph()).session
    if session is not None:
        session.close()
    graph = default_graph()
    if graph.executes_eagerly:
        graph.attachments.pop("keras_graph", None)
        graph.attachments.pop("keras", None)
    else:
        reset_default_graph()
        if draws_as_tensorflow():  # it is a node, and the seeds of what follows count nodes
            learning_phase()


def get_graph() -> Any:
    """The graph that Keras builds in."""
    return building_graph()


def learning_phase() -> Any:
    """1 (training), 0 (not), or the boolean tensor that `fit` feeds: see `set_learning_phase`.

    With eager execution 0 where nothing is set.
    """
    state = _state()
    if state.phase is None:
        if default_graph().executes_eagerly:
            return 0
        with default_graph().control_dependencies(None), default_graph().name_scope(None):
            state.phase = placeholder_with_default(False, [], name="keras_learning_phase")
    return state.phase


def set_learning_phase(value: int) -> None:
    """Fixes the learning phase of models built from now on: 1 training, 0 not."""
    if value not in (0, 1):
        raise ValueError(f"set_learning_phase: expected 0 or 1, got {value!r}.")
    _state().phase = int(value)
    if default_graph().executes_eagerly:
        _state(building_graph()).phase = int(value)


def get_uid(prefix: str = "") -> int:
    """1, 2, 3, ... for each prefix and graph."""
    uids = _state().uids
    uids[prefix] += 1
    return uids[prefix]


def reset_uids() -> None:
    """Counts names from the start."""
    _state().uids.clear()


#: The number of the first layer of a kind, which has none in its name where this is 0.
_first_number = 0


def number_names_from_one() -> None:
    """From now on ``dense_1`` is the first, as in the package ``keras``, whose programs look it up."""
    global _first_number
    _first_number = 1


def is_package_keras() -> bool:
    """Whether the program takes its layers from the package ``keras``."""
    return bool(_first_number)


def unique_name(prefix: str) -> str:
    """``dense``, then ``dense_1``, ..."""
    number = get_uid(prefix) - 1 + _first_number
    return f"{prefix}_{number}" if number else prefix


# ---- variables and placeholders -----------------------------------------------------------


def variable(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    constraint: Callable[[Any], Any] | None = None,
) -> Any:
    """A resource variable that is no layer's; not trainable by `compile`'s models.

    A ``value`` that is a tensor is computed when the variable gets its first value.
    """
    if not isinstance(value, Tensor):
        value = np.asarray(value, as_dtype(dtype or floatx()).numpy)
    return Variable(value, trainable=False, name=name, constraint=constraint, use_resource=True)


def constant(
    value: Any,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """As `tf.constant`, with `floatx` for the dtype where none is given."""
    return make_constant(value, dtype or floatx(), shape, name or "Const")


def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
) -> Any:
    """A placeholder of ``shape``, or of ``ndim`` unknown sizes; with ``sparse`` a sparse one."""
    if shape is None and ndim is not None:
        shape = [None] * ndim
    with building_graph().as_default():
        if sparse:
            return sparse_placeholder(dtype or floatx(), shape, name)
        return make_placeholder(dtype or floatx(), shape, name)


def get_value(x: Any) -> Any:
    """The value of a variable or tensor; what is no tensor is its own value."""
    return batch_get_value([x])[0] if is_tensor(x) else x


def eval(x: Any) -> Any:
    """The value of a variable or tensor, of a sparse one the dense array; what is no tensor is its own value."""
    return get_value(to_dense(x))


def batch_get_value(tensors: list[Any]) -> list[Any]:
    """The values of several, in one run."""
    if not tensors:
        return []
    if tensors[0].graph.executes_eagerly:
        return [tensor.numpy() for tensor in tensors]
    with tensors[0].graph.as_default():
        return get_session().run(list(tensors))  # type: ignore[no-any-return]


def set_value(x: Any, value: Any) -> None:
    """Gives a variable a value."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: list[tuple[Any, Any]]) -> None:
    """Gives several variables values, in one run.

    Raises `ValueError` for a value of another shape.
    """
    if not tuples:
        return
    if tuples[0][0].graph.executes_eagerly:
        with eager_graph().as_default():
            for target, value in tuples:
                target.assign(_fitting(target, value))
        return
    graph = tuples[0][0].graph
    with graph.as_default():
        session = get_session()
        assigns, feed = [], {}
        for target, value in tuples:
            value = _fitting(target, value)
            # One placeholder per variable, however often values are set.
            made = getattr(target, "keras_assign", None)
            if made is None:
                fed = make_placeholder(target.dtype.base_dtype, target.shape)
                made = target.keras_assign = (fed, assign(target, fed).op)
            assigns.append(made[1])
            feed[made[0]] = value
        session.run(assigns, feed)


def dtype(x: Any) -> str:
    """The dtype's name."""
    return x.dtype.base_dtype.name  # type: ignore[no-any-return]


def is_tpu_strategy(strategy: Any) -> bool:
    """Whether it is a strategy of TPUs, of which there are none here."""
    return type(strategy).__name__.startswith("TPUStrategy")


def is_keras_tensor(x: Any) -> bool:
    """Whether ``x`` came out of a Keras layer (or `Input`); raises `ValueError` for anything but a tensor."""
    if not isinstance(x, (Tensor, Variable, SparseTensor)):
        raise ValueError(
            f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance."
        )
    return bool((getattr(x, "extras", None) or {}).get("history"))


def _fitting(target: Any, value: Any) -> Any:
    """A value for a variable, as an array; raises `ValueError` where its shape is another."""
    value = np.asarray(value, target.dtype.base_dtype.as_numpy_dtype)
    if target.shape.dims is not None and list(value.shape) != target.shape.as_list():
        raise ValueError(
            f"{target.name} has shape {target.shape.as_list()}, the value given has "
            f"shape {list(value.shape)}."
        )
    return value


def function(inputs: Any, outputs: Any, updates: Any = None, name: Any = None, **kwargs: Any) -> Any:  # fmt: skip
    """A Python function of arrays that runs ``outputs`` (and ``updates``): `keras.running.Function`."""
    return Function(get_session, inputs, outputs, updates, name, **kwargs)


# ---- functions of tensors -----------------------------------------------------------------


def in_train_phase(x: Any, alt: Any, training: bool | Tensor | None = None) -> Any:
    """``x`` while training, else ``alt``."""
    from dataflow.layers.base import smart_cond

    phase = learning_phase() if training is None else training

    def as_function(value: Any) -> Any:
        return value if callable(value) else lambda: array.identity(value)

    return smart_cond(phase, as_function(x), as_function(alt))


def in_test_phase(x: Any, alt: Any, training: bool | Tensor | None = None) -> Any:
    """``alt`` while training, else ``x``."""
    return in_train_phase(alt, x, training)


@contextlib.contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """Within it the learning phase is ``value``: 0 or 1."""
    states = [_state(), _state(building_graph())]  # of eager code and of its models
    before = [state.phase for state in states]
    set_learning_phase(value)
    try:
        yield
    finally:
        for state, phase in zip(states, before, strict=True):
            state.phase = phase


def backend() -> str:
    """The name "tensorflow": whose conventions this backend follows."""
    return "tensorflow"


def manual_variable_initialization(value: bool) -> None:
    """With True, `get_session` initializes no variables: the program does it by itself."""
    _settings["manual_initialization"] = bool(value)


def print_tensor(x: Any, message: str = "") -> Any:
    """``x``; its value is printed when it is computed."""
    from dataflow.ops.logging_ops import Print

    return Print(x, [x], message)


__all__ = [name for name in globals() if not name.startswith("_")]


__getattr__ = with_provided(__name__)
