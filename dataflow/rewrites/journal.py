"""The journal of rewrites: which rule matched where, in a form that a widget can replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.rewrites.rules import Rule


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
    def of(cls, rule: Rule, tensor: Tensor, replacement: Tensor) -> Hit:
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


class Enough(Exception):
    """As many rewrites as were asked for have been made."""


class WatchedJournal(list[Hit]):
    """A journal that calls ``tell(hit)`` after each entry, when the rewrite has been made.

    With ``num_hits`` entries it raises `Enough`.
    """

    def __init__(self, tell: Callable[[Hit], None] | None, num_hits: int | None = None) -> None:
        super().__init__()
        self._tell, self._num_hits = tell, num_hits

    def append(self, hit: Hit) -> None:
        """Adds the entry and calls ``tell``; raises `Enough`."""
        super().append(hit)
        if self._tell is not None:
            self._tell(hit)
        if len(self) == self._num_hits:
            raise Enough
