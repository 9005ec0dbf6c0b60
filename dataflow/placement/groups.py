"""Nodes that must run in one place."""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor


class Groups:
    """Union-find over operations."""

    def __init__(self) -> None:
        self._parent: dict[Operation, Operation] = {}

    def find(self, op: Operation) -> Operation:
        """The operation that stands for the group of ``op``."""
        root = op
        while (parent := self._parent.get(root, root)) is not root:
            root = parent
        while op is not root:
            op, self._parent[op] = self._parent[op], root
        return root

    def join(self, a: Operation, b: Operation) -> None:
        """Makes one group of two."""
        a, b = self.find(a), self.find(b)
        if a is not b:
            self._parent[b] = a


def reference_inputs(op: Operation) -> list[Tensor]:
    """The inputs through which ``op`` changes a variable, or holds a queue or iterator."""
    return [
        tensor
        for arg, tensors in op.arguments()
        for tensor in tensors
        # resource and variant are process-local
        if arg.is_ref or tensor.dtype.base_dtype.kind == "x"
    ]


def changes_a_variable(op: Operation) -> bool:
    """Whether the node may change a variable, and does not only hand a reference on."""
    return not op.op_def.is_alias and any(
        arg.is_ref and tensor.dtype.is_ref and tensor.dtype.value_dtype.kind != "x"
        for arg, tensors in op.arguments()
        for tensor in tensors
    )


def join_colocated(ops: Sequence[Operation], groups: Groups) -> None:
    """Joins nodes that share a variable or resource, or ask for it with ``colocate_with``.

    But not a Switch and the node whose value it hands on, though it is in that one's group: a whole
    conditional or loop would follow each variable that it only reads.
    """
    members = set(ops)
    by_name = {op.name: op for op in ops}
    for op in ops:
        for tensor in reference_inputs(op):
            if tensor.op in members:
                groups.join(tensor.op, op)
        for group in () if op.op_def.control_flow == "switch" else op.attrs.get("_class", ()):
            text = group.decode() if isinstance(group, bytes) else group
            leader = by_name.get(text.removeprefix("loc:@"))
            if leader is not None:
                groups.join(leader, op)
