"""Offers: what a graph could say instead, where the other form is better but not the same to the bit.

A rewrite keeps every bit of a value, so none of these is made by the engine: `Session.explain` tells,
and the author of the graph decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.introspect.sections import rows
from dataflow.rewrites.constants import is_all


class Offer(NamedTuple):
    """``text`` says what the form at ``node`` does, and which form does better; ``built_at`` where
    the node was built (file and line, or cell and line)."""

    node: str
    text: str
    built_at: str


def find(ops: Iterable[Operation]) -> list[Offer]:
    """The offers for these nodes, in their order."""
    found = []
    for op in ops:
        for look in _LOOKS.get(op.type, ()):
            text = look(op.outputs[0])
            if text is not None:
                found.append(Offer(op.name, text, op.built_at))
                break
    return found


def section(offers: list[Offer]) -> tuple[str, str]:
    """A title and a text for those who read an explanation."""
    told = [f"{o.text}    at {o.node}, built at {o.built_at}" for o in offers]
    return f"offers ({len(offers)})", rows(told)


def _plus_one(t: Tensor) -> Tensor | None:
    """x of ``1 + x`` or ``x + 1``."""
    if t.op.type not in ("Add", "AddV2"):
        return None
    a, b = t.op.inputs
    return b if is_all(a, 1) else a if is_all(b, 1) else None


def _log_of_one_plus_exp(t: Tensor) -> str | None:
    x = _plus_one(t.op.inputs[0])
    if x is None or x.op.type != "Exp":
        return None
    most = float(np.log(float(np.finfo(t.dtype.as_numpy_dtype).max)))
    return f"log(1 + exp(x)) overflows for x > {most:.1f}; tf.nn.softplus(x) does not"


def _log_of_one_plus(t: Tensor) -> str | None:
    if _plus_one(t.op.inputs[0]) is None:
        return None
    return "log(1 + x) loses the digits of a small x; tf.log1p(x) does not"


def _exp_minus_one(t: Tensor) -> str | None:
    a, b = t.op.inputs
    if a.op.type != "Exp" or not is_all(b, 1):
        return None
    return "exp(x) - 1 loses the digits of a small x; tf.expm1(x) does not"


def _log_of_softmax(t: Tensor) -> str | None:
    if t.op.inputs[0].op.type != "Softmax":
        return None
    return "log(softmax(x)) is -inf where softmax(x) is too small; tf.nn.log_softmax(x) is finite"


def _log_of_sum_of_exp(t: Tensor) -> str | None:
    total = t.op.inputs[0].op
    if total.type != "Sum" or total.inputs[0].op.type != "Exp":
        return None
    most = float(np.log(float(np.finfo(t.dtype.as_numpy_dtype).max)))
    return f"log(sum(exp(x))) overflows for x > {most:.1f}; tf.reduce_logsumexp(x) does not"


_LOOKS: dict[str, tuple[Callable[[Tensor], str | None], ...]] = {
    "Log": (_log_of_one_plus_exp, _log_of_one_plus, _log_of_softmax, _log_of_sum_of_exp),
    "Sub": (_exp_minus_one,),
}
