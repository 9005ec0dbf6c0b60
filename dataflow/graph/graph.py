"""`Graph`: the nodes, their names, and the scopes in force while nodes are added."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import TYPE_CHECKING, Any

from dataflow.errors import ShapeError
from dataflow.graph import tracebacks
from dataflow.graph.default_stacks import use_graph
from dataflow.graph.flat_inputs import infer_type_attrs
from dataflow.graph.graph_elements import element_of, mixed_graphs
from dataflow.graph.graph_scopes import GraphScopes
from dataflow.graph.name_scopes import NameScope
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.dtypes import DType
    from dataflow.graph.op_def import OpDef
    from dataflow.shapes import Dims

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
#: Names that were found valid: the same few are asked for again and again.
_valid_names: set[str] = set()
_MAX_REMEMBERED_NAMES = 10_000
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class _OfThread(threading.local):
    """The scopes that a thread is in; each thread begins outside of all."""

    name_stack = ""


class Graph(GraphScopes):
    """A dataflow graph. Nodes are added by calling ops while the graph is the default one.

    ``version`` grows with every node, ``num_mutations`` with every change of a node that was made
    before. Nodes are never removed. A graph may be built in one thread while sessions of other
    threads run it.

    For the engine, and only to be read by others: ``operations`` (in the order made) and
    ``op_by_name``, without a copy; ``names_in_use``, in lower case, with the number of names made of
    each. In force for the nodes made next: ``name_stack``, ``device_stack``, ``current_device``,
    ``control_stack``, ``control_flow_context``, ``current_container``. ``attachments`` holds what
    other modules keep about this graph, such as variable stores.
    """

    #: What the outputs of nodes are.
    tensor_class: type[Tensor] = Tensor
    #: Whether it is the graph of a function, which is called from another one.
    building_function = False
    #: Whether the variables that are made in it are eager code's, as in the graph of Keras's models.
    variables_are_eager = False
    #: Whether a call of `tf.function` in eager code is traced into it (`graph.traced_graph`).
    traces_function = False
    #: Whether its nodes are eager code's: they run at once, or whenever the function that is traced is called.
    is_of_calls = False
    #: Whether its nodes stand for kinds of operations of eager code, which knows the graph not at all.
    is_of_kinds = False

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self.operations: list[Operation] = []
        self.op_by_name: dict[str, Operation] = {}
        self.names_in_use: dict[str, int] = {}
        self._of_thread = _OfThread()
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False
        self.num_mutations = 0
        #: For the graph of a function: tensors of outer graphs -> what stands for them in here.
        self.captures: dict[Tensor, Tensor] | None = None
        #: How many functions under `tf.function` are being traced into this graph.
        self.num_tracing = 0
        self.seed: int | None = None
        #: How many more nodes TensorFlow would have made so far, as far as `ops.seeds.count_left_out` was told.
        self.num_left_out = 0
        self.attachments: dict[Any, Any] = {}

    # Private names of TensorFlow's that programs read.

    @property
    def _nodes_by_name(self) -> dict[str, Operation]:
        return self.op_by_name

    @property
    def _names_in_use(self) -> dict[str, int]:
        return self.names_in_use

    @property
    def _name_stack(self) -> str:
        return self.name_stack

    @property
    def name_stack(self) -> str:
        """The name scope that this thread is in."""
        return self._of_thread.name_stack

    @name_stack.setter
    def name_stack(self, scope: str) -> None:
        self._of_thread.name_stack = scope

    # ---- building -------------------------------------------------------------------------

    def make_op(
        self,
        op_def: OpDef,
        name: str,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        dtypes: list[DType] | None = None,
        frames: tracebacks.RawFrames | None = None,
    ) -> Operation:
        """Adds a node whose name is unique already and whose inputs are tensors.

        ``dtypes`` are those of its outputs, where the caller knows them, and ``frames`` the place
        that it is built at. ``attrs`` is only read.
        """
        if self._finalized:
            raise RuntimeError(
                "Graph is finalized and cannot be modified, so no operation can be added. This one is new: "
                f"{op_def.type} {name!r}. Build it before the graph is finalized (MonitoredTrainingSession, "
                "Supervisor and g.finalize() do that), and in a loop only run it."
            )
        self._check_inputs(op_def, name, inputs)
        control_inputs: Any = ()
        if self.control_stack:
            control_inputs = self.controls_for(inputs)
        context = self.control_flow_context
        if context is not None:
            inputs, control_inputs = context.prepare(op_def, name, inputs, control_inputs)
        if frames is None:
            frames = tracebacks.capture()
        dims, dtypes = outputs_of(op_def, name, inputs, attrs, dtypes, frames)
        attrs = self._with_attrs_in_force(attrs)
        device = self.current_device
        op = Operation(self, name, op_def, inputs, control_inputs, attrs, device, frames)
        if len(dims) == 1:
            op.outputs = [self.tensor_class(op, 0, dtypes[0], dims[0])]
        else:
            op.outputs = [self.tensor_class(op, i, dtypes[i], d) for i, d in enumerate(dims)]
        if self._device_is_dynamic:
            op.device = self._apply_device_functions(op)
        for leader in self._colocation_stack:  # the innermost that has a device decides
            op.device = leader.device or op.device
        if self._gradient_override_map:
            op.gradient_override = self._gradient_override_map.get(op_def.type)
        self._register(op)
        if context is not None:
            op.control_flow_context = context
            context.add_op(op)
        return op

    def _check_inputs(self, op_def: OpDef, name: str, inputs: list[Tensor]) -> None:
        """Refuse tensors of other graphs, or, in the graph of a function, replace them by captures.

        What eager code computed is a constant here.
        """
        for i, tensor in enumerate(inputs):
            if tensor.op.graph is not self:
                if tensor.op.graph.executes_eagerly:
                    inputs[i] = tensor.in_graph(self)
                    continue
                if self.captures is not None:
                    inputs[i] = self.capture(tensor)
                    continue
                raise mixed_graphs(op_def.type, name, inputs, tensor)
            there = tensor.op.control_flow_context
            if there is not None and self.control_flow_context is None:
                there.check_use(op_def, name, tensor)

    def _with_attrs_in_force(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A node's attributes with those of the blocks around it: container, own ones, colocation."""
        if self.current_container and attrs.get("container") == "":
            attrs = {**attrs, "container": self.current_container}
        if self._attr_scope:
            attrs = {**self._attr_scope, **attrs}
        if self._colocation_stack:
            groups = {group for op in self._colocation_stack for group in op.colocation_groups()}
            attrs = {**attrs, "_class": sorted(groups)}
        return attrs

    def _register(self, op: Operation) -> None:
        """Give a new node its number, and let lookups and the blocks around it know it."""
        with self._lock:
            op.index = len(self.operations)
            self.operations.append(op)
            self.op_by_name[op.name] = op
        for controls in self.control_stack:
            controls.seen.add(op)

    def check_open(self, tensor: Tensor) -> None:
        """Raises `TypeError` where ``tensor``, of this graph, is used outside of the only code that may use it."""

    def capture(self, tensor: Tensor) -> Tensor:
        """What stands for a tensor of an outer graph in the graph of a function."""
        raise NotImplementedError("only the graph of a function captures tensors")

    def create_op(
        self,
        op_type: str,
        inputs: list[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds a node of a registered op type, inputs given as one flat list of tensors.

        ``attrs``: Python values, or ``AttrValue`` messages.
        """
        from dataflow.graph.registry import get_op
        from dataflow.graph.serialize import plain_attr

        definition = get_op(op_type)
        full = {key: plain_attr(definition, key, value) for key, value in (attrs or {}).items()}
        for spec in definition.attrs:
            if spec.name not in full and not spec.required:
                full[spec.name] = spec.default
        infer_type_attrs(definition, list(inputs), full)
        op_name = self.unique_name(name or op_type)
        return self.make_op(definition, op_name, list(inputs), full)

    def remove_from(self, index: int) -> None:
        """Takes back the nodes from number ``index`` on: an import that failed half-way."""
        with self._lock:
            for op in reversed(self.operations[index:]):
                for tensor in op.inputs:
                    if op in tensor.uses:
                        tensor.uses.remove(op)
                for control in op.control_inputs:
                    if op in control.control_outputs:
                        control.control_outputs.remove(op)
                del self.op_by_name[op.name]
                self.names_in_use.pop(op.name.lower(), None)
            del self.operations[index:]

    def controls_for(self, inputs: list[Tensor]) -> list[Operation]:
        """Control inputs in force, less those that an input already waits for."""
        result: dict[Operation, None] = {}
        input_ops = {t.op for t in inputs}
        for controls in self.control_stack:
            if controls.seen and not controls.seen.isdisjoint(input_ops):
                continue
            for op in controls.ops:
                if op not in input_ops:
                    result[op] = None
        return list(result)

    def mutated(self) -> None:
        """Called when a node changed after it was made: plans made before are stale."""
        self.num_mutations += 1

    # ---- looking up -----------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of nodes."""
        return len(self.operations)

    @property
    def finalized(self) -> bool:
        """True when no more nodes may be added."""
        return self._finalized

    def finalize(self) -> None:
        """Makes the graph read-only; adding a node afterwards raises `RuntimeError`."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def get_operations(self) -> list[Operation]:
        """All nodes, in the order made."""
        return list(self.operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """The node called ``name``; raises `KeyError` when there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings, got {type(name).__name__} {name!r}.")
        found: Operation = self.as_graph_element(name, allow_tensor=False, allow_operation=True)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor called ``name`` ("Add:0"); raises `KeyError` or `ValueError`."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings, got {type(name).__name__} {name!r}.")
        found: Tensor = self.as_graph_element(name, allow_tensor=True, allow_operation=False)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The node or tensor that ``obj`` (a name, node, tensor, variable) stands for.

        Raises `KeyError` for a name that is not in the graph, `ValueError` for a node of another
        graph or a name of the wrong kind, `TypeError` for something that is neither.
        """
        return element_of(self, obj, allow_tensor, allow_operation)

    def is_feedable(self, tensor: Any) -> bool:
        """True when ``tensor`` may be given in a ``feed_dict``."""
        return tensor not in self.attachments.get("unfeedable", ())

    def prevent_feeding(self, tensor: Any) -> None:
        """Refuses ``tensor`` in feed dicts from now on."""
        self.attachments.setdefault("unfeedable", set()).add(tensor)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """True when it may be fetched."""
        if isinstance(tensor_or_op, Tensor):
            return tensor_or_op.op not in self.attachments.get("unfetchable", ())
        return tensor_or_op not in self.attachments.get("unfetchable", ())

    def prevent_fetching(self, op: Operation) -> None:
        """Refuses ``op`` as a fetch from now on."""
        self.attachments.setdefault("unfetchable", set()).add(op)

    # ---- default graph --------------------------------------------------------------------

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """``with graph.as_default():`` new nodes go to this graph."""
        return use_graph(self)

    # ---- names ----------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """``name`` inside the current scope, with ``_1``, ``_2``, ... where it is taken.

        A name that ends with ``/`` is taken as it stands: it names a scope opened before.
        """
        if name and name[-1] == "/":
            return name[:-1]
        if name in _valid_names:
            pass
        elif _VALID_NAME.match(name):
            if len(_valid_names) < _MAX_REMEMBERED_NAMES:
                _valid_names.add(name)
        elif not (self.name_stack and _VALID_SCOPE.match(name)):
            raise ValueError(
                f"{name!r} is not a valid node name: use letters, digits and _ . / > - "
                "(a name in no scope may not start with _)."
            )
        if self.name_stack:
            name = f"{self.name_stack}/{name}"
        key = name.lower()
        names = self.names_in_use
        with self._lock:
            count = names.get(key, 0)
            if mark_as_used:
                names[key] = count + 1
            if count > 0:
                base = key
                base_name = name
                while key in names:
                    key = f"{base}_{count}"
                    name = f"{base_name}_{count}"
                    count += 1
                if mark_as_used:
                    names[key] = 1
                    names[base] = count
            return name

    def name_scope(self, name: str | None) -> NameScope:
        """Prefixes names inside the block; yields the scope's name with a trailing ``/``.

        ``None`` or ``""`` goes back to the top; a name that ends with ``/`` reopens a scope.
        """
        return NameScope(self, name)

    def scope_name(self, name: str | None) -> str:
        """The whole name of the scope that ``name`` opens or reopens here."""
        if not name:
            return ""
        if isinstance(name, bytes):
            name = name.decode()
        if not (_VALID_SCOPE if self.name_stack else _VALID_NAME).match(name):
            raise ValueError(f"{name!r} is not a valid scope name")
        return name[:-1] if name[-1] == "/" else self.unique_name(name)

    def get_name_scope(self) -> str:
        """The current scope, without a trailing ``/``."""
        return self.name_stack

    # ---- collections ----------------------------------------------------------------------

    def add_to_collection(self, name: str, value: Any) -> None:
        """Appends ``value`` to the collection ``name``; eager code keeps no more than the global step."""
        self.keep_in_collection(name, value)

    def keep_in_collection(self, name: str, value: Any) -> None:
        """`add_to_collection` of what a program itself adds, which eager code keeps, too."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Appends ``value`` to each of the collections."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection; with ``scope``, items whose name matches it from the start."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [i for i in items if hasattr(i, "name") and pattern.match(i.name)]

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection itself, made when missing."""
        return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[str]:
        """Names of the collections that are strings."""
        return [k for k in self._collections if isinstance(k, str)]

    @property
    def collections(self) -> list[str]:
        """The same as `get_all_collection_keys`."""
        return self.get_all_collection_keys()

    def exchange_collections(self, others: dict[Any, list[Any]]) -> dict[Any, list[Any]]:
        """Has ``others`` as its collections from now on; returns those that it had."""
        before, self._collections = self._collections, others
        return before

    def clear_collection(self, name: str) -> None:
        """Empties the collection."""
        if name in self._collections:
            del self._collections[name]

    # ---- export ---------------------------------------------------------------------------

    @property
    def _c_graph(self) -> Graph:
        """The graph itself, for libraries that hand it on to TensorFlow's C library."""
        return self

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph as TensorFlow's ``GraphDef`` protocol buffer."""
        from dataflow.graph.serialize import graph_def

        return graph_def(self, from_version or 0, add_shapes)

    def _get_function(self, name: str) -> Any:
        """The function of that name in the graph's library, for libraries that look through it; else None."""
        from dataflow.graph.function_def import functions_of

        return functions_of(self).get(name)

    @property
    def graph_def_versions(self) -> Any:
        """The version record of a GraphDef made from this graph."""
        return self.as_graph_def().versions

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        from dataflow.display import mimebundle

        return mimebundle(self, include, exclude)

    def switch_to_thread_local(self) -> None:
        """From now on devices, colocation and control dependencies belong to the thread in their block.

        Otherwise they hold for all threads that build this graph, as in TensorFlow; name and variable
        scopes are a thread's own in any case. A thread begins with what is in force now.
        """
        from dataflow.graph.thread_scopes import switch

        switch(self)


def outputs_of(
    op_def: OpDef,
    name: str,
    inputs: list[Tensor],
    attrs: dict[str, Any],
    dtypes: list[DType] | None,
    frames: tracebacks.RawFrames,
) -> tuple[list[Dims], list[DType]]:
    """The dimensions and dtypes of a node's outputs; raises `ShapeError` with the node's place."""
    try:
        dims = op_def.infer_dims(inputs, attrs)
    except ValueError as e:
        from dataflow.graph.printing import build_error

        raise build_error(ShapeError, op_def, name, inputs, frames, e) from e
    if dtypes is None:
        dtypes = op_def.output_dtypes(attrs, inputs)
    if len(dims) != len(dtypes):  # a GraphDef whose attributes contradict each other
        from dataflow.graph.printing import build_error

        wrong = ValueError(
            f"its attributes give {len(dtypes)} dtypes for {len(dims)} outputs\nWhere its shape rule is yours: a "
            "list has the dims of each output; the dims of one are a tuple, (n, m)."
        )
        raise build_error(ShapeError, op_def, name, inputs, frames, wrong)
    return dims, dtypes
