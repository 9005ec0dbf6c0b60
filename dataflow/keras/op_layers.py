"""Operations between the layers of a model, as layers: ``Model(x, tf.reduce_sum(Dense(3)(x)))``."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K
from dataflow.keras.base_layer import Layer
from dataflow.keras.call_nodes import Node, tag_of
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import TensorShape


class TensorFlowOpLayer(Layer):
    """One operation of a type, with its attributes.

    ``constants`` are those of its inputs, by number, that do not come from layers: tensors of the
    same graph (a variable's too), or what `get_config` wrote of them.
    """

    def __init__(
        self, op_type: str, attrs: dict[str, Any], num_inputs: int, constants: Any, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._type = op_type
        self._attrs = attrs
        self._num_inputs = num_inputs
        self._captured = {int(i): _tensor(value) for i, value in constants.items()}
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The operation on other inputs."""
        given = iter(nest.flatten(inputs))
        graph = default_graph()
        captured = self._captured
        if graph.executes_eagerly:
            captured = {i: _value_now(tensor) for i, tensor in captured.items()}
        taken = [captured[i] if i in captured else next(given) for i in range(self._num_inputs)]
        op = graph.create_op(self._type, taken, name=self._type, attrs=dict(self._attrs))
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    def get_config(self) -> dict[str, Any]:
        """The operation and its constants; raises `NotImplementedError` for what takes a variable."""
        constants = {}
        for index, tensor in self._captured.items():
            value = static_value(tensor)
            if value is None:
                raise NotImplementedError(
                    f"{self.name}: an operation of the model takes {tensor.name}, whose value is "
                    "not constant, so the architecture cannot be saved.\nPut it into a layer of your "
                    "own, or save only weights: model.save_weights(path)."
                )
            values = value.tolist()
            constants[str(index)] = {"value": values, "dtype": tensor.dtype.base_dtype.name}
        return {
            "name": self.name,
            "op_type": self._type,
            "attrs": {key: _written(value) for key, value in self._attrs.items()},
            "num_inputs": self._num_inputs,
            "constants": constants,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """The layer of a config that this wrote."""
        attrs = {key: _read(value) for key, value in config["attrs"].items()}
        return cls(**{**config, "attrs": attrs})


def _tensor(value: Any) -> Tensor:
    return constant(value["value"], value["dtype"]) if isinstance(value, dict) else value


def _written(value: Any) -> Any:
    """An attribute as JSON can hold it; raises `NotImplementedError` for functions and the like."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, TensorShape):
        return {"shape": None if value.ndims is None else value.as_list()}
    if isinstance(value, (list, tuple)):
        return {"list": [_written(v) for v in value], "tuple": isinstance(value, tuple)}
    raise NotImplementedError(
        f"An operation of the model has the attribute {value!r}, which cannot be saved as data.\n"
        "Put the operation into a layer of your own, or save only weights: model.save_weights(path)."
    )


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "dtype" in value:
        return as_dtype(value["dtype"])
    if "bytes" in value:
        return bytes.fromhex(value["bytes"])
    if "shape" in value:
        return TensorShape(value["shape"])
    items = [_read(v) for v in value["list"]]
    return tuple(items) if value["tuple"] else items


def complete_history(tensors: list[Any]) -> None:
    """Makes the operations between layers and ``tensors`` layers, each once.

    Tensors that were computed from none of a model's inputs are left alone, and what was looked at
    is not looked at again.
    """
    for tensor in tensors:
        if isinstance(tensor, Tensor) and tag_of(tensor, "history") is None:
            for op in _ops_to(tensor):
                _make_layer(op)


def _ops_to(tensor: Tensor) -> list[Operation]:
    """The ops between layers and ``tensor`` that depend on layers, each after those it needs."""
    depends: dict[Operation, bool] = {}
    order: list[Operation] = []
    stack: list[tuple[Operation, bool]] = [(tensor.op, False)]
    looked_at = K.independent_ops(default_graph())
    while stack:
        op, expanded = stack.pop()
        if expanded:
            depends[op] = any(
                tag_of(t, "history") is not None or depends.get(t.op, False) for t in op.inputs
            )
            if depends[op]:
                order.append(op)
            else:
                looked_at.add(op)
            continue
        if op in depends or op in looked_at or tag_of(op.outputs[0], "history") is not None:
            continue
        depends[op] = False
        stack.append((op, True))
        stack.extend((t.op, False) for t in op.inputs if tag_of(t, "history") is None)
    return [] if any(op.op_def.control_flow for op in order) else order


def _make_layer(op: Operation) -> None:
    inside = [t for t in op.inputs if tag_of(t, "history") is not None]
    captured = {i: t for i, t in enumerate(op.inputs) if tag_of(t, "history") is None}
    attrs = {key: value for key, value in op.attrs.items() if not key.startswith("_")}
    name = "tf_op_layer_" + op.name.replace("/", "_")
    layer = TensorFlowOpLayer(op.type, attrs, len(op.inputs), captured, name=name)
    outputs = op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)
    Node(layer, inside[0] if len(inside) == 1 else inside, outputs, {})


def _value_now(tensor: Tensor) -> Tensor:
    """A tensor of a model's graph as one of eager code."""
    value = static_value(tensor)
    if value is None:
        value = K.get_value(tensor)
    return constant(value, tensor.dtype.base_dtype)
