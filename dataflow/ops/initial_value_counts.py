"""How many nodes TensorFlow 1.15 makes so that a variable's initial value reads no variable without a value.

What is made afterwards takes its seed from that number, in programs that run as TensorFlow's (`ops.seeds`).
"""

from __future__ import annotations

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.seeds import count_left_out
from dataflow.tensorflow_numbers import draws_as_tensorflow

#: What a variable's value, or its initial value where it has none, takes.
_NUM_NODES_OF_A_READ = 9
#: Nodes that are taken as they are.
_KEPT = frozenset({"If", "IsVariableInitialized", "ReadVariableOp", "VarIsInitializedOp"})


def count_guards(value: Tensor) -> None:
    """Counts the copies of all nodes between variables and an initial value, and the reads that they get."""
    if draws_as_tensorflow() and value.op.inputs:
        count_left_out(_num_guard_nodes(value.op))


def _num_guard_nodes(op: Operation) -> int:
    changes: dict[Operation, bool] = {}
    count = 0
    waiting = [op]
    while waiting:
        op = waiting[-1]
        inputs = [] if op.type in _KEPT else [x.op for x in op.inputs]
        if op in changes:
            waiting.pop()
        elif op.type == "VariableV2":
            changes[op] = True
            count += _NUM_NODES_OF_A_READ
        elif op.type == "NextIteration":
            return 0  # a loop is left as it is
        elif unknown := [x for x in inputs if x not in changes]:
            waiting += unknown
        else:
            changes[op] = any(changes[x] for x in inputs)
            count += changes[op]
    return count
