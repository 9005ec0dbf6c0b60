"""The journal of rewrites: which rule matched where, in a form that a widget can replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.graph.tensor import Tensor


class Hit(NamedTuple):
    """One application of a rule, by names.

    ``equation`` is the rule's first docstring line; ``before`` the tensor that was replaced,
    ``after`` what stands in its place; ``removed`` and ``added`` name nodes; ``source`` is the
    generated code of a fused kernel.
    """

    rule: str
    equation: str
    before: str
    after: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def of(cls, rule: Any, tensor: Tensor, replacement: Tensor) -> Hit:
        """The entry for an application of a rule."""
        equation = (rule.__doc__ or rule.__name__).strip().splitlines()[0]
        return cls(
            rule.__name__,
            equation,
            tensor.name,
            replacement.name,
            (tensor.op.name,),
            (replacement.op.name,),
        )


class WatchedJournal(list[Hit]):
    """A journal that calls ``tell(hit)`` after each entry, when the rewrite has been made."""

    def __init__(self, tell: Callable[[Hit], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, hit: Hit) -> None:
        """Adds the entry and calls ``tell``."""
        super().append(hit)
        self._tell(hit)
