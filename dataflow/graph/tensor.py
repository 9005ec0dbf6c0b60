"""`Tensor`: an edge of the graph, one output of an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from dataflow import shapes
from dataflow.dtypes import DType
from dataflow.graph.object_reference import Reference
from dataflow.graph.without_value import WithoutValue
from dataflow.shapes import Dims, TensorShape

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.operation import Operation
    from dataflow.runtime.base_session import BaseSession


class Tensor(WithoutValue):
    """A symbolic handle to one output of an `Operation`; it holds no value.

    ``dims`` is the static shape as a plain tuple (see `dataflow.shapes`), ``shape`` the same as a
    `TensorShape`. Values appear only when a session runs the graph.

    ``uses`` has an entry for each input that is this tensor, so a node that takes it twice is there
    twice; only the engine changes it. ``extras`` holds what Keras and
    `tf.contrib` know about the tensor.
    """

    # Programs keep values of their own on tensors (`layer.W = weights`): those lie in ``__dict__``.
    __slots__ = ("__dict__", "__weakref__", "dims", "dtype", "op", "uses", "value_index")

    extras: dict[str, Any] | None = None
    #: The value of a tensor that has one already: with eager execution.
    known_value: Any = None

    #: Classes of programs that stand for tensors copy these methods (Edward's random variables).
    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = {
        "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__div__",
        "__rdiv__", "__truediv__", "__rtruediv__", "__floordiv__", "__rfloordiv__", "__mod__",
        "__rmod__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__rand__", "__or__",
        "__ror__", "__xor__", "__rxor__", "__getitem__", "__pow__", "__rpow__", "__invert__",
        "__neg__", "__abs__", "__matmul__", "__rmatmul__",
    }  # fmt: skip

    if TYPE_CHECKING:  # put here by `dataflow.ops.operators` and `dataflow.ops.slicing`

        def __add__(self, other: Any) -> Any: ...

        def __radd__(self, other: Any) -> Any: ...

        def __sub__(self, other: Any) -> Any: ...

        def __rsub__(self, other: Any) -> Any: ...

        def __mul__(self, other: Any) -> Any: ...

        def __rmul__(self, other: Any) -> Any: ...

        def __truediv__(self, other: Any) -> Any: ...

        def __rtruediv__(self, other: Any) -> Any: ...

        def __floordiv__(self, other: Any) -> Any: ...

        def __rfloordiv__(self, other: Any) -> Any: ...

        def __mod__(self, other: Any) -> Any: ...

        def __rmod__(self, other: Any) -> Any: ...

        def __pow__(self, other: Any) -> Any: ...

        def __rpow__(self, other: Any) -> Any: ...

        def __matmul__(self, other: Any) -> Any: ...

        def __rmatmul__(self, other: Any) -> Any: ...

        def __and__(self, other: Any) -> Any: ...

        def __rand__(self, other: Any) -> Any: ...

        def __or__(self, other: Any) -> Any: ...

        def __ror__(self, other: Any) -> Any: ...

        def __xor__(self, other: Any) -> Any: ...

        def __rxor__(self, other: Any) -> Any: ...

        def __lt__(self, other: Any) -> Any: ...

        def __le__(self, other: Any) -> Any: ...

        def __gt__(self, other: Any) -> Any: ...

        def __ge__(self, other: Any) -> Any: ...

        def __getitem__(self, other: Any) -> Any: ...

        def __neg__(self) -> Any: ...

        def __abs__(self) -> Any: ...

        def __invert__(self) -> Any: ...

    # NumPy must not take over ``array + tensor``.
    __array_priority__ = 100

    def __init__(self, op: Operation, value_index: int, dtype: DType, dims: Dims) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.dims = dims
        self.uses: list[Operation] = []

    @property
    def name(self) -> str:
        """``"Add:0"``: the operation's name and the number of the output."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph that this tensor belongs to."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The device that its operation is pinned to, or ``""``."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape, as far as it is known before the graph runs; a handle is a scalar."""
        return TensorShape(() if self.dtype.is_handle else self.dims)

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    @property
    def _shape(self) -> TensorShape:
        return self.shape

    def _shape_as_list(self) -> list[int | None] | None:
        """The sizes, as private code of TensorFlow's time reads them; None where the rank is unknown."""
        return None if self.dims is None else list(self.dims)

    def _shape_tuple(self) -> tuple[int | None, ...] | None:
        return None if self.dims is None else tuple(self.dims)

    def _rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    def set_shape(self, shape: Any) -> None:
        """Adds what you know to the static shape.

        Raises `ValueError` when that contradicts what is known already.
        """
        try:
            self.dims = shapes.merge(self.dims, shapes.as_dims(shape))
        except ValueError as e:
            raise ValueError(
                f"set_shape: {self.name!r} has shape {shapes.format_dims(self.dims)}, "
                f"which contradicts {shapes.format_dims(shapes.as_dims(shape))}"
            ) from e

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input, once for each input, in the order made."""
        return list(self.uses)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Runs the graph for this tensor in ``session`` or the default one; returns the value."""
        return session_for(session, self.graph, "eval()").run(self, feed_dict)

    def in_graph(self, graph: Graph) -> Tensor:
        """What stands for this tensor in ``graph``; only tensors with values can be taken into another."""
        raise NotImplementedError(f"{self.name!r} belongs to another graph")

    @property
    def _value_index(self) -> int:
        return self.value_index

    def _as_node_def_input(self) -> str:
        return self.op.name if self.value_index == 0 else self.name

    def _as_graph_element(self) -> Tensor:
        return self

    def _as_tf_output(self) -> Tensor:
        return self

    def experimental_ref(self) -> Reference:
        """A key that stands for this tensor, in sets and dictionaries; ``deref()`` gives it back."""
        return Reference(self)

    ref = experimental_ref

    def __bool__(self) -> bool:
        raise TypeError(
            "A tensor has no truth value before the graph runs, so Python's if, while, and, or, not "
            f"cannot look at {self.name!r}. Use `if t is not None:` to test whether it is there, and "
            "tf.cond, tf.while_loop or tf.logical_and to compute with it."
        )

    __nonzero__ = __bool__

    def __iter__(self) -> Any:
        raise TypeError(
            f"'Tensor' object is not iterable: {self.name!r} has no values before the graph runs. "
            "Use tf.unstack(t) to take it apart, or tf.map_fn to work on each part."
        )

    def __len__(self) -> int:
        raise TypeError(
            f"len() of {self.name!r} is not known before the graph runs. "
            "Use tf.shape(t)[0], or t.shape[0] for the static size."
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert the symbolic tensor {self.name!r} to a NumPy array. "
            "Use sess.run(t) or t.eval() to get its value."
        )

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self.dims is None else f", shape={self.shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{self._device_note()})'

    def _device_note(self) -> str:
        return f", device={self.op.device}" if self.op.device else ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from dataflow.display import mimebundle

        return mimebundle(self, include, exclude)


def session_for(session: BaseSession | None, graph: Graph, what: str) -> Any:
    """The session that ``what`` uses: the given one, else the default one.

    Raises `ValueError` where there is none, or it is of another graph.
    """
    if session is None:
        from dataflow.graph.default_stacks import default_session

        session = default_session()
        if session is None:
            raise ValueError(
                f"Cannot use {what}: no default session is registered. "
                "Use `with sess.as_default():`, or pass the session: t.eval(session=sess)."
            )
    if session.graph is not graph:
        raise ValueError(
            f"Cannot use {what} with a session of another graph: "
            "the session was made for a graph that does not hold this node. "
            "Make it with tf.Session(graph=t.graph)."
        )
    return session


#: The name that shape rules use for what they are given: dtype, dims, and where it comes from.
TensorSpec = Tensor
