"""`TracedGraph`: the graph that a call of `tf.function` in eager code is traced into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.graph import default_stacks
from dataflow.graph.eager import SymbolicGraph, eager_graph

if TYPE_CHECKING:
    from dataflow.graph.tensor import Tensor


class TracedGraph(SymbolicGraph):
    """Nodes of one function, for arguments of one signature.

    What eager code made and the function uses is taken over by ``stand_ins``: a variable as a node that reads
    and changes the same one, any other tensor as a constant.
    """

    building_function = True
    traces_function = True
    is_of_calls = True

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        eager = eager_graph()
        if not default_stacks.default_graph().is_of_calls:
            self.captures = {}  # it takes over what it uses of a graph around: to be saved, not to be run
        self.seed = eager.seed
        self.device_stack = list(eager.device_stack)
        self.current_device = eager.current_device
        self.num_tracing = 1
        #: Tensors of eager code, and what stands for each in here, in the order of first use.
        self.stand_ins: dict[Any, Tensor] = {}
        #: The values of the arguments that it is traced for, where there are some: placeholder -> value.
        self.first_values: dict[Tensor, Any] = {}
        #: Whether the function has returned.
        self.is_whole = False
        #: The placeholders of the arguments, then what stands for tensors and variables from outside.
        self.inputs: list[Tensor] = []
        #: The tensors that the function returned, and what it returned.
        self.outputs: list[Tensor] = []
        self.structured_outputs: Any = None

    def capture(self, tensor: Tensor) -> Tensor:
        """What stands for a tensor of the graph around, where that is none of eager code: a handle, or a constant.

        Raises `ValueError` for what is computed there.
        """
        found: Tensor | None = self.stand_ins.get(tensor)
        if found is not None:
            return found
        op = tensor.op
        if not (op.op_def.is_variable or op.op_def.is_handle or op.type == "Const"):
            raise ValueError(
                f"{self.name}() uses {tensor.name!r}, which the graph around computes, and a function that is saved "
                "takes variables, tables and constants alone from there. Make it an argument."
            )
        context, self.control_flow_context = self.control_flow_context, None
        try:
            with self.as_default(), self.name_scope(None), self.control_dependencies(None):
                attrs = {key: value for key, value in op.attrs.items() if key != "_class"}
                made = self.make_op(op.op_def, self.unique_name(op.name), [], attrs)
        finally:
            self.control_flow_context = context
        self.stand_ins[tensor] = made.outputs[0]
        return made.outputs[0]

    def check_open(self, tensor: Tensor) -> None:
        """Raises `TypeError` for a tensor that is used outside of the function that made it."""
        if self.is_whole:
            raise TypeError(
                'An op outside of the function building code is being passed a "Graph" tensor: '
                f"{tensor.name!r} was made while {self.name}() was traced, and has no value outside of it. "
                "Return it from the function, and use what the call gives."
            )

    def variable_of(self, tensor: Tensor) -> Any:
        """The variable that a handle in here, or in a branch or loop, stands for; None for anything else."""
        while tensor.op.inputs and tensor.op.op_def.control_flow:
            tensor = tensor.op.inputs[0]
        for eager, node in self.stand_ins.items():
            if node is tensor:
                found = getattr(eager, "variable", None)
                return None if found is None else found()
        return None
