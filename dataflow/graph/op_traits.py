"""Traits: what the engine has to know about an op beside its signature and its shape rule.

A trait is declared where the op is defined, ``define_op("MutexLock", ..., blocks=True)``, and read as
an attribute of its `OpDef`, ``op.op_def.blocks``. What nothing was said about has the default, which
is always the safe one: it costs speed at most.
"""

from __future__ import annotations

from typing import Any, Literal

#: What a node of control flow does: see `OpTraits.control_flow`.
ControlFlow = Literal["", "switch", "merge", "enter", "exit", "next_iteration", "loop_cond"]


class OpTraits:
    """The traits of an op, with their defaults. `OpDef` inherits them."""

    #: The kernel may wait for another run, or for the outside world: a dequeue, a lock, a Python
    #: function. A cluster gives such a node a segment of its own, so that nothing else waits with
    #: it, and the step a cancellation, so that a closed session ends the wait.
    blocks: bool = False
    #: What the op does in a loop or conditional, the same for its twin that takes references
    #: (RefSwitch); empty for what computes. The place of such a node, its control edges too, says
    #: to which branch or round others belong, so no rewrite moves or merges it, and the code
    #: generator writes ``if`` and ``while`` for it.
    control_flow: ControlFlow = ""

    def _set_traits(self, traits: dict[str, Any]) -> None:
        """Sets what an op declares; the rest stays as the class has it."""
        for name, value in traits.items():
            setattr(self, name, value)


TRAITS = frozenset(OpTraits.__annotations__)
