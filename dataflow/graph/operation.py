"""`Operation`: a node of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow.device_spec import DeviceSpec, canonical_name
from dataflow.graph import tracebacks
from dataflow.graph.op_def_fields import FunctionName
from dataflow.graph.tensor import Tensor, session_for

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.op_def import OpDef
    from dataflow.graph.op_signature import ArgSpec


class Operation:
    """A node: an op type, named inputs, attributes, and the tensors that it produces.

    Made by calling an op (``tf.add(x, y)``) inside a graph; never changed afterwards except by the
    engine itself (`_update_input`, `_add_control_inputs`, `_set_device`).

    ``inputs``, ``outputs``, ``control_inputs`` and ``control_outputs`` are the node's own lists, not
    copies: only read them. ``attrs`` may be shared by nodes that are alike: `_set_attr` replaces it,
    nothing writes to it. ``frames`` is where the node was built, ``gradient_override`` the name of
    the gradient that `Graph.gradient_override_map` gave it, ``control_flow_context`` the conditional
    or loop that it belongs to, ``index`` its position in the graph.
    """

    __slots__ = (
        "__dict__",  # for attributes that programs set
        "__weakref__",
        "_control_inputs",
        "_control_outputs",
        "attrs",
        "control_flow_context",
        "device",
        "frames",
        "gradient_override",
        "graph",
        "index",
        "inputs",
        "name",
        "op_def",
        "outputs",
    )

    def __init__(
        self,
        graph: Graph,
        name: str,
        op_def: OpDef,
        inputs: list[Tensor],
        control_inputs: Iterable[Operation],
        attrs: dict[str, Any],
        device: str,
        frames: tracebacks.RawFrames,
    ) -> None:
        self.graph = graph
        self.name = name
        self.op_def = op_def
        self.attrs = attrs
        self.inputs = inputs
        # Most nodes have no control edges: they share one empty tuple, which the collector of
        # cycles need not look at. `add_control_edge` makes the lists.
        self._control_inputs: Any = ()
        self._control_outputs: Any = ()
        self.outputs: list[Tensor] = []
        self.device = device
        self.index = -1
        self.frames = frames
        self.control_flow_context: Any = None
        self.gradient_override: str | None = None
        for tensor in inputs:
            tensor.uses.append(self)
        for op in control_inputs:
            self.add_control_edge(op)

    def release(self) -> None:
        """Lets the outputs go once nobody else holds them: for operations that have run."""

    @property
    def type(self) -> str:
        """The op type, such as ``"MatMul"``."""
        return self.op_def.type

    @property
    def control_inputs(self) -> list[Operation]:
        """Operations that must be done before this one starts."""
        return self._control_inputs or []

    @property
    def control_outputs(self) -> list[Operation]:
        """Operations that start only when this one is done, by a control edge."""
        return self._control_outputs or []

    # Private names of TensorFlow's that programs read.

    @property
    def _inputs(self) -> list[Tensor]:
        return self.inputs

    @property
    def _outputs(self) -> list[Tensor]:
        return self.outputs

    @property
    def _original_op(self) -> None:
        return None

    @property
    def _traceback(self) -> list[tracebacks.Frame]:
        return self.traceback

    @property
    def traceback(self) -> list[tracebacks.Frame]:
        """The user's frames that made this node, outermost first."""
        return tracebacks.frames_of(self.frames)

    @property
    def built_at(self) -> str:
        """Where the node was made: file and line, or notebook, cell and line."""
        return tracebacks.where(self.frames)

    @property
    def node_def(self) -> Any:
        """This node as TensorFlow's ``NodeDef`` protocol buffer."""
        from dataflow.graph.serialize import node_def

        return node_def(self)

    @property
    def _id(self) -> int:
        return self.index

    @property
    def num_outputs(self) -> int:
        """How many tensors it produces."""
        return len(self.outputs)

    def get_attr(self, name: str) -> Any:
        """An attribute; raises `ValueError` for one that the op does not have."""
        if name == "_gradient_op_type" and self.gradient_override is not None:
            return self.gradient_override.encode()
        try:
            value = self.attrs[name]
        except KeyError:
            known = ", ".join(sorted(self.attrs)) or "none"
            raise ValueError(
                f"Operation {self.name!r} has no attr named {name!r}. It has: {known}."
            ) from None
        if type(value) is list:  # nodes may share theirs
            return list(value)
        if hasattr(value, "captured"):
            from dataflow.graph.function_def import library_name

            return FunctionName(library_name(value))
        return value.encode() if isinstance(value, str) else value

    def _set_attr(self, name: str, value: Any) -> None:
        from dataflow.graph.serialize import plain_attr

        self.attrs = {**self.attrs, name: plain_attr(self.op_def, name, value)}
        self.graph.mutated()

    def arguments(self) -> Iterator[tuple[ArgSpec, list[Tensor]]]:
        """The arguments of its type, each with the inputs that belong to it: one, or those of a list."""
        at = 0
        for arg in self.op_def.inputs:
            if arg.number_attr is not None:
                count = self.attrs[arg.number_attr]
            elif arg.type_list_attr is not None:
                count = len(self.attrs[arg.type_list_attr])
            else:
                count = 1
            yield arg, self.inputs[at : at + count]
            at += count

    def values(self) -> tuple[Tensor, ...]:
        """The output tensors as a tuple."""
        return tuple(self.outputs)

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs this operation in ``session`` or the default one."""
        session_for(session, self.graph, "run()").run(self, feed_dict)

    def colocation_groups(self) -> list[bytes]:
        """The groups whose members share a device, as ``b"loc:@name"``."""
        groups = self.attrs.get("_class")
        return list(groups) if groups else [f"loc:@{self.name}".encode()]

    def _set_device(self, device: Any) -> None:
        self.device = canonical_name(
            device.to_string() if isinstance(device, DeviceSpec) else (device or "")
        )
        self.graph.mutated()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        old = self.inputs[index]
        old.uses.remove(self)
        self.inputs[index] = tensor
        tensor.uses.append(self)
        self.graph.mutated()

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops: list[Operation]) -> None:
        for op in ops:
            if op not in self._control_inputs:
                self.add_control_edge(op)
        self.graph.mutated()

    def _remove_all_control_inputs(self) -> None:
        for op in self._control_inputs:
            op._control_outputs.remove(self)
        self._control_inputs = ()
        self.graph.mutated()

    def add_control_edge(self, op: Operation) -> None:
        """Adds a control edge from ``op`` to this node, while the nodes are being made."""
        if self._control_inputs:
            self._control_inputs.append(op)
        else:
            self._control_inputs = [op]
        if op._control_outputs:
            op._control_outputs.append(self)
        else:
            op._control_outputs = [self]

    def remove_control_edge(self, op: Operation) -> None:
        """Removes the control edge from ``op`` to this node."""
        self._control_inputs.remove(op)
        op._control_outputs.remove(self)

    def _get_control_flow_context(self) -> Any:
        return self.control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self.control_flow_context = context

    def _as_graph_element(self) -> Operation:
        return self

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"

    def __str__(self) -> str:
        lines = [f'name: "{self.name}"', f'op: "{self.type}"']
        lines += [f'input: "{t._as_node_def_input()}"' for t in self.inputs]
        lines += [f'input: "^{op.name}"' for op in self._control_inputs]
        if self.device:
            lines.append(f'device: "{self.device}"')
        return "\n".join(lines) + "\n"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from dataflow.display import mimebundle

        return mimebundle(self, include, exclude)
