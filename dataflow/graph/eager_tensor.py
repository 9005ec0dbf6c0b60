"""`EagerTensor`: a tensor with a value, as in eager code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.dtypes import DType
    from dataflow.graph.graph import Graph


class EagerTensor(Tensor):
    """A tensor with a value. ``handle_node``, for a resource, is what stands for it where ops run."""

    __slots__ = ("handle_node", "known_value")

    def __init__(
        self, op: Operation, value_index: int, dtype: DType, dims: Any, known_value: Any = None
    ) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.dims = dims
        self.uses: list[Operation] = []
        self.known_value: Any = known_value
        self.handle_node: Tensor | None = None

    def numpy(self) -> Any:
        """The value: a new array, or a NumPy scalar; text is ``bytes``."""
        value = self._value()
        return value.copy() if isinstance(value, np.ndarray) and value.ndim else value

    def _value(self) -> Any:
        value = self.known_value
        if value is None:
            raise NotImplementedError(f"numpy() is not supported for dtype {self.dtype.name}.")
        return value[()] if isinstance(value, np.ndarray) and not value.ndim else value

    def _numpy(self) -> Any:
        return self._value()

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Raises an error: eager tensors have `numpy`."""
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're looking for?"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._value(), dtype)

    def __bool__(self) -> bool:
        return bool(self._value())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._value())

    def __float__(self) -> float:
        return float(self._value())

    def __index__(self) -> int:
        return self._value().__index__()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._value())

    def __iter__(self) -> Iterator[Any]:
        if not self.dims:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        return format(self._value(), spec)

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        return self

    def __reduce__(self) -> Any:
        return _unpickled, (self.numpy(), self.dtype.name)

    def set_shape(self, shape: Any) -> None:
        """Checks that ``shape`` is compatible with the tensor's shape; raises `ValueError` if it is not."""
        if self.known_value is None:
            super().set_shape(shape)
        elif not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {shape}"
            )

    def cpu(self) -> EagerTensor:
        """The tensor on the host, where all eager tensors are."""
        return self

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """Raises `RuntimeError`, as in TensorFlow without a GPU: eager code runs on the host."""
        raise RuntimeError(
            f"Device GPU:{gpu_index} unknown: tensors of eager code are on the CPU. Leave out .gpu()."
        )

    @property
    def device(self) -> str:
        """The host, by its full name."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims or ())

    def __str__(self) -> str:
        text = "<unprintable>" if self.known_value is None else str(self._value())
        text = "\n" + text if "\n" in text else text
        return f"tf.Tensor({text}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        text = "<unprintable>" if self.known_value is None else numpy_text(self._value())
        return f"<tf.Tensor: id={self.op.index}, shape={self.shape}, dtype={self.dtype.name}, numpy={text}>"

    def in_graph(self, graph: Graph) -> Tensor:
        """What stands for this tensor in a graph that is run by a session: a constant."""
        if not graph.traces_function:
            return self._made_in(graph)
        known: dict[EagerTensor, Tensor] = graph.stand_ins  # type: ignore[attr-defined]
        found = known.get(self)
        if found is None:
            found = known[self] = self._made_in(graph)
        return found

    def _made_in(self, graph: Graph) -> Tensor:
        from dataflow.graph.conversion import convert_to_tensor

        context, graph.control_flow_context = graph.control_flow_context, None
        try:  # outside of any branch or loop, where all of the graph can use it
            if self.dtype.is_handle or (self.known_value is None and "container" in self.op.attrs):
                return handle_in_graph(self, graph)
            with graph.as_default(), graph.control_dependencies(None):
                return convert_to_tensor(self._value(), self.dtype)
        finally:
            graph.control_flow_context = context

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {"text/plain": repr(self)}


def numpy_text(value: Any) -> str:
    """A value as ``repr`` shows it: numbers without their types, an array of several lines in its own."""
    if isinstance(value, np.generic):
        return repr(value.item())
    text = repr(value)
    return "\n" + text if "\n" in text else text


def _unpickled(value: Any, dtype: str) -> Any:
    from dataflow.dtypes import as_dtype
    from dataflow.graph.conversion import convert_to_tensor

    return convert_to_tensor(value, as_dtype(dtype))


def handle_in_graph(handle: EagerTensor, graph: Graph) -> Tensor:
    """A node of ``graph`` for a variable, table or other resource of eager code, which all sessions share."""
    nodes: dict[Any, Tensor] = graph.attachments.setdefault("eager_resources", {})
    key = handle.op.type, handle.op.attrs["shared_name"]
    node = nodes.get(key)
    if node is None:
        with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None):
            name = graph.unique_name(handle.op.name)
            op = graph.make_op(handle.op.op_def, name, [], handle.op.attrs)
        node = nodes[key] = op.outputs[0]
    return node
