"""What is in force for the nodes that a graph gets next: devices, colocation, control dependencies, attributes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataflow.device_spec import DeviceSpec, canonical_name, merge_names
from dataflow.graph.control_dependencies import ControlDependencies
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


class GraphScopes:
    """The blocks that `Graph` offers but for those of names; each restores what it found."""

    #: Whether nodes run as they are made (`graph.eager`).
    executes_eagerly = False
    #: `Graph.as_graph_element`.
    as_graph_element: Callable[..., Any]

    def __init__(self) -> None:
        self.device_stack: list[Any] = []
        self.current_device = ""  # merged from the stack, when no function is on it
        self._device_is_dynamic = False
        self.control_stack: list[ControlDependencies] = []
        self._colocation_stack: list[Operation] = []
        self.control_flow_context: Any = None
        self._gradient_override_map: dict[str, str] = {}
        self._attr_scope: dict[str, Any] = {}
        self.current_container = ""

    # ---- devices and colocation -----------------------------------------------------------

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Pins nodes made inside the block; inner blocks complete and override outer ones.

        Takes a device name, a `DeviceSpec`, a function from `Operation` to a device name, or
        ``None``, which drops all outer devices. Raises `ValueError` for a name it cannot read, and
        `RuntimeError` where a block is left before one inside it.
        """
        spec = device_name_or_function
        if isinstance(spec, DeviceSpec):
            spec = spec.to_string()
        if isinstance(spec, bytes):
            spec = spec.decode()
        if isinstance(spec, str):
            spec = canonical_name(spec)
        elif spec is not None and not callable(spec):
            raise ValueError(
                f"tf.device takes a device name, a function or None, got {type(spec).__name__}."
            )
        saved = (self.device_stack, self.current_device, self._device_is_dynamic)
        self.device_stack = mine = [*self.device_stack, spec]
        self._refresh_device()
        try:
            yield
        finally:
            if self.device_stack is not mine:
                raise RuntimeError(
                    "Exiting device scope without proper scope nesting: a tf.device block that was "
                    "entered later is still open. Leave the inner one first; `with` does."
                )
            self.device_stack, self.current_device, self._device_is_dynamic = saved

    def _refresh_device(self) -> None:
        self._device_is_dynamic = any(callable(s) for s in self.device_stack)
        self.current_device = ""
        if not self._device_is_dynamic:
            for spec in self.device_stack:
                self.current_device = "" if spec is None else merge_names(self.current_device, spec)

    def _apply_device_functions(self, op: Operation) -> str:
        """Innermost first, as in TensorFlow: what is set already wins, ``None`` stops."""
        op.device = ""
        for spec in reversed(self.device_stack):
            if spec is None:
                break
            if callable(spec):
                result = spec(op)
                if isinstance(result, DeviceSpec):
                    result = result.to_string()
                op.device = canonical_name(result or "")
            else:
                op.device = merge_names(spec, op.device)
        return op.device

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Nodes made inside the block have the device of ``op`` and join its colocation groups.

        Outer `device` blocks do not reach into the block. Groups of outer blocks are kept, and the
        innermost op that has a device decides, unless ``ignore_existing``. ``None`` adds no group, and raises `ValueError`
        without ``ignore_existing``.
        """
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True: write "
                "tf.colocate_with(None, ignore_existing=True)."
            )
        leaders = []
        if op is not None and not getattr(op, "graph", self).executes_eagerly:
            element = self.as_graph_element(op._ref() if hasattr(op, "_ref") else op)
            leaders.append(element.op if isinstance(element, Tensor) else element)
        with self._colocated(leaders, ignore_existing):
            yield

    def colocate_with_references(self, tensors: Sequence[Tensor]) -> Any:
        """The block in which a node is made that takes these tensors by reference."""
        return self._colocated([t.op for t in tensors if t.op.graph is self], False)

    @contextlib.contextmanager
    def _colocated(self, leaders: list[Operation], ignore_existing: bool) -> Iterator[None]:
        saved = self._colocation_stack
        saved_devices = (self.device_stack, self.current_device, self._device_is_dynamic)
        self._colocation_stack = [*([] if ignore_existing else saved), *leaders]
        self.device_stack, self.current_device, self._device_is_dynamic = [], "", False
        try:
            yield
        finally:
            self._colocation_stack = saved
            self.device_stack, self.current_device, self._device_is_dynamic = saved_devices

    # ---- control --------------------------------------------------------------------------

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Nodes made inside the block run after ``control_inputs``; ``None`` drops outer ones."""
        saved = self.control_stack
        saved_context = self.control_flow_context
        if control_inputs is None:
            self.control_stack = []
            self.control_flow_context = None
        else:
            ops: list[Operation] = []
            for item in control_inputs:
                from_indexed = getattr(item, "op", None)
                if isinstance(item, Operation):
                    op = item
                elif isinstance(from_indexed, Operation) and not isinstance(item, Tensor):
                    op = from_indexed
                else:
                    element = self.as_graph_element(item)
                    op = element.op if isinstance(element, Tensor) else element
                if op.graph is not self:
                    raise ValueError(f"Operation {op.name!r} is not an element of this graph.")
                if op not in ops:
                    ops.append(op)
            self.control_stack = [*saved, ControlDependencies(ops)]
        try:
            yield
        finally:
            self.control_stack = saved
            self.control_flow_context = saved_context

    def _get_control_flow_context(self) -> Any:
        return self.control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self.control_flow_context = context

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Ops of these types made inside the block use gradients registered under other names."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary from op type to gradient name")
        for key, value in op_type_map.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError("op_type_map must map strings to strings")
        saved = self._gradient_override_map
        self._gradient_override_map = {**saved, **op_type_map}
        try:
            yield
        finally:
            self._gradient_override_map = saved

    @contextlib.contextmanager
    def attributes_of_new_nodes(self, attrs: dict[str, Any]) -> Iterator[None]:
        """Nodes made inside the block get these attributes, where they have none of that name."""
        saved = self._attr_scope
        self._attr_scope = {**saved, **attrs}
        try:
            yield
        finally:
            self._attr_scope = saved

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Variables and queues made inside the block live in this container of the server."""
        saved = self.current_container
        self.current_container = container_name
        try:
            yield container_name
        finally:
            self.current_container = saved
