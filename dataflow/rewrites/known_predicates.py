"""Fed predicates that a plan is made for: ``training=True`` in the steps of a training, False in its tests.

A placeholder of batch normalization's or dropout's ``training`` decides conditionals. A plan that is made for
one of its values has none: `dead_branches` keeps the branch that is taken, and what control flow hides from other
rewrites, and from the reuse of buffers, they see. Which plan runs is decided for each run
(`runtime.specialized_plans`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import make_constant
from dataflow.rewrites.control_flow_positions import Position, original
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph


def find(ops: Sequence[Operation], feeds: Collection[Tensor]) -> list[Tensor]:
    """The fed bool tensors that are a Switch's predicate, or that one is computed from."""
    fed = {t for t in feeds if t.dtype.name == "bool" and not t.dims}
    if not fed:
        return []
    left = [op.inputs[1] for op in ops if op.op_def.control_flow == "switch"]
    seen = set(left)
    while left:
        tensor = left.pop()
        if tensor in feeds or tensor.op.op_def.control_flow in ("merge", "loop_cond"):
            continue
        for source in tensor.op.inputs:
            if source.dtype.name == "bool" and source not in seen:
                seen.add(source)
                left.append(source)
    return [t for t in feeds if t in fed and t in seen]


def without_taken(place: Position, known: Mapping[Tensor, bool]) -> Position:
    """The position of a node, without the branches that these known predicates are sure to run."""
    branches = [b for b in place.branches if _truth(b[0], known) is not b[1]]
    return place._replace(branches=frozenset(branches))


def _truth(predicate: Tensor, known: Mapping[Tensor, bool]) -> bool | None:
    """The known value of a predicate, or of the negation of one."""
    if predicate.op.type == "LogicalNot" and predicate not in known:
        value = _truth(original(predicate.op.inputs[0]), known)
        return None if value is None else not value
    return known.get(predicate)


def run(work: WorkingGraph, journal: list[Hit], known: Mapping[Tensor, bool]) -> None:
    """Puts constants in the place of these fed tensors."""
    with use_graph(work.graph):
        for fed, value in known.items():
            work.begin(fed)
            new = make_constant(np.array(value), fed.dtype, None, "fed")
            work.replace(fed, new)
            journal.append(
                Hit(
                    "fed_predicate",
                    f"{fed.op.name} -> {value}: the runs for which this plan is made feed it so",
                    fed.name,
                    new.name,
                    (fed.op.name,),
                    (new.op.name,),
                )
            )
