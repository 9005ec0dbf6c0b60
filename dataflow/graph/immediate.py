"""A graph whose tensors can be looked at while it is built: what `tf.py_function` calls is run in one.

Python may take a tensor's value (``t.numpy()``, ``if t > 0:``, ``float(t)``, ``np.sum(t)``): the
nodes up to it are run then, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor

#: Runs tensors of a graph: f(graph, tensors and operations, {tensor: value}) -> values.
_run: Callable[[Graph, list[Any], dict[Tensor, Any]], list[Any]] | None = None


def register_runner(run: Callable[[Graph, list[Any], dict[Tensor, Any]], list[Any]]) -> None:
    """The sessions, which lie above graphs, say how tensors are run."""
    global _run
    _run = run


class ImmediateTensor(Tensor):
    """A tensor with a value, as TensorFlow's eager tensors."""

    __slots__ = ()

    def numpy(self) -> Any:
        """The value: an array, or a NumPy scalar; text is ``bytes``."""
        graph: Any = self.op.graph
        (value,) = graph.values_of([self])
        return value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.array(self.numpy(), dtype)

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __index__(self) -> int:
        return self.numpy().__index__()  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.numpy())

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        value = self.numpy()
        return format(value if self.shape.ndims else value.item(), spec) if spec else str(self)

    def __str__(self) -> str:
        return f"tf.Tensor({self.numpy()}, shape={self.shape}, dtype={self.dtype.name})"


class ImmediateGraph(Graph):
    """The scratch graph of one call."""

    tensor_class = ImmediateTensor

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[Tensor, Any] = {}
        self._num_done = 0  # nodes whose effects have been had

    def values_of(self, tensors: list[Any]) -> list[Any]:
        """The values of tensors; effects (printing, checks) of nodes made so far are had once."""
        known = self._values
        for tensor in tensors:
            if tensor not in known and tensor.op.type == "Const":
                known[tensor] = tensor.op.attrs["value"][()]
        made = self.operations[self._num_done :]
        effects = [op for op in made if op.op_def.has_side_effect or not op.outputs]
        self._num_done = len(self.operations)
        missing = [t for t in dict.fromkeys(tensors) if t not in known]
        if missing or effects:
            assert _run is not None
            fed = {t: v for t, v in known.items() if t.op.type != "Const"}
            found = _run(self, [*missing, *effects], fed)
            known.update(zip(missing, found, strict=False))
        return [known[t] for t in tensors]
